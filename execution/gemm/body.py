"""The body of an update at many points: what several points have in common is emitted once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from tilefuse.dialects.img.ops import ReadOp, UpdateOp, WriteOp
from tilefuse.lowering.emit import Num
from tilefuse.lowering.reads import read_global
from tilefuse.lowering.update_body import UpdateFunction


class SharedBody:
    """Values of the body at the points of a straight piece of code.

    Reads at one place, and operations on the same values, are one: so an operand that does not depend on a coordinate
    is loaded once for all points along it, and rows of a window are once for all points that it slides over.
    """

    def __init__(self, function: UpdateFunction):
        self.function, self.e = function, function.e
        self.op: UpdateOp = function.op
        self._made: dict[Hashable, tuple[SSAValue, ...]] = {}
        self._sums: dict[Hashable, tuple[Num, int]] = {}

    def at(self, where: Mapping[SSAValue, Num]) -> tuple[list[SSAValue], SSAValue | None]:
        """The terms at coordinates, one per function, and whether they count (None: they do)."""
        values: dict[SSAValue, SSAValue] = {}

        def value(v: SSAValue) -> SSAValue:
            if v in values:
                return values[v]
            return self.e.value(where[v]) if v in where else self._scalar(v)

        def number(v: SSAValue) -> Num:
            return where[v] if v in where else value(v)

        for op in self.op.body.block.ops:
            if isinstance(op, WriteOp):
                return [value(v) for v in op.values], None if op.predicate is None else value(op.predicate)
            if isinstance(op, ReadOp):
                operands = [number(v) for v in op.indices]
                indices = [self._one(self.e.affine(x, operands)) for x in op.map.data.results]
                key: Hashable = (op.source, *indices)
                if key not in self._made:
                    self._made[key] = (read_global(self.e, self.function.tile, op.source, indices, None, needed=True),)
                values[op.value] = self._made[key][0]
                continue
            inputs = [value(v) for v in op.operands]
            results = self._made.get((op, *inputs))
            if results is None:
                results = self._made[(op, *inputs)] = self._copy(op, inputs)
            values |= dict(zip(op.results, results, strict=True))
        raise AssertionError("an update writes")

    def _scalar(self, value: SSAValue) -> SSAValue:
        """A value that stands between the stages."""
        if value in self.function.tile.scalars:
            return self.function.tile.scalars[value]
        assert isinstance(value.owner, arith.ConstantOp)
        if value not in self._made:
            self._made[value] = (self.e.op(value.owner.clone()),)
        return self._made[value][0]

    def _copy(self, op: Operation, inputs: list[SSAValue]) -> tuple[SSAValue, ...]:
        copy = op.clone(dict(zip(op.operands, inputs, strict=True)))
        self.e.effect(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            new.name_hint = old.name_hint
        return tuple(copy.results)

    def _one(self, n: Num) -> Num:
        """The one value of all sums of the same terms."""
        if isinstance(n, int):
            return n
        terms, constant = self.e.terms(n)
        key = frozenset(terms.items())
        base, at = self._sums.setdefault(key, (n, constant))
        return self.e.add(base, constant - at)
