"""Random constants, at powers of two and beside them, at each place where a constant can stand.

`check(seed)`: what comes out is what Python's integers give, on every back end that is drawn, or one error of the
project's own; both within seconds.
"""

from __future__ import annotations

import contextlib
import io
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from random_floats import float_constant, python_float
from random_numbers import WIDTH, check_same, held, moderate, number, refusal_allowed, wrapped
from random_shifts import python_shift, shift
from xdsl.context import Context

import tilefuse as hl
from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes
from tilefuse.passes.pipeline_text import parse_passes
from tilefuse.runtime.errors import TargetError
from tilefuse.runtime.program import compile_pipeline
from tilefuse.tools.pipeline_opt import main
from tilefuse.universe import UNIVERSE

SECONDS = 40
"""CPU time of a seed, at most: a C compiler's and NVRTC's in it."""


def check(seed: int) -> None:
    """Raise AssertionError, or the error of a crash, if a constant of this seed is not treated right."""
    rng = Random(seed)
    began = _seconds()
    kind = Random(f"place {seed}")
    place = rng.choice(_OF_INTEGERS) if kind.random() < 0.55 else kind.choice(_OTHERS)
    if Random(f"coordinate {seed}").random() < 0.08:
        place = clamped_coordinate
    place(rng)
    took = _seconds() - began
    assert took < SECONDS, f"{place.__name__} of seed {seed} took {took:.0f} s"


def _seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


# --- indices


_CLAMPED = """
img.pipeline @clamped {{
  %table = img.input "table" : !img.func<1xui8>
  %at = img.input "at" : !img.func<1xsi{bits}>
  %r = img.stage "r" (%x) -> ui8 {{
    %v = img.read %at[%x] : !img.func<1xsi{bits}>
    %n = arith.index_cast %v : i{bits} to index
    %add = arith.constant {add} : index
    %one = arith.constant {one} : index
    %other = arith.constant {other} : index
    %zero = arith.constant 0 : index
    %last = arith.constant 7 : index
    %a = arith.addi %n, %add : index
    %b = arith.minsi %{first}, %one : index
    %c = arith.maxsi %b, %other : index
    %d = arith.maxsi %c, %zero : index
    %e = arith.minsi %d, %last : index
    %q = img.read %table[%e] : !img.func<1xui8>
    img.yield %q : i8
  }}
  img.return "r" = %r : !img.func<1xui8>
}}
"""


def clamped_index(rng: Random) -> None:
    """Return an index computed from data, moved and clamped to constants."""
    bits = rng.choice([8, 16, 32, 64])
    one, other = moderate(rng), moderate(rng)
    moved = rng.random() < 0.5
    add = moderate(rng) if moved else 0
    text = _CLAMPED.format(bits=bits, add=add, one=one, other=other, first="a" if moved else "n")
    values = held(rng, bits)
    at = np.array(values, f"int{bits}")
    table = np.arange(10, 18, dtype=np.uint8)

    def model() -> np.ndarray:
        return np.array([table[min(max(min(v + add, one), other, 0), 7)] for v in values], np.uint8)

    def make(**options: Any) -> Callable[[], np.ndarray]:
        program = hl.compile(text, **options)
        return lambda: program(table=table, at=at)

    check_same(rng, make, model, f"clamped index {text}")


_CLAMPED_COORDINATE = """
img.pipeline @clamped {{
  %table = img.input "table" : !img.func<1xui8>
  %r = img.stage "r" (%x) -> ui8 {{
    %add = arith.constant {add} : index
    %least = arith.constant {least} : index
    %most = arith.constant {most} : index
    %n = arith.addi %x, %add : index
    %a = arith.{first} : index
    %b = arith.{second} : index
    %q = img.read %table[%b] : !img.func<1xui8>
    img.yield %q : i8
  }}
  img.return "r" = %r : !img.func<1xui8>
}}
"""


