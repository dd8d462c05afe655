"""Classification of one index of an access: the map from a consumer's coordinate to a producer's.

`floor((num * x + offset) / den)` of one coordinate is what tiles can follow exactly; a constant and a
bounded index (`x mod 2`) stay put when the tile moves; anything else needs the whole range.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from tilefuse.analysis.sizes import AnySpan

Span = tuple[int, int]
"""(first, last) coordinate, both inside."""


@dataclass(frozen=True, slots=True)
class Index:
    """`floor((num * coordinate[var] + offset) / den)`, or the constant `offset` where var is None."""

    var: int | None
    num: int = 0
    offset: int = 0
    den: int = 1

    @property
    def ratio(self) -> Fraction:
        """Producer steps per consumer step."""
        return Fraction(self.num, self.den)

    def span(self, of: Sequence[Span]) -> Span:
        """Return the producer coordinates that are read while the consumer's run over `of`."""
        if self.var is None:
            return (self.offset, self.offset)
        low, high = of[self.var]
        a, b = (self.num * low + self.offset) // self.den, (self.num * high + self.offset) // self.den
        return (a, b) if a <= b else (b, a)


@dataclass(frozen=True, slots=True)
class BoundedIndex:
    """An index whose values lie in `first..last` wherever the tile is: `x mod 3`."""

    first: int
    last: int

    def span(self, of: Sequence[Span]) -> Span:
        """Return the producer coordinates that are read."""
        return (self.first, self.last)


@dataclass(frozen=True, slots=True)
class GeneralIndex:
    """Any other index: several coordinates at once (`x + y`), or a value computed from data."""

    expr: AffineExpr
    data_dependent: bool
    known: Span | None = None
    """The values that it has, wherever the tile is, if they were computed: of a byte, or a clamp, that data decide."""
    terms: tuple[tuple[int, int], ...] = ()
    """Coordinates and factors of a linear combination, to which `offset` is added."""
    offset: int = 0

    def span(self, of: Sequence[Span]) -> Span:
        """Return the producer coordinates that are read."""
        assert self.known is not None
        return self.known


AnyIndex = Index | BoundedIndex | GeneralIndex


def _linear(expr: AffineExpr) -> tuple[int | None, int, int] | None:
    """Return (dim, coefficient, constant) of an expression in at most one dimension, or None."""
    match expr:
        case AffineConstantExpr(value):
            return (None, 0, value)
        case AffineDimExpr(position):
            return (position, 1, 0)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, rhs):
            a, b = _linear(lhs), _linear(rhs)
            if a is None or b is None or (a[0] is not None and b[0] not in (None, a[0])):
                return None
            return (b[0] if a[0] is None else a[0], a[1] + b[1], a[2] + b[2])
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, lhs, rhs):
            a, b = _linear(lhs), _linear(rhs)
            if a is None or b is None:
                return None
            if a[0] is None:
                a, b = b, a
            return None if b[0] is not None else (a[0], a[1] * b[2], a[2] * b[2])
    return None


def _quotient(expr: AffineExpr) -> tuple[int | None, int, int, int] | None:
    """Return (dim, num, offset, den) of `floor((num * dim + offset) / den)`, or None."""
    if (linear := _linear(expr)) is not None:
        return (*linear, 1)
    match expr:
        case AffineBinaryOpExpr(AffineBinaryOpKind.FloorDiv, lhs, AffineConstantExpr(den)) if den > 0:
            inner = _quotient(lhs)
            # floor(floor(n / d) / e) = floor(n / (d e)) for positive d and e
            return None if inner is None else (*inner[:3], inner[3] * den)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, AffineConstantExpr(value)) | AffineBinaryOpExpr(
            AffineBinaryOpKind.Add, AffineConstantExpr(value), lhs
        ):
            inner = _quotient(lhs)
            if inner is None:
                return None
            var, num, offset, den = inner
            return (var, num, offset + value * den, den)
    return None


