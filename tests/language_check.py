"""Check that the halide wheel, the evaluator, C and the emulated GPU agree on a program of the whole language.

`check(seed)` takes our back ends, each with the standard schedule and with random ones; `check_as_halide(seed)` the
wheel and the evaluator. Integers are equal to the bit. So are floats, with `strict_float=True`, but for functions like
`exp`, which are within the units of the last place that docs/semantics.md grants them.
"""

from __future__ import annotations

import shutil
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from random import Random
from typing import Any

import numpy as np
from child_process import in_child
from emulated_cuda import emulated
from language_program import FLOATS, Case, Program, type_text
from random_language import random_language
from random_schedules import random_passes

import tilefuse
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import InputOp, ParamOp
from tilefuse.passes.pipeline import standard_passes

DTYPES = {"bool": "?", "u64": "Q", "i64": "q", **{f"f{n}": f"f{n // 8}" for n in (16, 32, 64)}}
"""NumPy types whose name is not a letter and a count of bytes; 64-bit integers as Halide takes them."""

Arrays = dict[str, np.ndarray]


class Different(AssertionError):
    """Two ways to compute a program disagree."""


def dtype(type: str) -> np.dtype[Any]:
    """Return the type of an array's elements."""
    return np.dtype(DTYPES.get(type) or f"{type[0]}{int(type[1:]) // 8}")


def arrays(program: Program | Case) -> Arrays:
    """Return the pictures of a program, which depend only on the declaration of each input."""
    made = {}
    for i in program.inputs:
        rng = np.random.default_rng(zlib.crc32(i.name.encode()))
        shape = i.extents[::-1]
        if i.type in FLOATS:
            made[i.name] = (rng.integers(int(i.low) * 8, int(i.high) * 8, shape, endpoint=True) / 8).astype(
                dtype(i.type)
            )
        elif i.type == "bool":
            made[i.name] = rng.integers(0, 2, shape).astype(np.bool_)
        else:
            made[i.name] = rng.integers(i.low, i.high, shape, dtype(i.type), endpoint=True).astype(dtype(i.type))
    return made


def define(program: Program | Case, hl: Any, inputs: Mapping[str, Any], call: int = 0) -> dict[str, Any]:
    """Return the outputs as Funcs, with the params of a call."""
    return program.define(hl, inputs, {p.name: p.values[call] for p in program.params})


def _type(hl: Any, type: str) -> Any:
    made: Any = eval(type_text(type), {"hl": hl})
    return made


# --- by the wheel


@cache
def _halide() -> tuple[Any, Any]:
    import halide

    target = halide.get_jit_target_from_environment().with_feature(halide.TargetFeature.StrictFloat)
    x, f = halide.Var("x"), halide.Func("f")
    f[x] = x
    f.realize([3], target)  # compiles the runtime, which processes forked later then have
    return halide, target


class HalideFailed(Exception):
    """The wheel refuses a program, or its process ends."""


def by_halide(program: Program | Case, call: int = 0) -> Arrays:
    """Compute by the Halide wheel in a child process, with all stages stored. Raises HalideFailed."""
    _halide()
    found = in_child(lambda: _by_halide(program, call), 100)
    if isinstance(found, str):
        raise HalideFailed(found)
    return found  # type: ignore[no-any-return]


def _by_halide(program: Program | Case, call: int) -> Arrays | str:
    halide, target = _halide()
    try:
        return _realized(program, halide, target, call)
    except halide.HalideError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return (lines or [""])[-1][:120]