def clamped_coordinate(rng: Random) -> None:
    """Return a coordinate moved and clamped to constants, as indices of edges written by hand are."""
    least, most = sorted(rng.choice([moderate(rng), rng.randint(-3, 3), number(rng, 64)]) for _ in range(2))
    most, add = (max(most, 0), rng.choice([0, 0, 0, 1, -1, moderate(rng)]))
    steps = ["maxsi %n, %least", "minsi %a, %most"]
    if rng.random() < 0.5:
        steps = ["minsi %n, %most", "maxsi %a, %least"]
    text = _CLAMPED_COORDINATE.format(add=add, least=least, most=most, first=steps[0], second=steps[1])
    table, first = np.arange(10, 10 + 2 * WIDTH, dtype=np.uint8), rng.choice([0, 0, 3])

    def model() -> np.ndarray:
        return np.array([table[min(max(x + add, least), most)] for x in range(first, first + WIDTH)], np.uint8)

    def make(**options: Any) -> Callable[[], np.ndarray]:
        program = hl.compile(text, **options)
        return lambda: program(table, sizes=(WIDTH,), mins={"r": (first,)})

    check_same(rng, make, model, text)


def _continued(kind: str, i: int, first: int, extent: int) -> int | None:
    """Return the coordinate that a boundary condition reads for i; None for its exterior."""
    k = i - first
    match kind:
        case "repeat_edge":
            return first + min(max(k, 0), extent - 1)
        case "repeat_image":
            return first + k % extent
        case "mirror_image":
            k %= 2 * extent
            return first + min(k, 2 * extent - 1 - k)
        case "mirror_interior":
            period = max(1, 2 * extent - 2)
            k %= period
            return first + min(k, period - k)
    return i if 0 <= k < extent else None


def boundary_box(rng: Random) -> None:
    """Return the box of a boundary, as constants or by a Param, around a function of the coordinate."""
    kind = rng.choice(["repeat_edge", "repeat_image", "mirror_image", "mirror_interior", "constant_exterior"])
    first, extent, offset = moderate(rng), abs(moderate(rng)), rng.randint(-20, 20)
    if kind == "repeat_image":
        extent = min(extent, 1 << 16)  # all of the box is computed
    elif 1 << 24 < extent < 1 << 42:
        extent = rng.choice([1 << 24, 1 << 42])  # stored for its boundary it takes much memory, or is refused at once
    by_param = rng.random() < 0.4
    near = rng.choice([first, first + extent, 0]) + offset
    mins = {"f": (near,)} if abs(near) < 1 << 62 else {}
    where = f"{kind} of ({first}, {extent}) at {near}, by Param: {by_param}"
    x = hl.Var("x")

    def make(**options: Any) -> Callable[[], np.ndarray]:
        source, f = hl.Func("source"), hl.Func("f")
        source[x] = hl.cast(hl.UInt(8), x)
        bounds: tuple[object, object] = (first, extent)
        given = {}
        if by_param:
            low, n = hl.Param(hl.Int(64), name="low"), hl.Param(hl.Int(64), name="n")
            bounds, given = (low, n), {"low": first, "n": extent}
        condition = getattr(hl.BoundaryConditions, kind)
        f[x] = (condition(source, 7, [bounds]) if kind == "constant_exterior" else condition(source, [bounds]))[x]
        program = hl.Pipeline(f).compile(**options)
        return lambda: program(**given, sizes=(WIDTH,), mins=mins)

    def model() -> np.ndarray:
        start = near if mins else 0
        reads = [_continued(kind, i, first, extent) for i in range(start, start + WIDTH)]
        return np.array([7 if r is None else r & 255 for r in reads], np.uint8)

    check_same(rng, make, model, where, large=extent > 1 << 24)


