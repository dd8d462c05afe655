"""Semantics of integer operations on NumPy arrays, where NumPy has no function of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilefuse.dialects.img.elements import Array


def itself(a: Array) -> Array:
    """Return the number unchanged."""
    return a


# --- division: NumPy's gives 0 for a divisor of 0, and wraps for the least number by -1


def truncated(a: Array, b: Array) -> Array:
    """Divide, rounding towards zero."""
    quotient = np.floor_divide(a, b)
    return np.asarray(quotient + ((np.remainder(a, b) != 0) & ((a < 0) != (b < 0))))


def ceiled(a: Array, b: Array) -> Array:
    """Divide, rounding towards infinity."""
    return np.asarray(np.floor_divide(a, b) + (np.remainder(a, b) != 0))


def euclidean_quotient(a: Array, b: Array) -> Array:
    """Divide such that the remainder is non-negative."""
    # The remainder has the divisor's sign: one more multiple of a negative divisor makes it positive.
    return np.asarray(np.floor_divide(a, b) + ((np.remainder(a, b) != 0) & (b < 0)))


def euclidean_remainder(a: Array, b: Array) -> Array:
    """Return the non-negative remainder."""
    rest = np.remainder(a, b)
    return np.asarray(np.where(rest < 0, rest - b, rest))


# --- shifts: by the width or more nothing is left but the sign


def shift_left(width: int, a: Array, by: Array) -> Array:
    """Shift left; 0 from the width on."""
    return np.asarray(np.where(by < width, a << np.minimum(by, by.dtype.type(width - 1)), a.dtype.type(0)))


def shift_right(width: int, a: Array, by: Array) -> Array:
    """Shift right with zeros; 0 from the width on."""
    return np.asarray(np.where(by < width, a >> np.minimum(by, by.dtype.type(width - 1)), a.dtype.type(0)))


def shift_right_signed(width: int, a: Array, by: Array) -> Array:
    """Shift right with the sign, by an unsigned count; only the sign is left from the width on."""
    by = by.view(f"u{by.dtype.itemsize}")
    last = by.dtype.type(width - 1)
    return np.asarray(a >> np.minimum(by, last).astype(a.dtype))


# --- sums and products of twice the width


def extended_sum(width: int, a: Array, b: Array) -> tuple[Array, Array]:
    """Return the sum, and whether it overflows."""
    total = a + b
    return total, (total > 1 if width == 1 else total < a)


def _high_half(a: Array, b: Array) -> Array:
    """Return the upper 64 bits of uint64 products, by 32-bit halves."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    cross = a1 * b0 + ((a0 * b0) >> half)
    middle = a0 * b1 + (cross & low)
    return np.asarray(a1 * b1 + (cross >> half) + (middle >> half))


def extended_product(width: int, a: Array, b: Array) -> tuple[Array, Array]:
    """Return the lower and upper half of an unsigned product."""
    a, b = a.astype(np.uint64), b.astype(np.uint64)
    high = _high_half(a, b) if width == 64 else (a * b) >> np.uint64(width)
    return a * b, high


def extended_product_signed(width: int, a: Array, b: Array) -> tuple[Array, Array]:
    """Return the lower and upper half of a signed product."""
    a, b = a.astype(np.int64), b.astype(np.int64)
    if width < 64:
        return a * b, (a * b) >> np.int64(width)
    high = _high_half(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
    return a * b, high - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)


# --- bits and powers


def ones(width: int, a: Array) -> Array:
    """Count the bits that are 1."""
    one = a.dtype.type(1)
    return sum(((a >> a.dtype.type(k)) & one for k in range(width)), np.zeros_like(a))


def leading_zeros(width: int, a: Array) -> Array:
    """Count the zeros above the highest 1."""
    counts = [a >> a.dtype.type(k) == 0 for k in range(width)]
    return sum((c.astype(np.uint8) for c in counts), np.zeros(a.shape, np.uint8))


def trailing_zeros(width: int, a: Array) -> Array:
    """Count the zeros below the lowest 1."""
    masks = [a.dtype.type((1 << k) - 1) for k in range(1, width + 1)]
    return sum((((a & m) == 0).astype(np.uint8) for m in masks), np.zeros(a.shape, np.uint8))


def integer_power(a: Array, exponent: Array) -> Array:
    """Raise integers to a power; for a negative exponent 1 / a^n, truncated: 0 except for the units."""
    positive = np.power(a, np.maximum(exponent, 0))
    parity = np.where(exponent & 1, a, np.abs(a))
    reciprocal = np.where(np.abs(a) == 1, parity, 0)
    return np.where(exponent < 0, reciprocal, positive)


# --- from floats: towards zero, clamped to the type; NaN gives 0


def _saturated(a: Array, low: int, high: int, dtype: type[np.integer[Any]]) -> Array:
    towards_zero = np.trunc(a.astype(np.float64))
    # high + 1 is a power of two, so it is exact; high may not be.
    above, below = towards_zero >= float(high + 1), towards_zero <= float(low)
    inside = np.where(above | below | np.isnan(towards_zero), 0.0, towards_zero).astype(dtype)
    return np.where(above, dtype(high), np.where(below, dtype(low), inside))


def saturated_signed(width: int, a: Array) -> Array:
    """Convert a float to a signed integer, saturating."""
    half = 2 ** (width - 1)
    return _saturated(a, -half, half - 1, np.int64)


def saturated_unsigned(width: int, a: Array) -> Array:
    """Convert a float to an unsigned integer, saturating."""
    return _saturated(a, 0, 2**width - 1, np.uint64)