def _realized(program: Program | Case, halide: Any, target: Any, call: int) -> Arrays:
    pictures = {name: halide.Buffer(array) for name, array in arrays(program).items()}  # set(...) does not keep them
    inputs = {}
    for i in program.inputs:
        # of a Buffer a pixel at numbers is a number
        inputs[i.name] = halide.ImageParam(_type(halide, i.type), len(i.extents), i.name)
        inputs[i.name].set(pictures[i.name])
    found: Arrays = {}
    for output, func in zip(program.outputs, define(program, halide, inputs, call).values(), strict=True):
        # an output of its own: one that is updated must be as large as all that its updates touch
        copy, point = halide.Func(), tuple(func.args())
        value = func[point or ()]
        values = [value[k] for k in range(func.outputs())] if func.outputs() > 1 else [value]
        types = func.types()
        # of f16 the wheel has no Buffers
        halves = [t == halide.Float(16) for t in types]
        values = [halide.f32(v) if half else v for v, half in zip(values, halves, strict=True)]
        copy[point or ()] = tuple(values) if len(values) > 1 else values[0]
        types = [halide.Float(32) if half else t for t, half in zip(types, halves, strict=True)]
        buffers = [halide.Buffer(t, list(output.extents)) for t in types]
        for b in buffers:
            if output.mins:
                b.set_min(list(output.mins))
        halide.Pipeline(copy).realize(buffers, target)
        made = [np.array(b) for b in buffers]
        made = [a.astype(np.float16) if half else a for a, half in zip(made, halves, strict=True)]
        found.update(zip(output.names(), made, strict=True))
    return found


# --- by us


def module_of(program: Program | Case) -> Any:
    """Return the pipeline's IR, with pictures as parameters."""
    images = {}
    for i in program.inputs:
        options = {"layout": "planar"} if len(i.extents) == 3 else {}
        images[i.name] = tilefuse.ImageParam(_type(tilefuse, i.type), len(i.extents), i.name, **options)
    return tilefuse.Pipeline(list(define(program, tilefuse, images).values())).to_module()


def by_us(program: Program | Case, module: Any, target: str, calls: int = 1, **options: Any) -> list[Arrays]:
    """Compute by the back end for `target`, call by call; for `cuda`, arrays are copied to the GPU and back."""
    if target != "reference":
        options["strict_float"] = True
    compiled = tilefuse.compile(module, target=target, **options)
    ops = list(module.walk())
    needed = {op.sym_name.data for op in ops if isinstance(op, InputOp | ParamOp)}
    pictures: dict[str, Any] = {name: array for name, array in arrays(program).items() if name in needed}
    if target == "cuda":
        import cupy

        pictures = {name: cupy.asarray(array) for name, array in pictures.items()}
    sizes = {name: o.extents for o in program.outputs for name in o.names()}
    mins = {name: o.mins for o in program.outputs for name in o.names()}
    found = []
    for call in range(calls):
        params = {p.name: p.values[call] for p in program.params if p.name in needed}
        made = compiled(**pictures, **params, sizes=sizes, mins=mins)
        given = made if isinstance(made, tuple) else (made,)
        found.append({n: a if isinstance(a, np.ndarray) else a.get() for n, a in zip(sizes, given, strict=True)})
    return found


# --- compared


def assert_same(program: Program | Case, found: Arrays, expected: Arrays, where: str) -> None:
    """Raise Different where they differ."""
    for name, ulps in ((name, o.ulps) for o in program.outputs for name in o.names()):
        got, wanted = found[name], expected[name]
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            raise Different(f"{where}: {name} is {got.dtype}{got.shape}, not {wanted.dtype}{wanted.shape}")
        same = got == wanted
        if ulps:
            spacing = np.spacing(np.maximum(np.abs(wanted), np.asarray(1e-2, wanted.dtype)))
            same |= np.abs(got - wanted) <= ulps * spacing
        if not np.all(same):
            at = tuple(int(n) for n in np.argwhere(~same)[0])
            count = int(np.sum(~same))
            raise Different(
                f"{where}: {name}{list(at)} is {got[at]!r}, not {wanted[at]!r}; {count} of {same.size} differ"
            )


def way_as_halide(program: Program | Case) -> Counter[str]:
    """Compare the evaluator with the wheel. Raises Different; an error of the wheel's own is counted."""
    warnings.simplefilter("ignore")
    found = by_us(program, module_of(program), "reference")
    try:
        expected = by_halide(program)
    except HalideFailed as error:
        return Counter({"refused by halide": 1, f"halide: {error}": 1})
    assert_same(program, found[0], expected, "the evaluator is not as halide")
    return Counter({"as halide": 1})