def affine_index(rng: Random) -> None:
    """Return an offset, a factor, a divisor or a modulus in an index of a read, through a boundary."""
    factor, offset = rng.choice([1, -1, 3, moderate(rng)]), moderate(rng)
    division, by = rng.choice(["", "floordiv", "mod"]), abs(moderate(rng))
    index = f"%x * {factor} + {offset}"
    index = f"({index}) {division} {by}" if division else index
    kind = rng.choice(["repeat_edge", "repeat_image", "mirror_image"])
    text = f"""
img.pipeline @affine {{
  %i = img.input "i" : !img.func<1xui16>
  %b = img.boundary {kind} %i dims [0] : !img.func<1xui16>
  %r = img.stage "r" (%x) -> ui16 {{
    %v = img.read %b[{index}] : !img.func<1xui16>
    img.yield %v : i16
  }}
  img.return "r" = %r : !img.func<1xui16>
}}
"""
    picture = np.arange(5, 5 + WIDTH, dtype=np.uint16)

    def model() -> np.ndarray:
        at = [x * factor + offset for x in range(WIDTH)]
        if division:
            at = [a // by if division == "floordiv" else a % by for a in at]
        return np.array([picture[_continued(kind, a, 0, WIDTH) or 0] for a in at], np.uint16)

    def make(**options: Any) -> Callable[[], np.ndarray]:
        program = hl.compile(text, **options)
        return lambda: program(picture, sizes=(WIDTH,))

    check_same(rng, make, model, text)


# --- values

_RING: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "maxsi": max,
    "minsi": min,
    "divsi": lambda a, b: 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "floordivsi": lambda a, b: 0 if b == 0 else a // b,
}


def pixel_value(rng: Random) -> None:
    """Return a constant that a pixel is computed with, of any width."""
    bits = rng.choice([8, 16, 32, 64])
    name = rng.choice(list(_RING))
    constant = number(rng, bits) if rng.random() < 0.8 else number(rng)
    half = 1 << (bits - 1)
    if name.endswith("divsi") and constant % (2 * half) == 0:
        constant = 3  # by zero a program has no meaning
    values = held(rng, bits)
    text = f"""
img.pipeline @values {{
  %i = img.input "i" : !img.func<1xsi{bits}>
  %r = img.stage "r" (%x) -> si{bits} {{
    %v = img.read %i[%x] : !img.func<1xsi{bits}>
    %c = arith.constant {constant} : i{bits}
    %w = arith.{name} %v, %c : i{bits}
    img.yield %w : i{bits}
  }}
  img.return "r" = %r : !img.func<1xsi{bits}>
}}
"""

    def model() -> np.ndarray:
        return np.array([wrapped(_RING[name](v, wrapped(constant, bits)), bits) for v in values], f"int{bits}")

    def make(**options: Any) -> Callable[[], np.ndarray]:
        program = hl.compile(text, **options)
        return lambda: program(np.array(values, f"int{bits}"))

    check_same(rng, make, model, text)


# --- schedules, options, extents


def _blur() -> hl.Pipeline:
    x, y = hl.vars("x y")
    f, g = hl.Func("f"), hl.Func("g")
    image = hl.ImageParam(hl.UInt(8), 2, name="image")
    around = hl.BoundaryConditions.repeat_edge(image)
    f[x, y] = around[x, y] ^ around[x + 1, y]
    g[x, y] = f[x, y] ^ f[x, y + 1]
    return hl.Pipeline(g)


def _positive(rng: Random) -> int:
    return rng.choice([1, 2, 4, 8, 16, 32]) if rng.random() < 0.7 else number(rng, rng.choice([8, 14, 70]))


