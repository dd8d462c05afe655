"""Range analysis of floats, which bounds an index that is cast from a float.

Interval arithmetic on the real numbers that the ends are, rounded outward to the type: so a value lies in its range
whether a back end rounds each operation or contracts a product with its sum.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, FloatAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tilefuse.dialects.img.float_operations import FLOAT_OPERATIONS
from tilefuse.dialects.img.float_ranges import ANY_FLOAT, FloatSpan

_NUMPY: dict[type[Attribute], type[np.floating]] = {
    Float16Type: np.float16,
    Float32Type: np.float32,
    Float64Type: np.float64,
}

_SPANS = {row.op: row.span for row in FLOAT_OPERATIONS if row.span is not None}
"""Ranges of operations, from the rows that have them."""


def float_range(op: Operation, type: Attribute, of: Callable[[SSAValue], FloatSpan]) -> FloatSpan:
    """Return the range of the float computed by `op`, from the ranges of its operands."""
    match op:
        case arith.ConstantOp(value=FloatAttr() as attr):
            number = attr.value.data
            return ANY_FLOAT if numbers.isnan(number) else (number, number)
        case arith.SelectOp():
            return _either(of(op.lhs), of(op.rhs))
        case arith.ExtFOp() | arith.TruncFOp() if _is_float(op.input.type):
            ends = of(op.input)
            if not all(numbers.isfinite(end) for end in ends):
                return ANY_FLOAT
            return rounded(Fraction(ends[0]), Fraction(ends[1]), type)
    span = _SPANS.get(op.__class__)
    found = None if span is None else span(*(of(v) for v in op.operands))
    if found is None:
        return ANY_FLOAT
    low, high = found
    if isinstance(low, Fraction) and isinstance(high, Fraction):
        return rounded(low, high, type)
    return (float(low), float(high))


def _is_float(type: Attribute) -> bool:
    return type.__class__ in _NUMPY


def _either(a: FloatSpan, b: FloatSpan) -> FloatSpan:
    return ANY_FLOAT if ANY_FLOAT in (a, b) else (min(a[0], b[0]), max(a[1], b[1]))


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
