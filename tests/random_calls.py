"""Random calls, one after the other, of a pipeline with parameters: each must be as if it were the first.

    check(17)

A call gives the evaluator's result, to the bit, or is refused by one error of the project, with none of the caller's
bytes written. What is right is what a program for `reference` gives that is made for this call alone, on plain arrays.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np
from emulated_cuda import emulated as on_emulated_gpu
from random_pipelines import random_pipeline
from random_programs import passes
from random_values_given import LAYOUTS, PARAM_TYPES, fits, given_value, is_refused, values

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import InputOp, ParamOp
from tilefuse.runtime.errors import CallError
from tilefuse.runtime.program import Program, compile_pipeline

KINDS = ("repeat_edge", "repeat_image", "mirror_image", "mirror_interior", "constant_exterior")
IMAGES = ("uint8", "int16", "int32", "float32", "float64", "bool", "uint64")
EXTENTS = (1, 2, 3, 5, 8, 16, 17, 33)
FAR = (2**31 - 5, -(2**31), 2**33 + 1, 2**40, 2**60, -(2**60), 2**61, 2**62, 2**63 - 1, 2**63, -(2**63), -(2**90))
SIZES = ((3, 2), (5, 4), (1, 1), [8, 3], (40, 40), (0, 3), (-1, 2), (True, True), (2.0, 3.0), (3,), "ab", 4,
         (10**7, 10**7), (2**62, 1), (np.int8(3), np.uint64(2)))  # fmt: skip
OUTS = ("new", "new", "new", "packed", "strided", "reversed", "by name", "in part", "frozen", "over an input",
        "between an input", "an input", "other dtype", "other order", "twice", "misaligned")  # fmt: skip
POISON = 0xA5


def check(seed: int) -> None:
    """Draw a pipeline and calls of it from a seed; AssertionError if one gives anything else than it should."""
    rng = Random(seed)
    if rng.random() < 0.25:
        _check_pipeline(seed, rng)
        return
    drawn = _Drawn(rng)
    emulated = shutil.which("g++") is not None and rng.random() < 0.08
    target = "cpu" if emulated or rng.random() < 0.8 else "reference"
    with on_emulated_gpu() if emulated else contextlib.nullcontext():
        shape = rng.choice(["auto", "block_tile", "warp_tile"])
        program = _compiled(drawn, target, shape if emulated else None)
        good: list[_Call] = []
        runs = []
        for number in range(rng.choice([12, 24, 40])):
            call = rng.choice(good[-3:]).changed(rng) if good and rng.random() < 0.9 else drawn.call(rng)
            run, is_right = _run_of(program, call, f"seed {seed}, {target}, call {number}: {call}", rng)
            runs.append(run)
            if is_right:
                good.append(call)
        with ThreadPoolExecutor(4 if not emulated and rng.random() < 0.25 else 1) as pool:
            for done in [pool.submit(run) for run in runs]:
                done.result()


def _check_pipeline(seed: int, rng: Random) -> None:
    """Check calls of a pipeline of several stages, with channels and pictures of any layout."""
    case = random_pipeline(seed, stages=4)
    program = compile_pipeline(case.module, rng.choice(["cpu", "cpu", "reference"]), strict_float=True)
    params = {op.sym_name.data: str(op.element) for op in case.module.walk() if isinstance(op, ParamOp)}
    types = {"f32": "float32", "si32": "int32", "ui8": "uint8"}
    inputs, values, sizes, mins = case.inputs, case.params, case.sizes, case.mins
    for number in range(12):
        match rng.randrange(6):
            case 0 | 1:
                values = {n: given_value(rng, types[t]) for n, t in params.items()}
            case 2:
                inputs = {n: np.flip(a) for n, a in inputs.items()}
            case 3:
                inputs = {n: a.copy(order=rng.choice("CFK")) for n, a in inputs.items()}
            case 4:
                sizes = {n: tuple(max(1, e + rng.choice([0, 0, 1, -1])) for e in s) for n, s in sizes.items()}
            case 5:
                name = rng.choice(list(mins))
                mins = {**mins, name: tuple(m + rng.choice([0, 0, 1, -1]) for m in mins[name])}
        named = list({**inputs, **values, "sizes": sizes, "mins": mins}.items())
        rng.shuffle(named)
        right, wrong = _outcome(compile_pipeline(case.module, "reference"), [], dict(named))
        found, error = _outcome(program, [], dict(named))
        what = f"seed {seed}, call {number}: {values} {sizes} {mins}"
        assert (error is None) == (wrong is None), f"{what}\n{error}\nshould be\n{wrong}"
        if wrong is not None:
            sizes, mins = case.sizes, case.mins
            continue
        for got, wanted in zip(*(a if isinstance(a, tuple) else (a,) for a in (found, right)), strict=True):
            np.testing.assert_array_equal(got, wanted, err_msg=what)


def _compiled(drawn: _Drawn, target: str, shape: Any) -> Program:
    if shape is not None:
        try:
            return compile_pipeline(drawn.module, target, strict_float=True, passes=passes("h200", shape=shape))
        except PipelineError:  # no tile of this shape
            pass
    return compile_pipeline(drawn.module, target, strict_float=True)


# --- pipelines ----------------------------------------------------------------------------------------------


class _Drawn:
    """A pipeline of one or two inputs, of parameters of any type, and of one or two outputs."""

    def __init__(self, rng: Random):
        x, y = hl.vars("x y")
        self.params = {f"p{n}": rng.choice(list(PARAM_TYPES)) for n in range(rng.choice([2, 2, 3, 4, 5]))}
        self.defaults = {n: given_value(rng, t) for n, t in self.params.items() if rng.random() < 0.25}
        params = {n: hl.Param(PARAM_TYPES[t], n, self.defaults.get(n)) for n, t in self.params.items()}
        self.inputs = {f"im{n}": rng.choice(IMAGES) for n in range(rng.choice([1, 1, 2]))}
        self.compute = rng.choice([hl.Int(32), hl.Float(32), hl.UInt(8), hl.Int(64), hl.Float(64), hl.UInt(16)])
        terms = []
        for name, dtype in self.inputs.items():
            image = hl.ImageParam(hl.Bool() if dtype == "bool" else PARAM_TYPES[dtype], 2, name)
            source = image if rng.random() < 0.1 else _bounded(rng, image, params)
            for _ in range(rng.choice([1, 2, 3])):
                at = [v + rng.choice([0, 0, 1, -1, 2]) for v in (x, y)]
                if rng.random() < 0.08:
                    at[rng.randrange(2)] = _size(rng, params, image)
                terms.append(hl.cast(self.compute, source[at[0], at[1]]))
        terms += [hl.cast(self.compute, p) for p in rng.sample(list(params.values()), len(params))]
        value = terms[0]
        for term in terms[1:]:
            value = _combined(rng, value, term)
        if flags := [params[n] for n, t in self.params.items() if t == "bool"]:
            value = hl.select(rng.choice(flags), value, value + hl.cast(self.compute, 3))
        f, g = hl.Func("f"), hl.Func("g")
        f[x, y] = value
        g[x, y] = f[x + 1, y] - f[x, y - 1] if rng.random() < 0.7 else hl.cast(self.compute, x - 2 * y)
        outputs = rng.choice([[f], [f], [f], [g], [f, g]])
        self.outputs = [func.name() for func in outputs]
        self.module = hl.Pipeline(outputs).to_module()
        read = {op.sym_name.data for op in self.module.walk() if isinstance(op, InputOp | ParamOp)}
        self.inputs = {n: t for n, t in self.inputs.items() if n in read}
        self.params = {n: t for n, t in self.params.items() if n in read}

    def call(self, rng: Random) -> _Call:
        """Return a call as most are."""
        shape = (rng.choice(EXTENTS), rng.choice(EXTENTS))
        return _Call(
            self,
            {n: shape if rng.random() < 0.8 else (rng.choice(EXTENTS), rng.choice(EXTENTS)) for n in self.inputs},
            {n: rng.randrange(3) for n in self.inputs},
            {n: given_value(rng, t) for n, t in self.params.items() if n not in self.defaults or rng.random() < 0.6},
            dict.fromkeys(self.inputs, "plain"),
            sizes=None if self.inputs else (5, 4),
        )


def _size(rng: Random, params: dict[str, hl.Param], image: hl.ImageParam) -> Any:
    """Return an int32 made of parameters and of sizes of an image: sometimes not positive."""
    terms = [hl.cast(hl.Int(32), p) for p in params.values() if not p.type().is_float() and p.type().bits() <= 32]
    first = rng.choice([*terms, *terms, image.width(), image.height() - 2])
    match rng.randrange(5):
        case 0:
            return first + rng.choice([1, -1, 3])
        case 1:
            return rng.choice([*terms, image.width()]) - first
        case 2:
            return hl.clamp(first, rng.choice([0, 1]), 9)
        case 3:
            return hl.min(first, image.width())
    return first


def _bounded(rng: Random, image: hl.ImageParam, params: dict[str, hl.Param]) -> Any:
    kind = rng.choice(KINDS)
    arguments: list[Any] = []
    if kind == "constant_exterior":
        same = [p for p in params.values() if str(p.type()) == str(image.type())]
        constant = hl.cast(image.type(), rng.choice([0, 1]))
        arguments = [rng.choice(same) if same and rng.random() < 0.5 else constant]
    if rng.random() < 0.7:
        whole = [image.width(), image.height()]
        first = [0 if rng.random() < 0.8 else _size(rng, params, image) for _ in whole]
        extent = [hl.min(_size(rng, params, image), n) if rng.random() < 0.4 else n for n in whole]
        if rng.random() < 0.15:
            extent = [_size(rng, params, image) for _ in whole]
        arguments.append(list(zip(first, extent, strict=True)))
    return getattr(hl.BoundaryConditions, kind)(image, *arguments)


def _combined(rng: Random, a: Any, b: Any) -> Any:
    a, b = rng.sample([a, b], 2)
    match rng.randrange(6):
        case 0 | 1:
            return a + b
        case 2:
            return a - b
        case 3:
            return a * b
        case 4:
            return hl.select(a < b, a, b)
    return a / b


# --- calls --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Call:
    """Arguments of a program's call."""

    drawn: _Drawn = field(repr=False)
    shapes: dict[str, tuple[int, int]]
    contents: dict[str, int]
    """Seeds of the values of the inputs."""
    params: dict[str, Any]
    layouts: dict[str, str]
    out: str = "new"
    sizes: Any = None
    mins: Any = None
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)
    """Arrays of the calls before, which are given again now and then."""

    def changed(self, rng: Random) -> _Call:
        """Return a call like this one: a little is different, or nothing."""
        names = list(self.params)
        match rng.randrange(11):
            case 0 | 1 if names:
                name = rng.choice(names)
                value = given_value(rng, self.drawn.params[name], wrong=0.15)
                return replace(self, params={**self.params, name: value})
            case 2 | 3 if len(names) > 1:
                a, b = rng.sample(names, 2)
                swapped = {a: self.params[b], b: self.params[a]}
                return replace(self, params={**self.params, **(swapped if rng.random() < 0.7 else {a: self.params[b]})})
            case 4 if self.contents:
                return replace(self, contents={**self.contents, rng.choice(list(self.contents)): rng.randrange(3)})
            case 5 if self.layouts:
                layout = rng.choice(list(LAYOUTS))
                return replace(self, layouts={**self.layouts, rng.choice(list(self.layouts)): layout})
            case 6 | 7:
                return replace(self, out=rng.choice(OUTS))
            case 8:
                return replace(self, sizes=rng.choice([None, None, *SIZES]))
            case 9:
                return self._moved(rng)
        return self

    def _moved(self, rng: Random) -> _Call:
        name = rng.choice([*self.drawn.inputs, *self.drawn.outputs])
        if rng.random() < 0.5:
            return replace(self, mins={name: (rng.randrange(-3, 4), 1)})
        # of all points from far away on there might be just as many as memory holds, as of what two outputs need
        far = rng.choice(FAR if len(self.drawn.outputs) == 1 else [f for f in FAR if abs(f) > 2**39])
        return replace(self, mins={name: (far, 0)}, sizes=(3, 2))

    def must_fail(self, plain: dict[str, np.ndarray]) -> bool:
        """Whether an input or a parameter is given as none may be."""
        if any(is_refused(layout, plain[n].itemsize) for n, layout in self.layouts.items()):
            return True
        return not all(fits(value, self.drawn.params[n]) for n, value in self.params.items())


