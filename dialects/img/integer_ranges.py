"""Ranges of the results of integer operations, for the column `span` of their table.

A range is (least, greatest) of a value read as signed; its ends may be symbols of sizes. What a function here returns
is the range of the exact result: `analysis/value_range.py` fits it to the type, in which values may wrap.
"""

from __future__ import annotations

from tilefuse.dialects.img.symbolic import SizeValue, greatest, least, provably_le

SizeRange = tuple[SizeValue, SizeValue]
Width = int | None
"""Bits of the operands; None for an index, which has no fixed width."""


def as_unsigned(width: Width, span: SizeRange) -> SizeRange | None:
    """Convert a signed range to unsigned; None if it contains both signs, and the width is unknown."""
    if provably_le(0, span[0]):
        return span
    if width is None:
        return None
    limit = 1 << width
    return (span[0] + limit, span[1] + limit) if provably_le(span[1], -1) else (0, limit - 1)


def span_unchanged(width: Width, a: SizeRange) -> SizeRange:
    """Return the range of the operand: of a conversion."""
    return a


# --- sums and products


def span_of_sum(width: Width, a: SizeRange, b: SizeRange) -> SizeRange:
    """Return the range of a sum."""
    return (a[0] + b[0], a[1] + b[1])


def span_of_difference(width: Width, a: SizeRange, b: SizeRange) -> SizeRange:
    """Return the range of a difference."""
    return (a[0] - b[1], a[1] - b[0])


def span_of_product(width: Width, a: SizeRange, b: SizeRange) -> SizeRange:
    """Return the range of a product."""
    ends = [x * y for x in a for y in b]
    return (least(*ends), greatest(*ends))


def span_of_left_shift(width: Width, a: SizeRange, b: SizeRange) -> SizeRange | None:
    """Return the range of a left shift by a constant."""
    by = _constant(b, 0)
    return None if by is None or by >= 64 else span_of_product(width, a, (1 << by,) * 2)


def span_of_abs(width: Width, a: SizeRange) -> SizeRange | None:
    """Return the range of an absolute value; None where the least number of the type wraps around to itself."""
    if provably_le(0, a[0]):
        return a
    if width is None or not provably_le(1 - (1 << (width - 1)), a[0]):
        return None
    return (0 - a[1] if provably_le(a[1], 0) else 0, greatest(0 - a[0], a[1]))


# --- minima, maxima, bits


def span_of_min(width: Width, a: SizeRange, b: SizeRange) -> SizeRange:
    """Return the range of a signed minimum."""
    return (least(a[0], b[0]), least(a[1], b[1]))


def span_of_max(width: Width, a: SizeRange, b: SizeRange) -> SizeRange:
    """Return the range of a signed maximum."""
    return (greatest(a[0], b[0]), greatest(a[1], b[1]))


def _not_negative(*spans: SizeRange) -> list[SizeRange]:
    return [s for s in spans if provably_le(0, s[0])]


def span_of_unsigned_min(width: Width, a: SizeRange, b: SizeRange) -> SizeRange:
    """Return the range of an unsigned minimum, which an operand that is not negative bounds."""
    if not (bounding := _not_negative(a, b)):
        return (least(a[0], b[0]), greatest(a[1], b[1]))
    return (least(a[0], b[0]) if len(bounding) == 2 else 0, least(*(s[1] for s in bounding)))


def span_of_unsigned_max(width: Width, a: SizeRange, b: SizeRange) -> SizeRange:
    """Return the range of an unsigned maximum."""
    return span_of_max(width, a, b) if len(_not_negative(a, b)) == 2 else (least(a[0], b[0]), greatest(a[1], b[1]))


SPANS_OF_EXTREMA = {
    (True, "min"): span_of_min, (True, "max"): span_of_max,
    (False, "min"): span_of_unsigned_min, (False, "max"): span_of_unsigned_max,
}  # fmt: skip
"""Range functions of minima and maxima, by whether operands are read as signed, and by name."""


def span_of_and(width: Width, a: SizeRange, b: SizeRange) -> SizeRange | None:
    """Return the range of a bitwise and, which an operand that is not negative bounds."""
    if bounding := _not_negative(a, b):
        return (0, least(*(s[1] for s in bounding)))
    # Of two negative numbers the and is negative, and may be below both.
    ends = [end for end in (-a[0] - 1, -b[0] - 1, a[1], b[1]) if isinstance(end, int)]
    if len(ends) < 4:
        return None
    bits = max(ends).bit_length()
    return (-(1 << bits), (1 << bits) - 1)


def span_of_count(width: Width, a: SizeRange) -> SizeRange | None:
    """Return the range of a number of bits."""
    return None if width is None else (0, width)


# --- division and shifts by a constant: other divisors and counts bound nothing


def _constant(b: SizeRange, smallest: int) -> int | None:
    return b[0] if b[0] == b[1] and isinstance(b[0], int) and b[0] >= smallest else None


def span_of_floor_quotient(width: Width, a: SizeRange, b: SizeRange) -> SizeRange | None:
    """Return the range of a quotient by a positive constant, rounded down."""
    by = _constant(b, 1)
    return None if by is None else (a[0] // by, a[1] // by)


def span_of_floor_remainder(width: Width, a: SizeRange, b: SizeRange) -> SizeRange | None:
    """Return the range of a remainder by a positive constant that is not negative."""
    by = _constant(b, 1)
    return None if by is None else (0, by - 1)


def span_of_unsigned_quotient(width: Width, a: SizeRange, b: SizeRange) -> SizeRange | None:
    """Return the range of a quotient of unsigned operands."""
    positive = as_unsigned(width, a)
    return None if positive is None else span_of_floor_quotient(width, positive, b)


def span_of_truncated_quotient(width: Width, a: SizeRange, b: SizeRange) -> SizeRange | None:
    """Return the range of a quotient by a positive constant, rounded towards zero."""
    by, (low, high) = _constant(b, 1), a
    if by is None or provably_le(0, low):
        return span_of_floor_quotient(width, a, b)
    if not isinstance(low, int) or not isinstance(high, int):
        return None
    return (-(-low // by), high // by if high >= 0 else -(-high // by))


def span_of_truncated_remainder(width: Width, a: SizeRange, b: SizeRange) -> SizeRange | None:
    """Return the range of a remainder by a positive constant that has the sign of the dividend."""
    by = _constant(b, 1)
    if by is None or provably_le(0, a[0]):
        return span_of_floor_remainder(width, a, b)
    return (1 - by, 0 if provably_le(a[1], 0) else by - 1)


def span_of_right_shift(width: Width, a: SizeRange, b: SizeRange) -> SizeRange | None:
    """Return the range of a right shift by a constant with the sign."""
    by = _constant(b, 0)
    return None if by is None else span_of_floor_quotient(width, a, (1 << min(by, 64),) * 2)


def span_of_unsigned_right_shift(width: Width, a: SizeRange, b: SizeRange) -> SizeRange | None:
    """Return the range of a right shift by a constant with zeros."""
    positive = as_unsigned(width, a)
    return None if positive is None else span_of_right_shift(width, positive, b)
