"""Index analysis of accesses in a row loop: their stride in the loop variable, and their mutual distances."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects import arith, memref
from xdsl.ir import Block, Operation, SSAValue

from tilefuse.dialects.constants import integer_constant


def step(value: SSAValue, x: SSAValue, known: dict[SSAValue, int | None] | None = None) -> int | None:
    """Return the step of an index along `x`; None if it is no sum. `known` caches the steps of shared values."""
    known = {} if known is None else known
    if value not in known:
        known[value] = _step_of(value, x, known)
    return known[value]


def _step_of(value: SSAValue, x: SSAValue, known: dict[SSAValue, int | None]) -> int | None:
    if value is x:
        return 1
    op = value.owner
    if isinstance(op, Block) or op.parent is not x.owner:
        return 0
    if isinstance(op, memref.LoadOp):
        return None
    steps = [step(operand, x, known) for operand in op.operands]
    if all(s == 0 for s in steps):
        return 0
    if isinstance(op, arith.AddiOp | arith.SubiOp) and None not in steps:
        a, b = steps
        assert a is not None
        assert b is not None
        return a + b if isinstance(op, arith.AddiOp) else a - b
    return None


def terms_and_offset(value: SSAValue, body: Block) -> tuple[frozenset[tuple[SSAValue, int]], int]:
    """Split an index into terms added in `body`, each with its multiplicity, and a constant."""
    terms, number = counted_terms(value, body)
    return frozenset(terms.items()), number


def counted_terms(value: SSAValue, body: Block) -> tuple[dict[SSAValue, int], int]:
    """Split an index as `terms_and_offset` does, with the terms in program order."""
    terms, number = {value: 1}, 0
    for op in reversed(list(body.ops)):
        # all that uses a value comes after it, and has been counted
        if isinstance(op, arith.AddiOp | arith.SubiOp) and (count := terms.pop(op.result, 0)):
            for operand, sign in ((op.lhs, 1), (op.rhs, 1 if isinstance(op, arith.AddiOp) else -1)):
                terms[operand] = terms.get(operand, 0) + sign * count
    for term in list(terms):
        if (known := integer_constant(term)) is not None:
            number += terms.pop(term) * known
    return {term: count for term, count in terms.items() if count}, number


_CountedTerms = tuple[frozenset[tuple[int, int]], int]
"""Terms, each with its count, and a number."""


class SameIndices:
    """Numbering of indices by value: sums are equal in any order of terms, with their constants added up."""

    def __init__(self) -> None:
        self.of: dict[SSAValue, int] = {}
        self.numbers: dict[Hashable, int] = {}
        """Number of each sum, and of each term; terms are numbered separately."""
        self.sums: list[_CountedTerms] = []

    def number(self, value: SSAValue) -> int:
        """Return the number of an index."""
        waiting = [value]
        while waiting:
            # a stack of its own: indices of long expressions are deeper than Python's
            op = waiting[-1].owner
            operands = [] if isinstance(op, Block) or not op.name.startswith("arith.") else op.operands
            if missing := [operand for operand in operands if operand not in self.of]:
                waiting += missing
            else:
                last = waiting.pop()
                if last not in self.of:
                    self.of[last] = self._number_of(self._sum(last))
        return self.of[value]

    def _number_of(self, sum: _CountedTerms) -> int:
        if sum not in self.numbers:
            self.numbers[sum] = len(self.sums)
            self.sums.append(sum)
        return self.numbers[sum]

    def _sum(self, value: SSAValue) -> _CountedTerms:
        op = value.owner
        if (known := integer_constant(value)) is not None:
            return frozenset(), known
        if not isinstance(op, arith.AddiOp | arith.SubiOp):
            return frozenset({(self._term(value), 1)}), 0
        counts: dict[int, int] = {}
        number = 0
        for operand, sign in ((op.lhs, 1), (op.rhs, 1 if isinstance(op, arith.AddiOp) else -1)):
            terms, more = self.sums[self.of[operand]]
            number += sign * more
            for term, count in terms:
                counts[term] = counts.get(term, 0) + sign * count
        return frozenset((term, count) for term, count in counts.items() if count), number

    def _term(self, value: SSAValue) -> int:
        """Return the number of a term that is no sum: of an operation on numbered operands, or of the value alone."""
        op = value.owner
        made: Hashable = value
        if isinstance(op, Operation) and op.name.startswith("arith."):
            attributes = tuple((name, str(attribute)) for name, attribute in (op.attributes | op.properties).items())
            made = (op.name, str(value.type), attributes, tuple(self.of[operand] for operand in op.operands))
        return self.numbers.setdefault(made, len(self.numbers))