def classify(expr: AffineExpr, coordinates: Sequence[int | None]) -> AnyIndex:
    """Classify the index `expr`; `coordinates[i]` is the coordinate of its dimension i, None for data."""
    expr = without_differences(expr)
    data = any(coordinates[d] is None for d in expr.used_dims())
    quotient = None if data else _quotient(expr)
    if quotient is not None:
        dim, num, offset, den = quotient
        if dim is None or num == 0:
            return Index(None, 0, offset // den, 1)
        # floor((g n x + o) / (g d)) = floor((n x + floor(o / g)) / d): (2 * x + 3) floordiv 2 is x + 1
        common = math.gcd(num, den)
        return Index(coordinates[dim], num // common, offset // common, den // common)
    match expr:
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mod, _, AffineConstantExpr(modulus)) if modulus > 0:
            return BoundedIndex(0, modulus - 1)
    return GeneralIndex(expr, data) if data else GeneralIndex(expr, data, None, *_terms(expr, coordinates))


def _terms(expr: AffineExpr, coordinates: Sequence[int | None]) -> tuple[tuple[tuple[int, int], ...], int]:
    """Return (coordinate, factor) of each term of a linear sum, and its constant; None for any other expression."""
    if (linear := linear_terms(expr)) is None:
        return (), 0
    terms, constant = linear
    found: dict[int, int] = {}
    for position, factor in terms.items():
        if (coordinate := coordinates[position]) is None:
            return (), 0
        found[coordinate] = found.get(coordinate, 0) + factor
    return tuple(sorted(found.items())), constant


@cache
def without_differences(expr: AffineExpr) -> AffineExpr:
    """Rewrite `e - (e floordiv n) * n` to `e mod n` everywhere in the expression, so that its parts grow together.

    By itself, not an equal one, if it has none: intervals of the parts would say nothing of their difference.
    """
    if not (isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.Add):
        return expr
    terms, constant = _sum(expr)
    found = False
    for quotient, times in list(terms.items()):
        match quotient:
            case AffineBinaryOpExpr(AffineBinaryOpKind.FloorDiv, of, AffineConstantExpr(by)) if times % by == 0:
                inside, offset = _sum(of)
                factor = -times // by
                if not factor or any(terms.get(t, 0) != factor * n for t, n in inside.items()):
                    continue
                terms = {t: n for t, n in terms.items() if t not in inside and t != quotient}
                rest = AffineExpr.binary(AffineBinaryOpKind.Mod, of, AffineConstantExpr(by))
                terms[rest] = terms.get(rest, 0) + factor
                constant -= factor * offset
                found = True
    if not found:
        return expr
    total: AffineExpr = AffineConstantExpr(constant)
    for term, times in terms.items():
        if times:
            total = term * times + total
    return total


def _sum(expr: AffineExpr) -> tuple[dict[AffineExpr, int], int]:
    """Return the terms of a sum with their multiplicities, and the constant."""
    match expr:
        case AffineConstantExpr(value):
            return {}, value
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, rhs):
            (terms, a), (others, b) = _sum(lhs), _sum(rhs)
            return {t: terms.get(t, 0) + others.get(t, 0) for t in (*terms, *others)}, a + b
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, other, AffineConstantExpr(by)) | AffineBinaryOpExpr(
            AffineBinaryOpKind.Mul, AffineConstantExpr(by), other
        ):
            terms, constant = _sum(other)
            return {t: n * by for t, n in terms.items()}, constant * by
    return {expr: 1}, 0


def linear_terms(expr: AffineExpr) -> tuple[dict[int, int], int] | None:
    """Split a linear expression into factors by dimension and a constant; None for any other expression."""
    terms, constant = _sum(expr)
    found: dict[int, int] = {}
    for term, times in terms.items():
        if not isinstance(term, AffineDimExpr):
            return None
        found[term.position] = times
    return found, constant


