"""Expressions of arrays of edge values: computed by the halide wheel, and by each of our back ends."""

from __future__ import annotations

import itertools
import re
import shutil
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from emulated_cuda import emulate

import tilefuse
from tilefuse.runtime.cuda.nvrtc import compile_report

INTEGERS = "u8 i8 u16 i16 u32 i32 u64 i64".split()

# longlong is the 64-bit integer whose buffers Halide takes.
DTYPES = {
    **{name: np.dtype(f"{name[0]}{int(name[1:]) // 8}") for name in [*INTEGERS, "f16", "f32", "f64"]},
    "u64": np.dtype("Q"),
    "i64": np.dtype("q"),
    "bool": np.dtype(np.bool_),
}

Values = Callable[..., Sequence[Any]]
"""(hl, *values at a point) -> the expressions to compare."""


def type_of(hl: Any, name: str) -> Any:
    """Return `hl.UInt(8)` for u8."""
    if name in ("bool", "bf16"):
        return hl.Bool() if name == "bool" else hl.BFloat(16)
    return {"u": hl.UInt, "i": hl.Int, "f": hl.Float}[name[0]](int(name[1:]))


def edge_values(name: str) -> list[Any]:
    """Return numbers of a type at and near its ends, 0, and small ones of both signs."""
    if name == "bool":
        return [False, True]
    if name[0] in "fb":
        return [0.0, 1.0, -1.0, 0.5, -0.75, 2.5, 100.25, -100.75, 254.5, 30000.0, -3e4, 1e-3]
    info = np.iinfo(DTYPES[name])
    numbers = {info.min, info.min + 1, -37, -8, -3, -1, 0, 1, 2, 5, 7, 8, 100, info.max // 2, info.max - 1, info.max}
    return sorted(n for n in numbers if info.min <= n <= info.max)


def pairs(first: str, second: str) -> list[np.ndarray]:
    """Return all pairs of edge values, as two arrays."""
    both = list(itertools.product(edge_values(first), edge_values(second)))
    return [np.array([p[i] for p in both], DTYPES[name]) for i, name in enumerate((first, second))]


def stored(numbers: Sequence[Any], name: str) -> np.ndarray:
    """Return numbers as an array of a type; of bf16, which NumPy lacks, of float32."""
    return np.array(numbers, DTYPES["f32" if name == "bf16" else name])


def taken(hl: Any, pixel: Any, name: str) -> Any:
    """Return a pixel of `stored` as a value of its type."""
    return hl.cast(hl.BFloat(16), pixel) if name == "bf16" else pixel


def given(hl: Any, value: Any) -> Any:
    """Return a value as an output that NumPy has a type for."""
    return hl.cast(hl.Float(32), value) if value.type() == hl.BFloat(16) else value


def castable(hl: Any, value: Any, type: Any) -> Any:
    """Clamp `value` to the range of an integer `type`, since Halide leaves other values undefined."""
    if not value.type().is_float() or type.is_float():
        return value
    return hl.clamp(value, -100 if type.is_int() else 0, 1 if type == hl.Bool() else 100)


def define(hl: Any, arrays: Sequence[np.ndarray], values: Values) -> Any:
    """Return a Func called "out", whose values at a point are `values` of the arrays' pixels."""
    x, out = hl.Var("x"), hl.Func("out")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pixels = [hl.Buffer(array, f"in_{i}")[x] for i, array in enumerate(arrays)]
        exprs = list(values(hl, *pixels))
        out[x] = exprs[0] if len(exprs) == 1 else hl.Tuple(*exprs) if hl is tilefuse else hl.Tuple(exprs)
    return out


def by_halide(arrays: Sequence[np.ndarray], values: Values) -> list[np.ndarray]:
    """Compute by the Halide wheel."""
    import halide

    found = define(halide, arrays, values).realize([arrays[0].size])
    return [np.array(f) for f in (found if isinstance(found, tuple) else (found,))]


def by_us(arrays: Sequence[np.ndarray], values: Values, target: str) -> list[np.ndarray]:
    """Compute by our back end for `target`."""
    found = define(tilefuse, arrays, values).realize([arrays[0].size], target=target, **_strict(target))
    return [np.asarray(f) for f in (found if isinstance(found, tuple) else (found,))]


def _strict(target: str) -> dict[str, Any]:
    return {} if target == "reference" else {"strict_float": True}


def by_emulated_gpu(patch: Any, folder: Any, arrays: Sequence[np.ndarray], values: Values) -> list[np.ndarray]:
    """Compute by the CUDA text, emulated on the CPU."""
    with patch.context() as inner:
        emulate(inner, folder)
        return by_us(arrays, values, "cpu")


def nvrtc_compiles(arrays: Sequence[np.ndarray], values: Values) -> None:
    """Check that NVRTC compiles the CUDA text, and warns only of unused code."""
    source = tilefuse.Pipeline(define(tilefuse, arrays, values)).compile(target="cuda:sm_90").source()
    report = compile_report(source, "sm_90")
    assert report.registers, source
    found = re.findall(r"warning #(\d+)", report.log)
    # Variables that are not used; unsigned numbers that are asked whether they are negative, or -1; numbers
    # of unsigned arithmetic that are written as negative ones.
    assert set(found) <= {"68", "177", "186", "514"}, report.log


def assert_back_ends_agree(
    arrays: Sequence[np.ndarray], values: Values, names: Sequence[str], where: str, patch: Any, folder: Any
) -> None:
    """Assert that the CPU and the CUDA text agree with the evaluator, and that NVRTC compiles the text."""
    expected = by_us(arrays, values, "reference")
    assert_same(by_us(arrays, values, "cpu"), expected, names, f"cpu: {where}")
    if shutil.which("g++"):
        assert_same(by_emulated_gpu(patch, folder, arrays, values), expected, names, f"CUDA: {where}")
    nvrtc_compiles(arrays, values)


def assert_same(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], names: Sequence[str], where: str) -> None:
    """Assert equal types and values."""
    assert len(ours) == len(theirs) == len(names)
    for mine, other, name in zip(ours, theirs, names, strict=True):
        assert mine.dtype == other.dtype, f"{where}: {name} is {mine.dtype}, not {other.dtype}"
        np.testing.assert_array_equal(mine, other, err_msg=f"{where}: {name}")
