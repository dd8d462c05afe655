"""Quotients of f32 by a constant, as a product and a sum, are those of IEEE 754, for every significand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilefuse.analysis.reciprocals import reciprocal

SIGNIFICANDS = np.arange(1 << 23, 1 << 24, dtype=np.float32)


def fma(a, b, c):
    """Return a * b + c of f32, rounded once: the product is exact in f64, and of the sum the error is known."""
    x, y = a.astype(np.float64) * np.float64(b), c.astype(np.float64)
    total = x + y
    rest = y - (total - x)
    # in the middle of two floats of 24 bits the error decides
    middle = (total.view(np.uint64) & np.uint64((1 << 29) - 1)) == np.uint64(1 << 28)
    toward = np.where(rest > 0, np.inf, -np.inf)
    return np.where(middle & (rest != 0), np.nextafter(total, toward), total).astype(np.float32)


def differing(divisor, high, low):
    """Return how many of the dividends of one exponent get another quotient than by a division."""
    quotients = (SIGNIFICANDS.astype(np.float64) / np.float64(divisor)).astype(np.float32)
    return np.count_nonzero(fma(SIGNIFICANDS, high, SIGNIFICANDS * np.float32(low)) != quotients)


@pytest.mark.parametrize("divisor", [3, 9, 25, -7, 0.1, 1.1, 16.5, 2 - 2**-23, 1 + 2**-23])
def test_every_quotient(divisor):
    divisor = float(np.float32(divisor))
    parts = reciprocal(divisor)
    assert parts is not None
    assert differing(divisor, *parts) == 0


@pytest.mark.sweep
@settings(max_examples=20, deadline=None)
@given(st.floats(2**-60, 2**60, width=32))
def test_every_quotient_of_any_divisor(divisor):
    if (parts := reciprocal(divisor)) is not None:
        assert differing(divisor, *parts) == 0


def test_a_divisor_with_a_wrong_quotient():
    divisor = float(np.float32(1 / 3))
    assert reciprocal(divisor) is None
    high = np.nextafter(np.float32(1 / divisor), np.float32(0))
    low = np.float32(1 / divisor - float(high))
    assert differing(divisor, high, low) == 1


@pytest.mark.parametrize("divisor", [0.0, 1.0, 2.0, -0.5, 1e30, 1e-30, np.inf, np.nan])
def test_powers_of_two_and_numbers_out_of_range(divisor):
    assert reciprocal(divisor) is None


def test_most_divisors_have_one():
    some = np.random.default_rng(0).random(500, dtype=np.float32) + np.float32(1)
    assert sum(reciprocal(float(divisor)) is not None for divisor in some) > 450