def _run_of(program: Program, call: _Call, what: str, rng: Random) -> tuple[Callable[[], None], bool]:
    """Return a function that calls and checks the call, in any thread; and whether the call is right."""
    plain = {n: values(dtype, call.shapes[n], call.contents[n]) for n, dtype in call.drawn.inputs.items()}
    asked = {name: value for name, value in (("sizes", call.sizes), ("mins", call.mins)) if value is not None}
    expected = _evaluated(call.drawn, plain, call.params, asked)
    if isinstance(expected, Exception) and call.out != "new" and call.sizes is None:
        # given outputs say how large they are
        call = replace(call, out="packed" if call.out == "in part" else call.out)
        expected = _evaluated(call.drawn, plain, call.params, {**asked, "sizes": (4, 3)})
    inputs: dict[str, Any] = {}
    for name, array in plain.items():
        key = (name, call.contents[name], call.shapes[name], call.layouts[name])
        if key not in call.kept or rng.random() < 0.4:
            call.kept[key] = LAYOUTS[call.layouts[name]](array.copy())
        inputs[name] = call.kept[key]
    given = _Given(call, expected, inputs, rng)
    must_fail = given.refused or call.must_fail(plain)
    named = [*call.params.items(), *asked.items(), *([] if given.out is None else [("out", given.out)])]
    positional = [] if rng.random() < 0.4 else list(inputs.values())
    named += [] if positional else inputs.items()
    rng.shuffle(named)

    def run() -> None:
        found, error = _outcome(program, positional, dict(named))
        if error is not None:
            assert isinstance(expected, Exception) or must_fail, f"{what}\nrefused: {error}"
            assert "\n" not in str(error), what
            assert error.__context__ is None or error.__suppress_context__, what
            given.assert_untouched(what)
            return
        assert not isinstance(expected, Exception), f"{what}\nnot refused, but by the evaluator: {expected}"
        assert not must_fail, f"{what}\nnot refused"
        arrays = [np.asarray(a) for a in (found if isinstance(found, tuple) else (found,))]
        for name, got, right in zip(call.drawn.outputs, arrays, expected, strict=True):
            assert (got.dtype, got.shape) == (right.dtype, right.shape), f"{what}: {name}"
            assert _bits(got) == _bits(right), f"{what}: {name}\n{got}\nshould be\n{right}"
        given.assert_untouched_but(arrays, what)

    return run, not must_fail and not isinstance(expected, Exception)


