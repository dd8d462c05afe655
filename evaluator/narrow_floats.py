"""Floats that NumPy lacks: carried in float32 that hold only their values, and rounded by their bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import bf16
from xdsl.ir import Attribute


@dataclass(frozen=True)
class NarrowFloat:
    """A float that NumPy lacks, between its values in float32 and its bits."""

    bits: Callable[[np.ndarray], np.ndarray]
    """Unsigned integers of its width from float32, rounded to nearest even; a NaN stays one."""
    values: Callable[[np.ndarray], np.ndarray]
    """float32 from its bits."""

    def rounded(self, values: np.ndarray) -> np.ndarray:
        """Round numbers of any dtype to it, once, to nearest even."""
        if values.dtype != np.float32:
            values = _odd_rounded_f32(_exact_or_odd_f64(values))
        return self.values(self.bits(values))


def _odd_rounded_f32(a: np.ndarray) -> np.ndarray:
    near = a.astype(np.float32)
    inexact = np.isfinite(near) & (near.astype(np.float64) != a)
    even = (near.view(np.uint32) & 1) == 0
    towards = np.where(near.astype(np.float64) < a, np.float32(np.inf), np.float32(-np.inf))
    return np.where(inexact & even, np.nextafter(near, towards), near)


def _exact_or_odd_f64(a: np.ndarray) -> np.ndarray:
    """Convert 64-bit integers to float64, rounded to odd if inexact, so that they may be rounded again."""
    if a.dtype.kind == "f" or a.dtype.itemsize < 8:
        return a.astype(np.float64)
    negative = a < 0
    size = np.where(negative, np.negative(a), a).astype(np.uint64)
    low = size & np.uint64(0xFFF)
    sticky = (size - low) | ((low != 0).astype(np.uint64) << np.uint64(12))
    size = np.where(size >= np.uint64(1 << 53), sticky, size)
    return np.where(negative, -size.astype(np.float64), size.astype(np.float64))


def _bf16_bits(values: np.ndarray) -> np.ndarray:
    """Return the upper half of a float32."""
    bits = np.asarray(values).view(np.uint32)
    nearest = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    quiet = bits | np.uint32(0x400000)
    return (np.where(np.isnan(values), quiet, nearest) >> np.uint32(16)).astype(np.uint16)


def _bf16_values(bits: np.ndarray) -> np.ndarray:
    wide = np.asarray(bits.astype(np.uint32) << np.uint32(16))
    return wide.view(np.float32)


NARROW_FLOATS: dict[Attribute, NarrowFloat] = {bf16: NarrowFloat(_bf16_bits, _bf16_values)}
"""One row per float of the table of element types that NumPy lacks."""
