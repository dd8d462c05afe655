"""Coordinates from which functions repeat their values, as numbers at a nominal size and as scalars in the IR.

A coordinate is a root and a constant, `%first - 3`. Results are kept in a normal form, in which the minimum and maximum
of `%first - 3` and `%first - 5` are one of these. Otherwise the coordinates of a chain of a hundred stencils would take
tens of thousands of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue


class Emission:
    """Insert scalars before an operation, each once."""

    def __init__(self, before: Operation):
        self._before = before
        self._written: dict[End, SSAValue] = {}
        self._constants: dict[int, SSAValue] = {}

    def add(self, op: Operation) -> SSAValue:
        """Insert an operation; return its value."""
        block = self._before.parent_block()
        assert block is not None
        op.location = self._before.location
        block.insert_op_before(op, self._before)
        return op.results[0]

    def plus(self, value: SSAValue, constant: int) -> SSAValue:
        """Return `value + constant`."""
        return self.add(arith.AddiOp(value, self._constant(constant))) if constant else value

    def quotient(self, value: SSAValue, times: int, plus: int, by: int) -> SSAValue:
        """Return `floor((times * value + plus) / by)`."""
        if times != 1:
            value = self.add(arith.MuliOp(value, self._constant(times)))
        value = self.plus(value, plus)
        return value if by == 1 else self.add(arith.FloorDivSIOp(value, self._constant(by)))

    def end(self, end: End) -> SSAValue:
        """Return the value of a coordinate."""
        if end not in self._written:
            value = self.plus(self.end(End(end.root)), end.plus) if end.plus else end.root.emit(self)
            self._written[end] = value
        return self._written[end]

    def _constant(self, value: int) -> SSAValue:
        if value not in self._constants:
            self._constants[value] = self.add(arith.ConstantOp(IntegerAttr(value, IndexType())))
        return self._constants[value]


@dataclass(frozen=True, eq=False)
class Root:
    """A coordinate to which others have a constant distance; `EndArithmetic` makes each once."""

    number: int
    """Coordinate at the nominal size."""
    emit: Callable[[Emission], SSAValue]
    serial: int
    least: bool = False
    """Whether the root is the least of `terms`; else the greatest."""
    terms: tuple[End, ...] = ()
    """Coordinates of which the root is the least or the greatest, if it is one."""


@dataclass(frozen=True)
class End:
    """A coordinate from which on a function repeats its value."""

    root: Root
    plus: int = 0

    @property
    def number(self) -> int:
        """The coordinate at the nominal size."""
        return self.root.number + self.plus

    def moved(self, plus: int) -> End:
        """Return the coordinate plus `plus`."""
        return End(self.root, self.plus + plus)


@dataclass
class EndArithmetic:
    """Arithmetic on the coordinates of a pipeline; equal ones share a root."""

    _roots: dict[Hashable, Root] = field(default_factory=dict)

    def scalar(self, key: Hashable, number: int, emit: Callable[[Emission], SSAValue]) -> End:
        """Return the coordinate that an operation computes; `key` identifies it."""
        return End(self._root(("scalar", key), number, emit))

    def sum(self, a: End, b: End) -> End:
        """Return `a + b`."""
        a_root, b_root = End(a.root), End(b.root)
        root = self._root(
            ("sum", a.root, b.root),
            a_root.number + b_root.number,
            lambda e: e.add(arith.AddiOp(e.end(a_root), e.end(b_root))),
        )
        return End(root, a.plus + b.plus)

    def affine(self, end: End, times: int, plus: int, by: int) -> End:
        """Return `floor((times * end + plus) / by)` for `times` and `by` of at least 1."""
        if times == by == 1:
            return end.moved(plus)
        if end.root.terms:  # it grows with the coordinate
            terms = [self.affine(term.moved(end.plus), times, plus, by) for term in end.root.terms]
            return self.extreme(terms, least=end.root.least)
        quotient, rest = divmod(times * end.plus + plus, by)
        of = End(end.root)
        root = self._root(
            ("affine", end.root, times, rest, by),
            (times * of.number + rest) // by,
            lambda e: e.quotient(e.end(of), times, rest, by),
        )
        return End(root, quotient)

    def extreme(self, ends: Sequence[End], *, least: bool) -> End:
        """Return the minimum or the maximum of some coordinates."""
        pick = min if least else max
        found: dict[Root, int] = {}
        for end in ends:
            same = end.root.terms and end.root.least == least
            for term in [t.moved(end.plus) for t in end.root.terms] if same else [end]:
                found[term.root] = pick(found.get(term.root, term.plus), term.plus)
        first, *others = sorted((End(root, plus) for root, plus in found.items()), key=lambda e: e.root.serial)
        if not others:
            return first
        terms = tuple(end.moved(-first.plus) for end in (first, *others))
        op = arith.MinSIOp if least else arith.MaxSIOp

        def emit(e: Emission) -> SSAValue:
            value, *rest = (e.end(term) for term in terms)
            for other in rest:
                value = e.add(op(value, other))
            return value

        root = self._root(("extreme", least, terms), pick(t.number for t in terms), emit, least=least, terms=terms)
        return End(root, first.plus)

    def _root(
        self,
        key: Hashable,
        number: int,
        emit: Callable[[Emission], SSAValue],
        *,
        least: bool = False,
        terms: tuple[End, ...] = (),
    ) -> Root:
        if key not in self._roots:
            self._roots[key] = Root(number, emit, len(self._roots), least, terms)
        return self._roots[key]