def expr_span(expr: AffineExpr, spans: Sequence[AnySpan]) -> AnySpan:
    """Return the range of `expr` while its dimensions run over `spans`; exact if each occurs once."""
    match expr:
        case AffineConstantExpr(value):
            return (value, value)
        case AffineDimExpr(position):
            return spans[position]
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, rhs):
            if (shorter := without_differences(expr)) is not expr:
                return expr_span(shorter, spans)
            a, b = expr_span(lhs, spans), expr_span(rhs, spans)
            return (a[0] + b[0], a[1] + b[1])
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, AffineConstantExpr(factor), other) | AffineBinaryOpExpr(
            AffineBinaryOpKind.Mul, other, AffineConstantExpr(factor)
        ):
            low, high = expr_span(other, spans)
            return (low * factor, high * factor) if factor >= 0 else (high * factor, low * factor)
        case AffineBinaryOpExpr(kind, other, AffineConstantExpr(by)):
            low, high = expr_span(other, spans)
            match kind:
                case AffineBinaryOpKind.FloorDiv:
                    return (low // by, high // by)
                case AffineBinaryOpKind.CeilDiv:
                    return (-(-low // by), -(-high // by))
                case AffineBinaryOpKind.Mod:
                    return (low % by, high % by) if low // by == high // by else (0, by - 1)
    raise AssertionError(f"img accesses multiply and divide by constants, without symbols: {expr}")


def is_staged(indices: Sequence[object]) -> bool:
    """Whether an input read at these indices is loaded into registers once per tile: only x and y move, one to one."""
    return is_windowed(indices) and all(isinstance(i, Index) and i.num == 1 for i in indices[:2])


def is_windowed(indices: Sequence[object]) -> bool:
    """Whether an input read is as in `is_staged`, or with x and y scaled: neighbours read a box without gaps."""
    if len(indices) < 2:
        return False
    x, y, *rest = indices
    return (
        isinstance(x, Index)
        and isinstance(y, Index)
        and (x.var, x.den, y.var, y.den) == (0, 1, 1, 1)
        and x.num > 0 < y.num
        and all(isinstance(i, BoundedIndex) or (isinstance(i, Index) and i.var not in (0, 1)) for i in rest)
    )


Movement = tuple[tuple[int | None, int] | None, ...]
"""Movement of reads with the reader's coordinates: (variable, times) of each index; None if between
constants. Reads of equal movement differ by constants."""


def movement(indices: Sequence[AnyIndex]) -> Movement | None:
    """Return the movement of a read (`Movement`); None if an index has a division, or is of another form."""
    found: list[tuple[int | None, int] | None] = []
    for i in indices:
        if isinstance(i, BoundedIndex):
            found.append(None)
        elif isinstance(i, Index) and i.den == 1:
            found.append((i.var, i.num) if i.var is not None else None)
        else:
            return None
    return tuple(found)


def at_phase(expr: AffineExpr, xs: Collection[int], count: int, phase: int) -> tuple[int, int] | None:
    """Return (factor, offset) of an index at the coordinate `count * k + phase`: factor * k + offset.

    `xs`: the dimensions of `expr` that are the coordinate. None where it is not linear in k, or takes other values.
    """
    match expr:
        case AffineConstantExpr(value):
            return (0, value)
        case AffineDimExpr(position):
            return (count, phase) if position in xs else None
        case AffineBinaryOpExpr(kind, lhs, rhs):
            a, b = at_phase(lhs, xs, count, phase), at_phase(rhs, xs, count, phase)
            if a is None or b is None:
                return None
            match kind:
                case AffineBinaryOpKind.Add:
                    return (a[0] + b[0], a[1] + b[1])
                case AffineBinaryOpKind.Mul if not a[0] or not b[0]:
                    return (a[0] * b[1] + a[1] * b[0], a[1] * b[1])
                case AffineBinaryOpKind.FloorDiv if not b[0] and b[1] > 0 and a[0] % b[1] == 0:
                    return (a[0] // b[1], a[1] // b[1])
                case AffineBinaryOpKind.Mod if not b[0] and b[1] > 0 and a[0] % b[1] == 0:
                    return (0, a[1] % b[1])
    return None


def divisors(expr: AffineExpr) -> Iterator[int]:
    """Yield the divisors of `floordiv` and `mod` in an index."""
    if isinstance(expr, AffineBinaryOpExpr):
        if expr.kind in (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.Mod):
            assert isinstance(expr.rhs, AffineConstantExpr)
            yield expr.rhs.value
        yield from divisors(expr.lhs)
        yield from divisors(expr.rhs)
