"""Reciprocals of float constants in two parts, by which a product and a sum give the correctly rounded quotient.

After Brisebarre, Muller and Raina 2004: with `high` near 1/c and `low` the rest, `fma(a, high, a * low)` is within
2^-47 of a/c before it is rounded, if a and c lie in 1..2. It rounds otherwise than a/c only if the middle between two
floats lies between the two. Few quotients are so close to a middle; a modular inverse finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

SIGNIFICAND_BITS = 24
"""Bits of the significand of f32."""
FURTHEST_EXPONENT = 64
"""Exponents of two up to which divisors are taken: then neither part is so small that it loses bits."""
CLOSEST_MIDDLES = 4
"""Numerators of the distances to a middle that are below 2^-47."""


@cache
def reciprocal(divisor: float) -> tuple[float, float] | None:
    """Return the two parts of 1 / divisor, both of its sign, where every quotient is right; else None.

    None, too, for a power of two, of which the reciprocal is a float, and for very large and very small numbers. A
    quotient below 2^-100, but for 0, may be wrong: there `a * low` loses bits.
    """
    if divisor < 0:
        positive = reciprocal(-divisor)
        return None if positive is None else (-positive[0], -positive[1])
    if not 2.0**-FURTHEST_EXPONENT <= divisor <= 2.0**FURTHEST_EXPONENT:
        return None
    exact = Fraction(divisor)
    significand, scale = _normal(exact)
    if significand == 1 << SIGNIFICAND_BITS - 1:
        return None
    of_one = Fraction(significand, 1 << SIGNIFICAND_BITS - 1)
    # rounded down, so that the rest has the sign of both, and zeros and infinities are right
    high = _rounded(1 / of_one, down=True)
    low = _rounded(1 / of_one - high)
    for a in _close_dividends(significand):
        if _rounded(a * high + _rounded(a * low)) != _rounded(a / of_one):
            return None
    return float(high / scale), float(low / scale)


def _normal(x: Fraction) -> tuple[int, Fraction]:
    """Return the significand as an integer, and the power of two that x is of a number in 1..2 with it."""
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    scale = Fraction(2) ** exponent
    if x < scale:
        scale /= 2
    return int(x / scale * (1 << SIGNIFICAND_BITS - 1)), scale


def _rounded(x: Fraction, *, down: bool = False) -> Fraction:
    """Round a positive number to f32, to the nearest and even one or down; exponents are not limited."""
    _, scale = _normal(x)
    step = scale / (1 << SIGNIFICAND_BITS - 1)
    return (x // step if down else round(x / step)) * step


def _close_dividends(divisor: int) -> Iterator[Fraction]:
    """Yield the dividends in 1..2 whose quotients may round wrongly, being close to the middle of two floats.

    A 2^k = M C + j: of dividend A and divisor C, as integers of 24 bits, j is the distance from the odd M, of 25 bits.
    """
    twos = (divisor & -divisor).bit_length() - 1
    odd = divisor >> twos
    for k in (SIGNIFICAND_BITS, SIGNIFICAND_BITS + 1):  # of quotients from 1 on, and below
        modulus = 1 << k - twos
        for j in range(-CLOSEST_MIDDLES, CLOSEST_MIDDLES + 1):
            if j == 0 or j % (1 << twos):
                continue
            first = -(j >> twos) * pow(odd, -1, modulus) % modulus
            for middle in range(first, 1 << SIGNIFICAND_BITS + 1, modulus):
                a, rest = divmod(middle * divisor + j, 1 << k)
                if middle >> SIGNIFICAND_BITS and not rest and 1 << SIGNIFICAND_BITS - 1 <= a < 1 << SIGNIFICAND_BITS:
                    yield Fraction(a, 1 << SIGNIFICAND_BITS - 1)
