"""Recognition of updates that combine tuples by an associative rule, such as products of complex numbers.

    f[x] = Tuple(f[x][0] * a - f[x][1] * b, f[x][0] * b + f[x][1] * a)

What it gives is a tuple of sums, differences, products and quotients of what stands there and of as many terms. Such a
rule is a tuple of rational functions, and two of these are equal if they agree at random points of a large prime field:
so whether the rule is associative and commutative is tested there, for any rule, not looked up in a table of some.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from math import isfinite
from random import Random
from typing import Generic, TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.dependence import depending
from tilefuse.dialects.img.ops import SET, ReadOp, UpdateOp, WriteOp

PRIME = (1 << 61) - 1
T = TypeVar("T")

RANDOM_POINTS = 4
"""Random points: one tells two rules apart but in one of 2^50 cases."""
MOST_FUNCTIONS = 4
"""Functions of a tuple; of more, there are too many ways to tell which term is whose."""

_RINGS = {
    arith.AddfOp: lambda a, b: a + b, arith.AddiOp: lambda a, b: a + b,
    arith.SubfOp: lambda a, b: a - b, arith.SubiOp: lambda a, b: a - b,
    arith.MulfOp: lambda a, b: a * b, arith.MuliOp: lambda a, b: a * b,
    arith.NegfOp: lambda a: -a, arith.DivfOp: lambda a, b: a * pow(b, -1, PRIME),
}  # fmt: skip
"""Operations in the field. Integers wrap: what holds of polynomials holds of them."""


@dataclass(frozen=True)
class JoinedTuple:
    """The functions that an update combines together, and the rule."""

    functions: tuple[int, ...]
    """Their numbers in the update."""
    terms: tuple[SSAValue, ...]
    """The term that takes the place of each of the functions in the rule."""
    reads: tuple[SSAValue | None, ...]
    """The value of each function, as the body reads it; None if it does not."""
    skipped: frozenset[Operation]
    """Ops that see what stands there: the rule."""

    @property
    def divides(self) -> bool:
        """Whether the rule contains divisions."""
        return any(isinstance(op, arith.DivfOp) for op in self.skipped)

    @property
    def products(self) -> int:
        """Largest number of products that a function sums."""
        return max(1, sum(isinstance(op, arith.MulfOp | arith.MuliOp) for op in self.skipped))


def joined_tuple(update: UpdateOp) -> JoinedTuple | None:
    """Find the functions that an update combines by an associative and commutative rule; None if there is none."""
    seen = depending(update.body.block.ops, update.currents)
    ops = [op for op in update.body.block.ops if not isinstance(op, WriteOp) and not seen.isdisjoint(op.operands)]
    write = update.write_op
    functions = tuple(n for n, c in enumerate(update.currents) if c.uses or update.combiners[n] == SET)
    others = [v for n, v in enumerate(write.values) if n not in functions]
    elsewhere = (*others, *write.indices, *((write.predicate,) if write.predicate is not None else ()))
    if not 1 < len(functions) <= MOST_FUNCTIONS or any(v in seen for v in elsewhere):
        return None
    reads, rule = [op for op in ops if isinstance(op, ReadOp)], [op for op in ops if not isinstance(op, ReadOp)]
    if any(not write.is_at(r) for r in reads) or any(type(op) not in _RINGS for op in rule):
        return None
    if len({update.old_funcs[n].type.element for n in functions}) > 1:  # type: ignore[attr-defined]
        return None
    if any(update.combiners[n] not in (SET, "add", "mul") for n in functions):
        return None
    operands = [*(v for op in rule for v in op.operands), *(write.values[n] for n in functions)]
    terms = dict.fromkeys(v for v in operands if v not in seen and not isinstance(v.owner, arith.ConstantOp))
    if len(terms) != len(functions):
        return None
    found = JoinedTuple(functions, (), tuple(_read_of(update, n, reads) for n in functions), frozenset(ops))
    tuples = (replace(found, terms=order) for order in permutations(terms))
    return next((t for t in tuples if _is_associative(update, t)), None)


def _read_of(update: UpdateOp, number: int, reads: Sequence[ReadOp]) -> SSAValue | None:
    """Return the value that the body reads from a function."""
    found = [r.value for r in reads if r.source is update.currents[number]]
    return found[0] if len(found) == 1 else None


class Numbers(ABC, Generic[T]):
    """A domain of numbers in which a rule can be computed."""

    @abstractmethod
    def constant(self, op: arith.ConstantOp) -> T:
        """Return the value of a constant."""

    @abstractmethod
    def compute(self, op: Operation, operands: Sequence[T]) -> T:
        """Compute the result of an operation of the rule."""

    @abstractmethod
    def combine(self, number: int, way: str, old: T, new: T) -> T:
        """Combine two values of function `number` by its combiner."""


def applied(update: UpdateOp, rule: JoinedTuple, old: Sequence[T], terms: Sequence[T], numbers: Numbers[T]) -> list[T]:
    """Combine old values and terms by the rule."""
    values: dict[SSAValue, T] = dict(zip(rule.terms, terms, strict=True))
    values |= {read: value for read, value in zip(rule.reads, old, strict=True) if read is not None}

    def value(of: SSAValue) -> T:
        if of not in values:
            assert isinstance(of.owner, arith.ConstantOp)
            values[of] = numbers.constant(of.owner)
        return values[of]

    for op in update.body.block.ops:
        if op in rule.skipped and not isinstance(op, ReadOp):
            values[op.results[0]] = numbers.compute(op, [value(v) for v in op.operands])
    written = [value(update.write_op.values[n]) for n in rule.functions]
    return [
        new if (way := update.combiners[n]) == SET else numbers.combine(n, way, before, new)
        for n, before, new in zip(rule.functions, old, written, strict=True)
    ]


class _Field(Numbers[int]):
    """The field of integers modulo a prime. Raises ValueError for operations that it lacks."""

    def constant(self, op: arith.ConstantOp) -> int:
        if isinstance(op.value, IntegerAttr):
            return int(op.value.value.data) % PRIME
        assert isinstance(op.value, FloatAttr)
        number = op.value.value.data
        if not isfinite(number):
            raise ValueError("no number")
        exact = Fraction(number)
        return exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME

    def compute(self, op: Operation, operands: Sequence[int]) -> int:
        result: int = _RINGS[type(op)](*operands)  # type: ignore[operator]
        return result % PRIME

    def combine(self, number: int, way: str, old: int, new: int) -> int:
        return (old + new if way == "add" else old * new) % PRIME


def _is_associative(update: UpdateOp, rule: JoinedTuple) -> bool:
    """Whether the rule allows any order and grouping of points, tested on random numbers of a field."""
    draw, field = Random(1), _Field()

    def join(a: Sequence[int], b: Sequence[int]) -> list[int]:
        return applied(update, rule, a, b, field)

    for _ in range(RANDOM_POINTS):
        a, b, c = ([draw.randrange(1, PRIME) for _ in rule.functions] for _ in range(3))
        try:
            if join(a, b) != join(b, a) or join(join(a, b), c) != join(a, join(b, c)):
                return False
        except ValueError:
            return False
    return True