def schedule(rng: Random) -> None:
    """A schedule in text, with any numbers, checked and lowered."""
    target = rng.choice(["h200", "cpu"])
    shape = rng.choice(["block_tile", "warp_tile"])
    numbers = [f"{key} = {_positive(rng)}" for key in ("vector", "blocks", "prefetch_rows") if rng.random() < 0.3]
    if rng.random() < 0.3:
        numbers.append(f"unroll = [{_positive(rng)}, {_positive(rng)}]")
    threads = f"[32, {_positive(rng)}]" if rng.random() < 0.6 else f"[{_positive(rng)}, {_positive(rng)}]"
    tile = f"[{rng.choice([31, 32, 62, 64, _positive(rng)])}, {_positive(rng)}]"
    text = ", ".join([f"#schedule.{shape}<tile = {tile}", f"threads = {threads}", *numbers]) + ">"
    module = _blur().to_module()
    passes = [p for p in standard_passes(target) if p.name != "validate-occupancy"]
    before = [p for p in passes if p.name in ("inline-stages", "group-stages")]
    for p in before:
        p.apply(Context(), module)
    algorithm = str(module).replace('img.group "g" {', f'img.group "g" schedule {text} {{')
    assert text in algorithm
    picture = np.array([[rng.randrange(256) for _ in range(40)] for _ in range(9)], np.uint8)
    with refusal_allowed(text):
        program = hl.compile(algorithm, target="cpu" if target == "cpu" else "cuda:sm_90")
        if target == "cpu":
            want = compile_pipeline(_blur().to_module(), "reference")(picture)
            np.testing.assert_array_equal(program(picture), want, err_msg=text)


def pass_option(rng: Random) -> None:
    """One option of a pass, of any number or word, with the passes before it as they are by default."""
    passes = standard_passes("h200")
    # xDSL's own among them are not in the table
    kinds = {p.name: type(p) for p in passes if p.name in UNIVERSE.all_passes}
    name = rng.choice(list(kinds))
    option = rng.choice([f.name for f in fields(kinds[name]) if f.name != "name"] or ["none"])
    value = rng.choice([str(moderate(rng)), f"{moderate(rng)},{moderate(rng)}", "true", "-0.5", "1e400", "word"])
    more = f" sizes={_positive(rng)},{_positive(rng)} threads=32,{_positive(rng)}" if rng.random() < 0.5 else ""
    more = more if name == "tile" and option not in ("sizes", "threads") else ""
    given = f"{name}{{{option}={value}{more}}}"
    with refusal_allowed(given):
        module = _blur().to_module()
        changed = parse_passes(given, UNIVERSE.all_passes)
        for p in passes:
            (changed[0] if p.name == name else p).apply(Context(), module)
        module.verify()


def extent(rng: Random) -> None:
    """The size of picture that schedules are chosen for."""
    sizes = tuple(_positive(rng) for _ in range(rng.choice([1, 2, 2, 3])))
    with refusal_allowed(f"extent {sizes}"):
        _blur().compile(target=rng.choice(["cuda:sm_90", "cpu"]), extent=sizes)


@cache
def _kernels(on: str) -> str:
    return str(run_passes(_blur().to_module(), [*standard_passes(on), *lowering_passes(warps=on != "cpu")]))


def target_option(rng: Random) -> None:
    """Check options of `pipeline-opt`'s targets, with any number or word, and names of compile targets."""
    on = rng.choice(["cuda", "c"])
    values = [str(moderate(rng)), "32", "64", "true", "sm_90", f"sm_{moderate(rng)}", "a.b", "-0.5", "1e400"]
    names = rng.sample(["index_bits", "strict_float", "arch", "none"], rng.randint(0, 3))
    options = [f"{name}={rng.choice(values)}" for name in names]
    given = f"{on}{{{' '.join(options)}}}" if options else on
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.mlir"
        path.write_text(_kernels("cpu" if on == "c" else "h200"))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([str(path), "-t", given])
    if status:
        assert "error:" in err.getvalue(), given
        assert "internal error" not in err.getvalue(), err.getvalue()
    else:
        assert "blur_g" in out.getvalue() or "g_g" in out.getvalue(), given
    name = rng.choice(["cuda:sm_{}", "cuda:{}", "cpu:{}", "h{}", "sm_{}", "cuda:sm_{}a", "{}"]).format(moderate(rng))
    with refusal_allowed(name), contextlib.suppress(TargetError):
        _blur().compile(target=name)


_OF_INTEGERS: list[Callable[[Random], None]] = [
    *[clamped_index, boundary_box, affine_index, pixel_value] * 3,
    schedule,
    pass_option,
    pass_option,
    extent,
]
_OTHERS: list[Callable[[Random], None]] = [*[float_constant, shift] * 3, python_float, python_shift, target_option]