def _bits(a: np.ndarray) -> bytes:
    """Return the bytes of an array, with one NaN for all."""
    return np.where(np.isnan(a), np.array(np.nan, a.dtype), a).tobytes() if a.dtype.kind == "f" else a.tobytes()


def _evaluated(
    drawn: _Drawn, plain: dict[str, np.ndarray], params: dict[str, Any], asked: dict[str, Any]
) -> tuple[np.ndarray, ...] | Exception:
    found, error = _outcome(compile_pipeline(drawn.module, "reference"), [], {**plain, **params, **asked})
    return error or (found if isinstance(found, tuple) else (found,))


def _outcome(program: Program, arrays: list[Any], named: dict[str, Any]) -> tuple[Any, Exception | None]:
    """Return the result of a call, or the project's error; other errors propagate."""
    try:
        return program(*arrays, **named), None
    except (CallError, PipelineError) as error:
        return None, error


# --- outputs ------------------------------------------------------------------------------------------------


class _Given:
    """Return the results of a call with `out`, in memory that is full of poison."""

    def __init__(self, call: _Call, expected: tuple[np.ndarray, ...] | Exception, inputs: dict[str, Any], rng: Random):
        self.out: Any = None
        self.refused = False
        self.memory: list[np.ndarray] = []
        self.before: list[bytes] = []
        if call.out == "new":
            return
        rights = expected if isinstance(expected, tuple) else (np.zeros((3, 4), np.uint8),) * len(call.drawn.outputs)
        arrays = [self._poisoned(right, call.out) for right in rights]
        self._spoil(call, arrays, inputs)
        self.before = [m.tobytes() for m in self.memory]
        names = call.drawn.outputs
        if call.out == "in part":
            n = rng.randrange(len(names))
            self.out = {names[n]: arrays[n]} if call.sizes is None or rng.random() < 0.5 else {}
        elif call.out == "by name":
            self.out = dict(rng.sample(list(zip(names, arrays, strict=True)), len(names)))
        else:
            self.out = arrays[0] if len(arrays) == 1 else rng.choice([tuple, list])(arrays)

    def _poisoned(self, right: np.ndarray, how: str) -> np.ndarray:
        """Return an array of the shape of an output in the midst of memory."""
        height, width = (2 * n + 2 for n in right.shape)
        size = height * width * right.itemsize
        memory = np.full(size + 64, POISON, np.uint8)
        self.memory.append(memory)
        start = -memory.__array_interface__["data"][0] % 32 + (how == "misaligned")
        self.refused |= how == "misaligned" and right.itemsize > 1
        grid = memory[start : start + size].view(right.dtype).reshape(height, width)
        inner = grid[1 : 1 + right.shape[0], 1 : 1 + right.shape[1]]
        if how == "strided":
            return grid[1:-1:2, 1:-1:2]
        return inner[::-1, ::-1] if how == "reversed" else inner

    def _spoil(self, call: _Call, arrays: list[np.ndarray], inputs: dict[str, Any]) -> None:
        """Change the first array into one that is no output, or the first input into one that lies beside it."""
        how, first, item = call.out, arrays[0], arrays[0].itemsize
        if how == "other dtype":
            arrays[0], self.refused = first.astype(np.complex64), True
        elif how == "other order" and item > 1:
            arrays[0], self.refused = first.view(first.dtype.newbyteorder("S")), True
        elif how == "frozen":
            first.flags.writeable, self.refused = False, True
        elif how == "twice" and len(arrays) > 1 and first.shape == arrays[1].shape:
            arrays[1], self.refused = first, True
        elif how in ("an input", "over an input", "between an input") and inputs:
            name = next(iter(inputs))
            given = inputs[name]
            if type(given) is not np.ndarray or given.ndim != 2 or given.itemsize != item:
                return
            if is_refused(call.layouts[name], item):
                return  # in memory of its own it would not be
            inputs[name], arrays[0], self.memory[0] = self._together(how, given, first)

    def _together(self, how: str, given: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return an input and an output in the same memory, and that memory."""
        height, width = (max(m, n) for m, n in zip(given.shape, first.shape, strict=True))
        memory = np.full((2 * height, 2 * width * given.itemsize), POISON, np.uint8)
        grid, other = memory.view(given.dtype), memory.view(first.dtype)
        step = 2 if how == "between an input" else 1
        skip = 1 if step == 2 or (how == "over an input" and min(given.shape) > 1) else 0
        self.refused |= step == 1
        source = grid[::step, ::step][: given.shape[0], : given.shape[1]]
        source[...] = given
        return source, other[skip::step, skip::step][: first.shape[0], : first.shape[1]], memory

    def assert_untouched(self, what: str) -> None:
        """Assert that nothing was written."""
        assert [m.tobytes() for m in self.memory] == self.before, f"{what}\nwritten to, though refused"

    def assert_untouched_but(self, arrays: list[np.ndarray], what: str) -> None:
        """Assert that only elements of outputs were written."""
        for memory, before in zip(self.memory, self.before, strict=True):
            now = memory.copy()
            written = np.zeros(memory.shape, bool)
            for array in arrays:
                if np.shares_memory(memory, array):
                    for byte in (0, 1):  # where the elements of the output lie, whatever they are
                        array.view(f"u{array.itemsize}")[...] = byte * np.iinfo(f"u{array.itemsize}").max
                        written |= memory != now
            changed = now != np.frombuffer(before, np.uint8).reshape(memory.shape)
            assert not (changed & ~written).any(), f"{what}\nwritten to beside the outputs"
