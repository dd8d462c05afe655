"""Rules of integer, index and i1 ops. A rule is (op, *carried operands) -> array or arrays of results.

Rules may return any integer dtype: the result is taken modulo 2^width afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import Operation

from tilefuse.dialects.img.ops import DivOp, ModOp
from tilefuse.evaluator.carriers import signed, unsigned, width_of

Array = np.ndarray
Rule = Callable[..., Any]
"""(op, *operands) -> the result, or a tuple of the results."""


def _modular(function: Callable[[Array, Array], Array]) -> Rule:
    return lambda op, a, b: function(unsigned(a), unsigned(b))


def _of_signed(function: Callable[[Array, Array], Array]) -> Rule:
    return lambda op, a, b: function(signed(a), signed(b))


def _bits(function: Callable[[Array, Array], Array]) -> Rule:
    return lambda op, a, b: function(a, b)


# --- division: NumPy's gives 0 for a divisor of 0, and wraps for the least number by -1


def _truncated(a: Array, b: Array) -> Array:
    quotient = np.floor_divide(a, b)
    return np.asarray(quotient + ((np.remainder(a, b) != 0) & ((a < 0) != (b < 0))))


def _ceiled(a: Array, b: Array) -> Array:
    return np.asarray(np.floor_divide(a, b) + (np.remainder(a, b) != 0))


def _euclidean_quotient(a: Array, b: Array) -> Array:
    # The remainder has the divisor's sign: one more multiple of a negative divisor makes it positive.
    return np.asarray(np.floor_divide(a, b) + ((np.remainder(a, b) != 0) & (b < 0)))


def _euclidean_remainder(a: Array, b: Array) -> Array:
    rest = np.remainder(a, b)
    return np.asarray(np.where(rest < 0, rest - b, rest))


def _halide(of_signed: Callable[[Array, Array], Array], of_unsigned: Callable[[Array, Array], Array]) -> Rule:
    def rule(op: DivOp | ModOp, a: Array, b: Array) -> Array:
        return of_signed(signed(a), signed(b)) if op.signed else of_unsigned(unsigned(a), unsigned(b))

    return rule


# --- shifts: by the width or more nothing is left but the sign


def _shift_left(op: Operation, a: Array, by: Array) -> Array:
    width, a, by = width_of(op.results[0].type), unsigned(a), unsigned(by)
    return np.asarray(np.where(by < width, a << np.minimum(by, by.dtype.type(width - 1)), a.dtype.type(0)))


def _shift_right(op: Operation, a: Array, by: Array) -> Array:
    width, a, by = width_of(op.results[0].type), unsigned(a), unsigned(by)
    return np.asarray(np.where(by < width, a >> np.minimum(by, by.dtype.type(width - 1)), a.dtype.type(0)))


def _shift_right_signed(op: Operation, a: Array, by: Array) -> Array:
    a, by = signed(a), unsigned(by)
    last = by.dtype.type(width_of(op.results[0].type) - 1)
    return np.asarray(a >> np.minimum(by, last).astype(a.dtype))


# --- comparison


_COMPARISONS = (
    ("eq", unsigned, np.equal),
    ("ne", unsigned, np.not_equal),
    ("slt", signed, np.less),
    ("sle", signed, np.less_equal),
    ("sgt", signed, np.greater),
    ("sge", signed, np.greater_equal),
    ("ult", unsigned, np.less),
    ("ule", unsigned, np.less_equal),
    ("ugt", unsigned, np.greater),
    ("uge", unsigned, np.greater_equal),
)
"""In the order of arith's predicate numbers."""


def _compare(op: arith.CmpiOp, a: Array, b: Array) -> Array:
    _, reading, compare = _COMPARISONS[op.predicate.value.data]
    result: Array = compare(reading(a), reading(b))
    return result


# --- products of twice the width


def _extended_sum(op: Operation, a: Array, b: Array) -> tuple[Array, Array]:
    width = width_of(op.results[0].type)
    a, b = unsigned(a), unsigned(b)
    total = a + b
    return total, (total > 1 if width == 1 else total < a)


