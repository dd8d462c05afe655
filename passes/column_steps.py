"""Indices of accesses in a row's loop: by how much they grow with its variable, and by how much they differ."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from xdsl.dialects import arith, memref
from xdsl.ir import Block, SSAValue

from tilefuse.dialects.constants import integer_constant


def step(value: SSAValue, x: SSAValue, known: dict[SSAValue, int | None] | None = None) -> int | None:
    """Step of an index along `x`; None if it is no sum. `known`: steps of values that it shares."""
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
    """Split an index into terms added up in `body`, each with its count, and a number."""
    terms, number = counted_terms(value, body)
    return frozenset(terms.items()), number


def counted_terms(value: SSAValue, body: Block) -> tuple[dict[SSAValue, int], int]:
    """As `terms_and_offset`; the terms have an order, which is that of the operations."""
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


class SameIndices:
    """Keys of indices, alike for values that are computed alike: sums in any order, and numbers added up."""

    def __init__(self) -> None:
        self.keys: dict[SSAValue, Hashable] = {}

    def key(self, value: SSAValue) -> Hashable:
        """The key of a value; itself if its operation does more than compute."""
        if value not in self.keys:
            self.keys[value] = self._key_of(value)
        return self.keys[value]

    def _key_of(self, value: SSAValue) -> Hashable:
        op = value.owner
        if isinstance(op, Block) or not op.name.startswith("arith."):
            return value
        if (known := integer_constant(value)) is not None:
            return known
        if not isinstance(op, arith.AddiOp | arith.SubiOp):
            same = tuple((name, str(attribute)) for name, attribute in (op.attributes | op.properties).items())
            return (op.name, str(value.type), same, tuple(map(self.key, op.operands)))
        counts: dict[Hashable, int] = {}
        number = 0
        for operand, sign in ((op.lhs, 1), (op.rhs, 1 if isinstance(op, arith.AddiOp) else -1)):
            terms, more = self._sum(self.key(operand))
            number += sign * more
            for term, count in terms:
                counts[term] = counts.get(term, 0) + sign * count
        counted = ((term, count) for term, count in counts.items() if count)
        return ("sum", frozenset(counted), number)

    @staticmethod
    def _sum(key: Hashable) -> tuple[Iterable[tuple[Hashable, int]], int]:
        """The terms and the number of a key."""
        if isinstance(key, int):
            return (), key
        if isinstance(key, tuple) and key[0] == "sum":
            return key[1], key[2]
        return ((key, 1),), 0
