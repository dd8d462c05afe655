"""The shape of an index: what it is equal to, in lowest terms."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir.affine import AffineExpr

from tilefuse.analysis.index import BoundedIndex, GeneralIndex, Index, classify, expr_span, without_differences

X, Y = AffineExpr.dimension(0), AffineExpr.dimension(1)
NUMBERS = st.integers(-9, 9)


@given(NUMBERS, NUMBERS, st.integers(1, 9), NUMBERS, st.integers(1, 9))
def test_equals_the_expression(num, offset, den, more, again):
    expr = ((X * num + offset) // den + more) // again
    found = classify(expr, [3])
    assert isinstance(found, Index)
    assert found.var == (3 if num else None)
    for x in range(-40, 40):
        value = ((num * x + offset) // den + more) // again
        assert (found.num * x + found.offset) // found.den == value


@pytest.mark.parametrize(
    ("expr", "index"),
    [
        (X, Index(0, 1, 0, 1)),
        ((X * 2 + 3) // 2 - 1, Index(0, 1, 0, 1)),
        ((X * 4 - 1) // 6, Index(0, 2, -1, 3)),
        ((X * 4 - 1) // 2, Index(0, 2, -1, 1)),
        (AffineExpr.constant(7) // 2, Index(None, 0, 3, 1)),
        (X % 3, BoundedIndex(0, 2)),
        (X + Y, GeneralIndex(X + Y, False, None, ((0, 1), (1, 1)))),
        (2 * X - Y + 3, GeneralIndex(X * 2 - Y + 3, False, None, ((0, 2), (1, -1)), 3)),
    ],
)
def test_in_lowest_terms(expr, index):
    assert classify(expr, [0, 1]) == index


@pytest.mark.parametrize(
    ("expr", "span", "index"),
    [
        (X - X // 4 * 4, (0, 3), BoundedIndex(0, 3)),
        (X * 2 - X // 4 * 8 + 3, (3, 9), None),
        ((X + Y * 2 + 5) // 3 * 3 - X - Y * 2, (3, 5), None),
        (X + 1 - (X + 1) // 4 * 4 + Y, (0, 10), None),
        (X - X // 4 * 3, (-84, 85), None),
    ],
)
def test_what_grows_together_is_taken_together(expr, span, index):
    """Of a difference of a coordinate and its quotient times the divisor the remainder is left."""
    assert expr_span(expr, [(-48, 49), (0, 7)]) == span
    assert index in (None, classify(expr, [0, 1]))
    made = without_differences(expr)
    for at in product(range(-9, 10), range(3)):
        assert made.eval(at, []) == expr.eval(at, [])