def _high_half(a: Array, b: Array) -> Array:
    """The upper 64 bits of products of uint64, by 32-bit halves."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    cross = a1 * b0 + ((a0 * b0) >> half)
    middle = a0 * b1 + (cross & low)
    return np.asarray(a1 * b1 + (cross >> half) + (middle >> half))


def _extended_product(op: Operation, a: Array, b: Array) -> tuple[Array, Array]:
    width = width_of(op.results[0].type)
    a, b = unsigned(a).astype(np.uint64), unsigned(b).astype(np.uint64)
    high = _high_half(a, b) if width == 64 else (a * b) >> np.uint64(width)
    return a * b, high


def _extended_product_signed(op: Operation, a: Array, b: Array) -> tuple[Array, Array]:
    width = width_of(op.results[0].type)
    a, b = signed(a).astype(np.int64), signed(b).astype(np.int64)
    if width < 64:
        return a * b, (a * b) >> np.int64(width)
    high = _high_half(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
    return a * b, high - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)


# --- bits and powers


def _ones(op: Operation, a: Array) -> Array:
    a = unsigned(a)
    one = a.dtype.type(1)
    return sum(((a >> a.dtype.type(k)) & one for k in range(width_of(op.results[0].type))), np.zeros_like(a))


def _leading_zeros(op: Operation, a: Array) -> Array:
    a, width = unsigned(a), width_of(op.results[0].type)
    counts = [a >> a.dtype.type(k) == 0 for k in range(width)]
    return sum((c.astype(np.uint8) for c in counts), np.zeros(a.shape, np.uint8))


def _trailing_zeros(op: Operation, a: Array) -> Array:
    a, width = unsigned(a), width_of(op.results[0].type)
    masks = [a.dtype.type((1 << k) - 1) for k in range(1, width + 1)]
    return sum((((a & m) == 0).astype(np.uint8) for m in masks), np.zeros(a.shape, np.uint8))


def _power(op: Operation, a: Array, exponent: Array) -> Array:
    a, exponent = signed(a), signed(exponent)
    power = np.power(a, np.maximum(exponent, 0))
    # 1 / a^n, truncated: 0 but for the units.
    parity = np.where(exponent & 1, a, np.abs(a))
    reciprocal = np.where(np.abs(a) == 1, parity, 0)
    return np.where(exponent < 0, reciprocal, power)


INTEGER_RULES: dict[type[Operation], Rule] = {
    arith.AddiOp: _modular(np.add),
    arith.SubiOp: _modular(np.subtract),
    arith.MuliOp: _modular(np.multiply),
    arith.AddUIExtendedOp: _extended_sum,
    arith.MulUIExtendedOp: _extended_product,
    arith.MulSIExtendedOp: _extended_product_signed,
    arith.DivUIOp: _modular(np.floor_divide),
    arith.DivSIOp: _of_signed(_truncated),
    arith.FloorDivSIOp: _of_signed(np.floor_divide),
    arith.CeilDivSIOp: _of_signed(_ceiled),
    arith.CeilDivUIOp: _modular(_ceiled),
    arith.RemUIOp: _modular(np.remainder),
    arith.RemSIOp: _of_signed(np.fmod),
    DivOp: _halide(_euclidean_quotient, np.floor_divide),
    ModOp: _halide(_euclidean_remainder, np.remainder),
    arith.MinSIOp: _of_signed(np.minimum),
    arith.MaxSIOp: _of_signed(np.maximum),
    arith.MinUIOp: _modular(np.minimum),
    arith.MaxUIOp: _modular(np.maximum),
    arith.AndIOp: _bits(np.bitwise_and),
    arith.OrIOp: _bits(np.bitwise_or),
    arith.XOrIOp: _bits(np.bitwise_xor),
    arith.ShLIOp: _shift_left,
    arith.ShRUIOp: _shift_right,
    arith.ShRSIOp: _shift_right_signed,
    arith.CmpiOp: _compare,
    math.AbsIOp: lambda op, a: np.abs(signed(a)),
    math.CtPopOp: _ones,
    math.CountLeadingZerosOp: _leading_zeros,
    math.CountTrailingZerosOp: _trailing_zeros,
    math.IPowIOp: _power,
}
