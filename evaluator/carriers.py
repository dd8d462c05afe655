"""Carriers of values in the evaluator: the NumPy dtype of every IR type, and rounding to it.

arith is signless, so integers are carried unsigned and a rule reads them as signed where its op says so.
i1 is bool, index is int64. bf16, which NumPy lacks, is carried in float32 that hold only bf16 values.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, IndexType, IntegerType, f16, f32, f64, i1
from xdsl.ir import Attribute

from tilefuse.dialects.img.types import ELEMENT_DTYPES

CARRIERS: dict[Attribute, np.dtype] = {
    i1: np.dtype(np.bool_),
    **{IntegerType(w): np.dtype(f"u{w // 8}") for w in (8, 16, 32, 64)},
    IndexType(): np.dtype(np.int64),
    f16: np.dtype(np.float16),
    BFloat16Type(): np.dtype(np.float32),
    f32: np.dtype(np.float32),
    f64: np.dtype(np.float64),
}


def width_of(type: Attribute) -> int:
    """Bits of an integer type; index has 64."""
    return type.width.data if isinstance(type, IntegerType) else 64


def signed(a: np.ndarray) -> np.ndarray:
    """Carried integers read as signed; an i1 is 0 or -1."""
    if a.dtype == np.bool_:
        return np.negative(a.astype(np.int8))
    return a.view(f"i{a.dtype.itemsize}")


def unsigned(a: np.ndarray) -> np.ndarray:
    """Carried integers read as unsigned; an i1 is 0 or 1."""
    return a.view(f"u{a.dtype.itemsize}")


def carried(values: np.ndarray, type: Attribute) -> np.ndarray:
    """Convert the results of a rule to values of `type`: integers modulo 2^width, floats rounded once."""
    carrier = CARRIERS[type]
    if isinstance(type, BFloat16Type):
        return round_bf16(values)
    if values.dtype == carrier:
        return values
    if carrier.kind == "b":
        return (values & 1).astype(np.bool_)
    return values.astype(carrier)


def odd_rounded_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b of float64 rounded to odd, so that rounding once more, to 51 bits or fewer, is still correct."""
    total = a + b
    # Knuth's TwoSum: total + error is exactly a + b.
    virtual = total - a
    error = (a - (total - virtual)) + (b - virtual)
    even = (total.view(np.int64) & 1) == 0
    inexact = np.isfinite(total) & np.isfinite(error) & (error != 0)
    return np.asarray(np.where(inexact & even, np.nextafter(total, np.copysign(np.inf, error)), total))


def _odd_rounded_f32(a: np.ndarray) -> np.ndarray:
    near = a.astype(np.float32)
    inexact = np.isfinite(near) & (near.astype(np.float64) != a)
    even = (near.view(np.uint32) & 1) == 0
    towards = np.where(near.astype(np.float64) < a, np.float32(np.inf), np.float32(-np.inf))
    return np.where(inexact & even, np.nextafter(near, towards), near)


def _exact_or_odd_f64(a: np.ndarray) -> np.ndarray:
    """64-bit integers as float64, so that rounding to bf16 afterwards is right."""
    if a.dtype.kind == "f" or a.dtype.itemsize < 8:
        return a.astype(np.float64)
    negative = a < 0
    size = np.where(negative, np.negative(a), a).astype(np.uint64)
    low = size & np.uint64(0xFFF)
    sticky = (size - low) | ((low != 0).astype(np.uint64) << np.uint64(12))
    size = np.where(size >= np.uint64(1 << 53), sticky, size)
    return np.where(negative, -size.astype(np.float64), size.astype(np.float64))


def round_bf16(values: np.ndarray) -> np.ndarray:
    """Numbers of any dtype rounded to bf16, to nearest even, in float32."""
    if values.dtype != np.float32:
        values = _odd_rounded_f32(_exact_or_odd_f64(values))
    return bf16_values(bf16_bits(values))


def bf16_bits(values: np.ndarray) -> np.ndarray:
    """The 16 bits of float32 values rounded to bf16; a NaN stays one."""
    bits = np.asarray(values).view(np.uint32)
    nearest = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    quiet = bits | np.uint32(0x400000)
    return (np.where(np.isnan(values), quiet, nearest) >> np.uint32(16)).astype(np.uint16)


def bf16_values(bits: np.ndarray) -> np.ndarray:
    """The float32 values of 16-bit patterns of bf16."""
    wide = np.asarray(bits.astype(np.uint32) << np.uint32(16))
    return wide.view(np.float32)


def dtype_name(element: Attribute) -> str:
    """The dtype that arrays of a pixel type have."""
    return "bfloat16" if isinstance(element, BFloat16Type) else ELEMENT_DTYPES[element].name


def carry_array(array: np.ndarray, element: Attribute) -> np.ndarray:
    """An array of pixels as carried values: a view, but for bf16 and bool, of which any byte but 0 is true."""
    if isinstance(element, BFloat16Type):
        return array.astype(np.float32)
    if array.dtype == np.bool_:
        return np.asarray(array.view(np.uint8) != 0)
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind in "iu" else array


def pixels(values: np.ndarray, element: Attribute) -> np.ndarray:
    """Carried values as a new C-contiguous array of pixels. ImportError for bf16 without ml_dtypes."""
    if isinstance(element, BFloat16Type):
        from ml_dtypes import bfloat16  # type: ignore[import-not-found, unused-ignore]

        return np.array(values, dtype=bfloat16, order="C")
    dtype = ELEMENT_DTYPES[element]
    copy = np.array(values, order="C")
    return copy.view(dtype) if copy.dtype != dtype else copy
