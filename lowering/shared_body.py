"""The body of an update at many points: what several points have in common is emitted once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from tilefuse.dialects.img.ops import ReadOp, UpdateOp, WriteOp
from tilefuse.lowering.emit import Num
from tilefuse.lowering.reads import read_global
from tilefuse.lowering.update_body import UpdateFunction

Own = Callable[[ReadOp], SSAValue | None]
"""Values of an update's functions themselves, where they are known."""


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

    def at(self, where: Mapping[SSAValue, Num], own: Own | None = None) -> tuple[list[SSAValue], SSAValue | None]:
        """The terms at coordinates, one per function, and whether they count (None: they do).

        `own` gives what the update reads of itself.
        """
        values = self._values(where, own)
        write = self.op.write_op

        def value(v: SSAValue) -> SSAValue:
            found = self._value(v, values, where)
            assert found is not None
            return found

        return [value(v) for v in write.values], None if write.predicate is None else value(write.predicate)

    def value_at(self, value: SSAValue, where: Mapping[SSAValue, Num]) -> SSAValue:
        """A value of the body at coordinates, which reads nothing of what the update writes."""
        found = self._value(value, self._values(where, None), where)
        assert found is not None
        return found

    def prepare(self, where: Mapping[SSAValue, Num], own: Own) -> None:
        """Emit all at coordinates that does not depend on what `own` does not give yet."""
        self._values(where, own)

    def _values(self, where: Mapping[SSAValue, Num], own: Own | None) -> dict[SSAValue, SSAValue | None]:
        """The body's values at coordinates; None for those that depend on what `own` does not give."""
        values: dict[SSAValue, SSAValue | None] = {}
        for op in self.op.body.block.ops:
            if isinstance(op, WriteOp):
                return values
            if isinstance(op, ReadOp) and op.source in self.op.currents:
                values[op.value] = None if own is None else own(op)
                continue
            if isinstance(op, ReadOp):
                values[op.value] = self._read(op, values, where)
                continue
            inputs = [self._value(v, values, where) for v in op.operands]
            present = [v for v in inputs if v is not None]
            if len(present) < len(inputs):
                values |= dict.fromkeys(op.results)
                continue
            results = self._made.get((op, *present))
            if results is None:
                results = self._made[(op, *present)] = self._copy(op, present)
            values |= dict(zip(op.results, results, strict=True))
        raise AssertionError("an update writes")

    def _value(
        self, v: SSAValue, values: Mapping[SSAValue, SSAValue | None], where: Mapping[SSAValue, Num]
    ) -> SSAValue | None:
        if v in values:
            return values[v]
        return self.e.value(where[v]) if v in where else self._scalar(v)

    def _read(
        self, op: ReadOp, values: Mapping[SSAValue, SSAValue | None], where: Mapping[SSAValue, Num]
    ) -> SSAValue | None:
        operands: list[Num] = []
        for v in op.indices:
            n = where[v] if v in where else self._value(v, values, where)
            if n is None:
                return None
            operands.append(n)
        indices = [self._one(self.e.affine(x, operands)) for x in op.map.data.results]
        key: Hashable = (op.source, *indices)
        if key not in self._made:
            self._made[key] = (read_global(self.e, self.function.tile, op.source, indices, None, needed=True),)
        return self._made[key][0]

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
