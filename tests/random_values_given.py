"""Random values for the parameters and inputs of calls, as callers write them: right ones, odd ones and wrong ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import tilefuse as hl

PARAM_TYPES: dict[str, hl.Type] = {
    **{f"int{w}": hl.Int(w) for w in (8, 16, 32, 64)},
    **{f"uint{w}": hl.UInt(w) for w in (8, 16, 32, 64)},
    **{f"float{w}": hl.Float(w) for w in (16, 32, 64)},
    "bool": hl.Bool(),
    "bfloat16": hl.BFloat(16),
}
_LARGEST = {"float16": 65504.0, "float32": float(np.finfo(np.float32).max), "bfloat16": 3.3895313892515355e38}
_INTEGERS = (0, 1, 1, 2, 2, 3, 4, 5, 5, 7, 9, -1, -3, 100, 127, 128, 255, -128, 40000, 2**15, 2**20, -(2**20))
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.1, 2.5, 3.0, 1 / 3, 1e-30, 6e4, math.inf, -math.inf, math.nan)
_WRONG = (
    None,
    "3",
    1j,
    [1],
    np.ones(2),
    2**70,
    10**400,
    -(2**63) - 1,
    np.longdouble("1e4000"),
    0.5,
    1e300,
    70000.5,
    b"1",
)


def fits(value: Any, type: str) -> bool:
    """Whether a parameter of this type takes a value."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    whole = isinstance(value, int | np.integer | np.bool_)
    if "float" not in type:
        low, high = _range(type)
        return whole and low <= int(value) <= high
    if not whole and not isinstance(value, float | np.floating):
        return False
    if whole:
        return abs(int(value)) <= int(_LARGEST.get(type, np.finfo(np.float64).max))
    finite = bool(np.isfinite(value))
    return not finite or bool(abs(value) <= _LARGEST.get(type, np.finfo(np.float64).max))


def _range(type: str) -> tuple[int, int]:
    if type == "bool":
        return 0, 1
    info = np.iinfo(type)
    return int(info.min), int(info.max)


def given_value(rng: Random, type: str, wrong: float = 0.0) -> Any:
    """Return a value for a parameter: of Python or of NumPy, of its own type or of another one."""
    if rng.random() < wrong:
        return rng.choice(_WRONG)
    if "float" in type and rng.random() < 0.7:
        value = rng.choice([v for v in _FLOATS if fits(v, type)])
        kinds: list[Callable[[Any], Any]] = [float, float, np.float64, np.array]
        if type != "bfloat16":
            kinds.append(np.dtype(type).type)
    else:
        low, high = (-5, 100) if "float" in type else _range(type)
        ends = [low, high] if "float" not in type and rng.random() < 0.1 else []
        value = rng.choice(ends or [v for v in _INTEGERS if low <= v <= high])
        kinds = [int, int, int, np.int64 if value < 2**63 else np.uint64, np.array]
        if value in (0, 1):
            kinds += [bool, np.bool_]
    return rng.choice(kinds)(value)


# --- inputs -------------------------------------------------------------------------------------------------


def values(dtype: str, shape: tuple[int, int], content: int) -> np.ndarray:
    """Return the values of an input: `content` is a seed."""
    random = np.random.default_rng([content, *shape])
    if dtype.startswith("float"):
        return random.choice([-1.5, -0.0, 0.0, 0.5, 3.0, 1e30, np.inf, np.nan], shape).astype(dtype)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def _strided(a: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * a.shape[0], 3 * a.shape[1]), a.dtype)
    wide[::2, 1::3] = a
    return wide[::2, 1::3]


def _reversed(a: np.ndarray) -> np.ndarray:
    return a[::-1, ::-1].copy()[::-1, ::-1]


def _at_byte(a: np.ndarray, first: int) -> np.ndarray:
    memory = np.zeros(a.nbytes + 64, np.uint8)
    start = -memory.__array_interface__["data"][0] % 16 + first
    memory[start : start + a.nbytes] = np.frombuffer(a.tobytes(), np.uint8)
    return memory[start : start + a.nbytes].view(a.dtype).reshape(a.shape)


def _frozen(a: np.ndarray) -> np.ndarray:
    a.flags.writeable = False
    return a


def _odd_bytes(a: np.ndarray) -> np.ndarray:
    return (a.view(np.uint8) * np.uint8(6)).view(bool) if a.dtype == bool else a


class _Shared:
    """An array of a library that tells of it by DLPack only."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "plain": lambda a: a,
    "strided": _strided,
    "reversed": _reversed,
    "columns": np.asfortranarray,
    "one on": lambda a: _at_byte(a, a.itemsize),
    "frozen": _frozen,
    "true by other bytes": _odd_bytes,
    "shared": _Shared,
    "buffer": hl.Buffer,
    "misaligned": lambda a: _at_byte(a, 1),
    "swapped": lambda a: a.astype(a.dtype.newbyteorder("S")),
    "other dtype": lambda a: a.astype(np.float16),
    "list": lambda a: a.tolist(),
    "masked": lambda a: np.ma.masked_array(a),
    "cube": lambda a: a[np.newaxis],
    "none": lambda a: None,
}
"""Way to pass an input: a function of a new array with its values."""


def is_refused(layout: str, itemsize: int) -> bool:
    """Whether an input that is given so is an error."""
    if layout in ("misaligned", "swapped"):
        return itemsize > 1
    return layout in ("other dtype", "list", "masked", "cube", "none")
