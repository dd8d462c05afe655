"""Ranges of the results of float operations, for the column `span` of their table.

A range is (least, greatest); an operand that may be NaN has `ANY_FLOAT`. A function here returns ends that are numbers
of the type, or fractions: the exact result's, which `analysis/float_range.py` rounds outwards to the type.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction

FloatSpan = tuple[float, float]
"""(least, greatest). A value with an end that is a number is no NaN."""
ExactSpan = tuple[Fraction, Fraction]

ANY_FLOAT: FloatSpan = (-math.inf, math.inf)
"""The range of a float that nothing bounds, which may be NaN."""


def _of_numbers(function: Callable[..., FloatSpan | ExactSpan | None]) -> Callable[..., FloatSpan | ExactSpan | None]:
    """Return the range by `function` where all operands are finite numbers; elsewhere nothing is known."""

    @functools.wraps(function)
    def known(*spans: FloatSpan) -> FloatSpan | ExactSpan | None:
        return function(*spans) if all(math.isfinite(end) for span in spans for end in span) else None

    return known


# --- arithmetic


@_of_numbers
def float_span_of_sum(a: FloatSpan, b: FloatSpan) -> ExactSpan:
    """Return the range of a sum."""
    return (Fraction(a[0]) + Fraction(b[0]), Fraction(a[1]) + Fraction(b[1]))


@_of_numbers
def float_span_of_difference(a: FloatSpan, b: FloatSpan) -> ExactSpan:
    """Return the range of a difference."""
    return (Fraction(a[0]) - Fraction(b[1]), Fraction(a[1]) - Fraction(b[0]))


@_of_numbers
def float_span_of_product(a: FloatSpan, b: FloatSpan) -> ExactSpan:
    """Return the range of a product."""
    ends = [Fraction(x) * Fraction(y) for x in a for y in b]
    return (min(ends), max(ends))


@_of_numbers
def float_span_of_quotient(a: FloatSpan, b: FloatSpan) -> ExactSpan | None:
    """Return the range of a quotient whose divisor is not 0."""
    if b[0] <= 0 <= b[1]:
        return None
    ends = [Fraction(x) / Fraction(y) for x in a for y in b]
    return (min(ends), max(ends))


@_of_numbers
def float_span_of_negation(a: FloatSpan) -> FloatSpan:
    """Return the range of a negated value."""
    return (-a[1], -a[0])


@_of_numbers
def float_span_of_abs(a: FloatSpan) -> FloatSpan:
    """Return the range of an absolute value."""
    return (max(a[0], -a[1], 0.0), max(-a[0], a[1]))


def float_span_of_rounding(way: Callable[[float], int]) -> Callable[..., FloatSpan | ExactSpan | None]:
    """Return the function to the range of values that are rounded to an integer in some way."""
    return _of_numbers(lambda a: (float(way(a[0])), float(way(a[1]))))


# --- minima and maxima


@_of_numbers
def float_span_of_min(a: FloatSpan, b: FloatSpan) -> FloatSpan:
    """Return the range of a minimum that is NaN if an operand is."""
    return (min(a[0], b[0]), min(a[1], b[1]))


@_of_numbers
def float_span_of_max(a: FloatSpan, b: FloatSpan) -> FloatSpan:
    """Return the range of a maximum that is NaN if an operand is."""
    return (max(a[0], b[0]), max(a[1], b[1]))


def _number(pick: Callable[[float, float], float], a: FloatSpan, b: FloatSpan, end: int) -> float:
    """Return the upper end of a minimum or the lower end of a maximum; a side that may be NaN does not count.

    Where one side is NaN the result is the other, which then bounds it from one end alone.
    """
    return b[end] if a == ANY_FLOAT else a[end] if b == ANY_FLOAT else pick(a[end], b[end])


def float_span_of_number_min(a: FloatSpan, b: FloatSpan) -> FloatSpan:
    """Return the range of a minimum that is the other operand where one is NaN."""
    return (min(a[0], b[0]), _number(min, a, b, 1))


def float_span_of_number_max(a: FloatSpan, b: FloatSpan) -> FloatSpan:
    """Return the range of a maximum that is the other operand where one is NaN."""
    return (_number(max, a, b, 0), max(a[1], b[1]))
