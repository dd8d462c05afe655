"""Carriers of values in the evaluator: the NumPy dtype of every IR type, and rounding to it.

arith is signless, so integers are carried unsigned and a rule reads them as signed where its op says so.
i1 is bool, index is int64. A float that NumPy lacks is carried in float32 that hold only its values (narrow_floats.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute

from tilefuse.dialects.img.elements import ELEMENTS, ElementType, array_dtype
from tilefuse.evaluator.narrow_floats import NARROW_FLOATS

Rule = Callable[..., Any]
"""(operation, *carried operands) -> carried result."""


def _carrier(row: ElementType) -> np.dtype:
    if row.type in NARROW_FLOATS:
        return np.dtype(np.float32)
    dtype = np.dtype(row.dtype)
    return np.dtype(f"u{dtype.itemsize}") if dtype.kind == "i" else dtype


CARRIERS: dict[Attribute, np.dtype] = {
    **{row.storage: _carrier(row) for row in ELEMENTS.values()},
    IndexType(): np.dtype(np.int64),
}


def carried_width(type: Attribute) -> int:
    """Return the bits of an integer type; index has 64."""
    return type.width.data if isinstance(type, IntegerType) else 64


def carried_signed(a: np.ndarray) -> np.ndarray:
    """Read carried integers as signed; an i1 is 0 or -1."""
    if a.dtype == np.bool_:
        return np.negative(a.astype(np.int8))
    return a.view(f"i{a.dtype.itemsize}")


def carried_unsigned(a: np.ndarray) -> np.ndarray:
    """Read carried integers as unsigned; an i1 is 0 or 1."""
    return a.view(f"u{a.dtype.itemsize}")


def carried(values: np.ndarray, type: Attribute) -> np.ndarray:
    """Convert the results of a rule to values of `type`: integers modulo 2^width, floats rounded once."""
    carrier = CARRIERS[type]
    if (narrow := NARROW_FLOATS.get(type)) is not None:
        return narrow.rounded(values)
    if values.dtype == carrier:
        return values
    if carrier.kind == "b":
        return (values & 1).astype(np.bool_)
    return values.astype(carrier)


def odd_rounded_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a + b of float64 rounded to odd, so that a second rounding, to at most 51 bits, is correct."""
    total = a + b
    # Knuth's TwoSum: total + error is exactly a + b.
    virtual = total - a
    error = (a - (total - virtual)) + (b - virtual)
    even = (total.view(np.int64) & 1) == 0
    inexact = np.isfinite(total) & np.isfinite(error) & (error != 0)
    return np.asarray(np.where(inexact & even, np.nextafter(total, np.copysign(np.inf, error)), total))


def carry_array(array: np.ndarray, element: Attribute) -> np.ndarray:
    """Convert an array of pixels to carried values: a view, except for narrow floats and bool (non-zero is true)."""
    if element in NARROW_FLOATS:
        return array.astype(np.float32)
    if array.dtype == np.bool_:
        return np.asarray(array.view(np.uint8) != 0)
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind in "iu" else array


def pixels(values: np.ndarray, element: Attribute) -> np.ndarray:
    """Convert carried values to a new C-contiguous array of pixels. ImportError for types that need ml_dtypes."""
    dtype = array_dtype(ELEMENTS[element].dtype)
    if element in NARROW_FLOATS:
        return np.array(values, dtype=dtype, order="C")
    copy = np.array(values, order="C")
    return copy.view(dtype) if copy.dtype != dtype else copy


def pixels_from_bits(bits: np.ndarray, element: Attribute) -> np.ndarray:
    """Convert unsigned integers, as in memory, to pixels; narrow floats to carried values."""
    narrow = NARROW_FLOATS.get(element)
    return bits.view(ELEMENTS[element].dtype) if narrow is None else narrow.values(bits)


def bits_of_pixels(values: np.ndarray, element: Attribute) -> np.ndarray:
    """Convert arrays of pixels to unsigned integers of their bits."""
    values = np.ascontiguousarray(values)
    if (narrow := NARROW_FLOATS.get(element)) is not None:
        return narrow.bits(values.astype(np.float32))
    return values.view(f"u{values.itemsize}")
