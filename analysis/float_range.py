"""Range analysis of floats, which bounds an index that is cast from a float.

Interval arithmetic on the real numbers that the ends are, rounded outward to the type: so a value lies in its range
whether a back end rounds each operation or contracts a product with its sum.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, FloatAttr
from xdsl.ir import Attribute, Operation, SSAValue

FloatSpan = tuple[float, float]
"""(least, greatest). A value with an end that is a number is no NaN."""

ANY_FLOAT: FloatSpan = (-numbers.inf, numbers.inf)
"""The range of a float that nothing bounds, which may be NaN."""

_NUMPY: dict[type[Attribute], type[np.floating]] = {
    Float16Type: np.float16,
    Float32Type: np.float32,
    Float64Type: np.float64,
}


def float_range(op: Operation, type: Attribute, of: Callable[[SSAValue], FloatSpan]) -> FloatSpan:
    """Return the range of the float computed by `op`, from the ranges of its operands."""
    match op:
        case arith.ConstantOp(value=FloatAttr() as attr):
            number = attr.value.data
            return ANY_FLOAT if numbers.isnan(number) else (number, number)
        case arith.MinnumfOp():
            a, b = of(op.lhs), of(op.rhs)
            return (min(a[0], b[0]), _number(min, a, b, 1))
        case arith.MaxnumfOp():
            a, b = of(op.lhs), of(op.rhs)
            return (_number(max, a, b, 0), max(a[1], b[1]))
        case arith.SelectOp():
            return _either(of(op.lhs), of(op.rhs))
    spans = [of(v) for v in op.operands if _is_float(v.type)]
    if not spans or len(spans) < len(op.operands) or not all(numbers.isfinite(end) for s in spans for end in s):
        return ANY_FLOAT
    return _of_numbers(op, type, spans)


def _is_float(type: Attribute) -> bool:
    return type.__class__ in _NUMPY


def _number(pick: Callable[[float, float], float], a: FloatSpan, b: FloatSpan, end: int) -> float:
    """Return the upper end of a minimum or the lower end of a maximum; a side that may be NaN does not count.

    Where one side is NaN the result is the other, which then bounds it from one end alone.
    """
    return b[end] if a == ANY_FLOAT else a[end] if b == ANY_FLOAT else pick(a[end], b[end])


def _either(a: FloatSpan, b: FloatSpan) -> FloatSpan:
    return ANY_FLOAT if ANY_FLOAT in (a, b) else (min(a[0], b[0]), max(a[1], b[1]))


def _of_numbers(op: Operation, type: Attribute, spans: list[FloatSpan]) -> FloatSpan:
    """Return the range of an operation whose operands are finite numbers."""
    a, b = spans[0], spans[-1]
    match op:
        case arith.AddfOp():
            return rounded(Fraction(a[0]) + Fraction(b[0]), Fraction(a[1]) + Fraction(b[1]), type)
        case arith.SubfOp():
            return rounded(Fraction(a[0]) - Fraction(b[1]), Fraction(a[1]) - Fraction(b[0]), type)
        case arith.MulfOp():
            ends = [Fraction(x) * Fraction(y) for x in a for y in b]
            return rounded(min(ends), max(ends), type)
        case arith.DivfOp() if b[0] > 0 or b[1] < 0:
            ends = [Fraction(x) / Fraction(y) for x in a for y in b]
            return rounded(min(ends), max(ends), type)
        case arith.NegfOp():
            return (-a[1], -a[0])
        case math.AbsFOp():
            return (max(a[0], -a[1], 0.0), max(-a[0], a[1]))
        case math.FloorOp():
            return (float(numbers.floor(a[0])), float(numbers.floor(a[1])))
        case math.CeilOp():
            return (float(numbers.ceil(a[0])), float(numbers.ceil(a[1])))
        case math.TruncOp():
            return (float(numbers.trunc(a[0])), float(numbers.trunc(a[1])))
        case math.RoundEvenOp():
            return (float(round(a[0])), float(round(a[1])))
        case arith.MinimumfOp():
            return (min(a[0], b[0]), min(a[1], b[1]))
        case arith.MaximumfOp():
            return (max(a[0], b[0]), max(a[1], b[1]))
        case arith.ExtFOp() | arith.TruncFOp():
            return rounded(Fraction(a[0]), Fraction(a[1]), type)
    return ANY_FLOAT


def rounded(low: Fraction, high: Fraction, type: Attribute) -> FloatSpan:
    """Round two real numbers outwards to floats of a type; ANY_FLOAT if the range overflows."""
    kind = _NUMPY.get(type.__class__)
    if kind is None:
        return ANY_FLOAT
    ends = []
    with np.errstate(over="ignore"):
        for exact, away in ((low, -np.inf), (high, np.inf)):
            if abs(exact) > float(np.finfo(kind).max):
                return ANY_FLOAT
            near = kind(float(exact))
            if numbers.isfinite(near) and (Fraction(float(near)) - exact) * (1 if away > 0 else -1) < 0:
                near = np.nextafter(near, kind(away))
            ends.append(float(near))
    return (ends[0], ends[1]) if all(numbers.isfinite(end) for end in ends) else ANY_FLOAT


def truncated_range(span: FloatSpan, limits: tuple[int, int]) -> tuple[int, int]:
    """Return the range of floats cast to integers between two limits, at which the cast saturates; NaN gives 0."""
    if span == ANY_FLOAT:
        return limits
    low, high = (min(max(end, limits[0]), limits[1]) for end in span)
    return numbers.trunc(low), numbers.trunc(high)