def ways(program: Program | Case, seed: int | str, only: str | None = None) -> Counter[str]:
    """Compare our back ends with the evaluator, with the standard schedule and random ones. Raises Different.

    `only`: the one way to try, of those that this seed draws; errors have the way as a note.
    """
    warnings.simplefilter("ignore")
    rng = Random(f"ways {seed}")
    module = module_of(program)
    calls = 2 if program.params else 1
    expected = by_us(program, module, "reference", calls)
    counts: Counter[str] = Counter({"programs": 1})

    def run(where: str, **options: Any) -> None:
        if only not in (None, where):
            return
        try:
            found = by_us(program, module, "cpu", calls, **options)
            for n in range(calls):
                assert_same(program, found[n], expected[n], f"{where}: call {n}")
        except Exception as error:
            error.add_note(where)
            raise
        counts[where] += 1

    if shutil.which("cc"):
        run("cpu")
        if rng.random() < 0.4:
            _scheduled(rng, run, "cpu", counts)
    if shutil.which("g++") and rng.random() < 0.6:
        with emulated() as misaligned:
            if rng.random() < 0.5:
                run("emulated gpu", passes=standard_passes("h200"))
            else:
                _scheduled(rng, run, "h200", counts)
            if any(misaligned):
                raise Different("emulated gpu: misaligned accesses")
    return counts


def standard_ways(program: Program | Case) -> None:
    """Compare C and the emulated GPU with the evaluator, with the standard schedule. Raises Different."""
    warnings.simplefilter("ignore")
    module = module_of(program)
    (expected,) = by_us(program, module, "reference")
    if shutil.which("cc"):
        assert_same(program, by_us(program, module, "cpu")[0], expected, "cpu")
    if shutil.which("g++"):
        with emulated() as misaligned:
            found = by_us(program, module, "cpu", passes=standard_passes("h200"))
            assert_same(program, found[0], expected, "emulated gpu")
            assert not any(misaligned)


def way_on_gpu(program: Program | Case, seed: int | str, target: str = "cuda", **standard: Any) -> Counter[str]:
    """Compare a GPU, with the standard schedule or a random one, with the evaluator. Raises Different.

    On the CPU, as in `emulated`, `standard` are the passes of the standard schedule.
    """
    warnings.simplefilter("ignore")
    rng = Random(f"gpu {seed}")
    module = module_of(program)
    calls = 2 if program.params else 1
    expected = by_us(program, module, "reference", calls)
    counts: Counter[str] = Counter()

    def run(where: str, **options: Any) -> None:
        found = by_us(program, module, target, calls, **options)
        for n in range(calls):
            assert_same(program, found[n], expected[n], f"{where}: call {n}")
        counts[where] += 1

    run("gpu", **standard)
    if rng.random() < 0.5:
        _scheduled(rng, run, "h200", counts)
    return counts


def _scheduled(rng: Random, run: Callable[..., None], target: str, counts: Counter[str]) -> None:
    for _ in range(4):
        try:
            run(f"{target} scheduled at random", passes=random_passes(rng, target))
            return
        except PipelineError:
            counts[f"schedules refused on {target}"] += 1  # one that these stages cannot have


def load_all() -> None:
    """Import the modules of a check, before its processes are forked."""
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = x
    f.realize([3], target="reference")
    standard_passes("h200")
    if find_spec("halide"):
        _halide()


# --- by seeds


def check(seed: int) -> Counter[str]:
    """Check our back ends on the program of a seed."""
    return ways(random_language(seed), seed)


def check_on_gpu(seed: int) -> Counter[str]:
    """Check a real GPU on the program of a seed."""
    return way_on_gpu(random_language(seed), seed)


def check_as_halide(seed: int) -> Counter[str]:
    """Check the evaluator and the wheel on the program of a seed."""
    return way_as_halide(random_language(seed, wheel=True))
