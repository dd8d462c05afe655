"""Integers known at a call: exact arithmetic over the boxes and parameters of a pipeline.

A `SizeValue` is an int or a `SizeExpr`, the greatest of some minima of affine sums (`max(a, min(b, c))`), a form
that `+`, `-`, `*` and `//` by constants, `least` and `greatest` keep, so that equal bounds mostly look equal. An
element that another is known to cover is dropped; that every extent is at least 1 is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeAlias, TypeVar

from xdsl.utils.str_enum import StrEnum

_T = TypeVar("_T")


class Role(StrEnum):
    """The kind of object to which a symbol belongs. An input and an output may have one name."""

    Output = "output"
    Input = "input"
    Param = "param"


@dataclass(frozen=True, slots=True)
class Symbol:
    """The min of dimension `dim` of the box of an input or output, or the `extent`; or a parameter."""

    role: Role
    name: str
    dim: int = 0
    extent: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """Return the sort key of symbols."""
        return (0, _ROLES.index(self.role), self.name, self.dim, self.extent)


@dataclass(frozen=True, slots=True)
class Operation:
    """A non-affine operation: `*` of two unknown numbers, `floordiv` or `mod`. Division by zero gives 0."""

    kind: str
    lhs: SizeValue
    rhs: SizeValue

    @property
    def key(self) -> tuple[object, ...]:
        """Return the sort key of operations."""
        return (1, self.kind, _key(self.lhs), _key(self.rhs))


_ROLES = list(Role)
Atom: TypeAlias = Symbol | Operation


@dataclass(frozen=True, slots=True)
class Sum:
    """`sum of coefficient * atom, + constant`, with sorted atoms."""

    terms: tuple[tuple[Atom, int], ...]
    constant: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """Return the sort key of sums."""
        return (tuple((atom.key, coefficient) for atom, coefficient in self.terms), self.constant)

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """Return `self + factor * other`."""
        terms = dict(self.terms)
        for atom, coefficient in other.terms:
            terms[atom] = terms.get(atom, 0) + factor * coefficient
        kept = sorted(((a, c) for a, c in terms.items() if c), key=lambda term: term[0].key)
        return Sum(tuple(kept), self.constant + factor * other.constant)

    def divided(self, by: int) -> Sum:
        """Return `floor(self / by)` for `by` > 0; terms that `by` divides leave the quotient."""
        exact = Sum(tuple((a, c // by) for a, c in self.terms if c % by == 0), self.constant // by)
        rest = Sum(tuple((a, c) for a, c in self.terms if c % by), self.constant % by)
        if not rest.terms:
            return exact
        (atom, coefficient), *more = rest.terms
        if not more and coefficient == 1 and isinstance(atom, Operation) and atom.kind == "floordiv":
            inner = atom.rhs
            if isinstance(inner, int) and inner > 0:
                # floor((floor(a / b) + k) / c) = floor((a + k b) / (b c))
                quotient = (atom.lhs + rest.constant * inner) // (inner * by)
                return exact.plus(_as_sum(quotient))
        return exact.plus(Sum(((Operation("floordiv", _num([[rest]]), by), 1),)))

    def least(self) -> int | None:
        """Return a lower bound of the sum; None if none is known."""
        total = self.constant
        quotients = {a: c for a, c in self.terms if isinstance(a, Operation) and a.kind == "floordiv"}
        for atom, coefficient in self.terms:
            if isinstance(atom, Symbol) and atom.extent and coefficient > 0:
                total += coefficient
                continue
            if atom not in quotients:
                return None
        # floor(a / n) - floor(b / n) >= floor((a - b) / n): quotients count in pairs of opposite sign
        rising = [(a, c) for a, c in quotients.items() if c > 0]
        for atom, coefficient in quotients.items():
            if coefficient > 0:
                continue
            if not rising or rising[0][1] != -coefficient or rising[0][0].rhs != atom.rhs:
                return None
            upper, _ = rising.pop(0)
            bound = _least(upper.lhs - atom.lhs)
            if bound is None or not isinstance(atom.rhs, int):
                return None
            total += -coefficient * (bound // atom.rhs)
        for atom, coefficient in rising:
            bound = _least(atom.lhs)
            if bound is None or not isinstance(atom.rhs, int):
                return None
            total += coefficient * (bound // atom.rhs)
        return total


@dataclass(frozen=True, slots=True)
class SizeExpr:
    """The maximum of the `clauses`, each the minimum of some sums. Not ordered: use `provably_le`."""

    clauses: tuple[tuple[Sum, ...], ...]

    @property
    def key(self) -> tuple[object, ...]:
        """Return the sort key of expressions."""
        return (1, tuple(tuple(s.key for s in clause) for clause in self.clauses))

    def __add__(self, other: SizeValue) -> SizeValue:
        return _num(
            [[a.plus(b) for a, b in product(mine, theirs)] for mine, theirs in product(self.clauses, _clauses(other))]
        )

    def __radd__(self, other: int) -> SizeValue:
        return self + other

    def __neg__(self) -> SizeValue:
        return self * -1

    def __sub__(self, other: SizeValue) -> SizeValue:
        return self + -1 * other

    def __rsub__(self, other: int) -> SizeValue:
        return -self + other

    def __mul__(self, other: SizeValue) -> SizeValue:
        if isinstance(other, SizeExpr):
            pair = sorted((self, other), key=lambda e: e.key)
            return _num([[Sum(((Operation("*", *pair), 1),))]])
        zero = Sum(())
        if other >= 0:
            return _num([[zero.plus(s, other) for s in clause] for clause in self.clauses])
        # - max(min(a, b), c) = min(max(-a, -b), -c)
        return least(*(greatest(*(_num([[zero.plus(s, other)]]) for s in clause)) for clause in self.clauses))

    def __rmul__(self, other: int) -> SizeValue:
        return self * other

    def __floordiv__(self, other: SizeValue) -> SizeValue:
        if isinstance(other, int) and other > 0:
            return _num([[s.divided(other) for s in clause] for clause in self.clauses])
        return _num([[Sum(((Operation("floordiv", self, other), 1),))]])

    def __rfloordiv__(self, other: int) -> SizeValue:
        return _num([[Sum(((Operation("floordiv", other, self), 1),))]])

    def __mod__(self, other: SizeValue) -> SizeValue:
        if isinstance(other, int) and other > 0:
            return self - self // other * other
        return _num([[Sum(((Operation("mod", self, other), 1),))]])

    def __rmod__(self, other: int) -> SizeValue:
        return _num([[Sum(((Operation("mod", other, self), 1),))]])


SizeValue: TypeAlias = int | SizeExpr


def symbol(role: Role, name: str, dim: int = 0, *, extent: bool = False) -> SizeExpr:
    """Return the number described by `Symbol`."""
    return SizeExpr(((Sum(((Symbol(role, name, dim, extent), 1),)),),))


def least(*values: SizeValue) -> SizeValue:
    """Return the least of the values."""
    ints = [v for v in values if isinstance(v, int)]
    if len(ints) == len(values):
        return min(ints)
    kept = _reduced(set(values), provably_le, _key)
    found: list[list[Sum]] = [[]]
    for value in kept:
        found = [[*a, *b] for a, b in product(found, _clauses(value))]
    return kept[0] if len(kept) == 1 else _num(found)


def greatest(*values: SizeValue) -> SizeValue:
    """Return the greatest of the values."""
    ints = [v for v in values if isinstance(v, int)]
    if len(ints) == len(values):
        return max(ints)
    kept = _reduced(set(values), lambda a, b: provably_le(b, a), _key)
    return kept[0] if len(kept) == 1 else _num([clause for value in kept for clause in _clauses(value)])


def provably_le(a: SizeValue, b: SizeValue) -> bool:
    """Whether `a <= b` at every call; of two ints the truth, else False may only mean that it is not known."""
    if isinstance(a, int) and isinstance(b, int):
        return a <= b
    return all(any(_clause_le(x, y) for y in _clauses(b)) for x in _clauses(a))


def is_sum(value: SizeValue) -> bool:
    """Whether a value is one affine sum, with no least or greatest in it."""
    return isinstance(value, int) or (len(value.clauses) == 1 and len(value.clauses[0]) == 1)


def evaluate_size(value: SizeValue, numbers: Callable[[Symbol], int]) -> int:
    """Evaluate `value` to an int, with `numbers` for the symbols."""
    if isinstance(value, int):
        return value
    return max(min(_evaluate_sum(s, numbers) for s in clause) for clause in value.clauses)


def _evaluate_sum(s: Sum, numbers: Callable[[Symbol], int]) -> int:
    total = s.constant
    for atom, coefficient in s.terms:
        if isinstance(atom, Symbol):
            total += coefficient * numbers(atom)
            continue
        a, b = evaluate_size(atom.lhs, numbers), evaluate_size(atom.rhs, numbers)
        if atom.kind == "*":
            total += coefficient * a * b
        elif b:
            total += coefficient * (a // b if atom.kind == "floordiv" else a % b)
    return total


def symbols(value: SizeValue) -> set[Symbol]:
    """Return the symbols that occur in `value`."""
    found: set[Symbol] = set()
    waiting = [value]
    while waiting:
        for clause in _clauses(waiting.pop()):
            for atom, _ in (term for s in clause for term in s.terms):
                if isinstance(atom, Symbol):
                    found.add(atom)
                else:
                    waiting += [atom.lhs, atom.rhs]
    return found


def _key(value: SizeValue) -> tuple[object, ...]:
    return (0, value) if isinstance(value, int) else value.key


def _clauses(value: SizeValue) -> Iterable[tuple[Sum, ...]]:
    return ((Sum((), value),),) if isinstance(value, int) else value.clauses


def _as_sum(value: SizeValue) -> Sum:
    """Return a value as a single sum."""
    ((only,),) = _clauses(value)
    return only


def _least(value: SizeValue) -> int | None:
    bounds = [[s.least() for s in clause] for clause in _clauses(value)]
    known = [min(b for b in clause if b is not None) for clause in bounds if None not in clause]
    return max(known) if known else None


@lru_cache(maxsize=1 << 14)
def _sum_le(a: Sum, b: Sum) -> bool:
    difference = b.plus(a, -1).least()
    return difference is not None and difference >= 0


def _clause_le(a: Iterable[Sum], b: Iterable[Sum]) -> bool:
    return all(any(_sum_le(s, t) for s in a) for t in b)


def _num(clauses: Iterable[Iterable[Sum]]) -> SizeValue:
    """Return the number in normal form: sorted, without clauses that others imply."""
    shortened = {tuple(_reduced(set(clause), _sum_le, lambda s: s.key)) for clause in clauses}
    kept = _reduced(shortened, lambda a, b: _clause_le(b, a), lambda clause: tuple(s.key for s in clause))
    if len(kept) == 1 and len(kept[0]) == 1 and not kept[0][0].terms:
        return kept[0][0].constant
    return SizeExpr(tuple(kept))


def _reduced(items: Iterable[_T], covers: Callable[[_T, _T], bool], key: Callable[[_T], object]) -> list[_T]:
    """Remove items that others imply, and sort by key."""
    kept: list[_T] = []
    for item in sorted(items, key=key):  # type: ignore[arg-type]
        if any(covers(other, item) for other in kept):
            continue
        kept = [other for other in kept if not covers(item, other)]
        kept.append(item)
    return kept
