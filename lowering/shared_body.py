"""The body of an update, or of a stage beside it, at many points: shared values are emitted once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from tilefuse.dialects.img.ops import Definition, ReadOp, UpdateOp, WriteOp, YieldOp
from tilefuse.lowering.emit import Num
from tilefuse.lowering.reads import read_global
from tilefuse.lowering.update_body import UpdateFunction

Own = Callable[[ReadOp], SSAValue | None]
"""Values of an update's functions themselves, where they are known."""


class SharedBody:
    """Values of a body at the points of a straight piece of code.

    Reads at one place, and operations on the same values, are one: so an operand that does not depend on a coordinate
    is loaded once for all points along it, and rows of a window are once for all points that it slides over.
    """

    def __init__(self, function: UpdateFunction, of: Definition | None = None):
        self.function, self.e = function, function.e
        self.of: Definition = function.op if of is None else of
        """Whose body it is: the update's, if nothing else is said."""
        self._own = self.of.currents if isinstance(self.of, UpdateOp) else function.op.funcs
        self._made: dict[Hashable, tuple[SSAValue, ...]] = {}
        self._sums: dict[Hashable, tuple[Num, int]] = {}

    def at(self, where: Mapping[SSAValue, Num], own: Own | None = None) -> tuple[list[SSAValue], SSAValue | None]:
        """Return the terms at coordinates, one per function, and their condition (None: always).

        `own` gives what the update reads of itself.
        """
        write = self.function.op.write_op
        *terms, counts = self._known([*write.values, write.predicate], where, own)
        return [t for t in terms if t is not None], counts

    def results(self, where: Mapping[SSAValue, Num], own: Own | None = None) -> list[SSAValue]:
        """Return the values of a stage at coordinates. `own` gives the values that it reads of the update."""
        last = self.of.body.block.last_op
        assert isinstance(last, YieldOp)
        return [v for v in self._known(last.values, where, own) if v is not None]

    def value_at(
        self,
        value: SSAValue,
        where: Mapping[SSAValue, Num],
        own: Own | None = None,
        given: Mapping[SSAValue, SSAValue] | None = None,
    ) -> SSAValue:
        """Return a value of the body at coordinates; of the updated functions it reads only the values of `own`.

        `given`: values of the body that are known there.
        """
        (found,) = self._known([value], where, own, given)
        assert found is not None
        return found

    def _known(
        self,
        wanted: Sequence[SSAValue | None],
        where: Mapping[SSAValue, Num],
        own: Own | None,
        given: Mapping[SSAValue, SSAValue] | None = None,
    ) -> list[SSAValue | None]:
        """Return values of the body at coordinates whose inputs `own` gives; None stays None."""
        values = self._values(where, own, given)
        found = [None if v is None else self._value(v, values, where) for v in wanted]
        assert all(v is None or f is not None for v, f in zip(wanted, found, strict=True))
        return found

    def prepare(self, where: Mapping[SSAValue, Num], own: Own) -> None:
        """Emit all values at coordinates that do not depend on values missing from `own`."""
        self._values(where, own)

    def _values(
        self,
        where: Mapping[SSAValue, Num],
        own: Own | None,
        given: Mapping[SSAValue, SSAValue] | None = None,
    ) -> dict[SSAValue, SSAValue | None]:
        """Return the body's values at coordinates; None for values that depend on more than `own` gives."""
        values: dict[SSAValue, SSAValue | None] = dict(given or {})
        for op in self.of.body.block.ops:
            if isinstance(op, WriteOp | YieldOp):
                return values
            if given and all(result in given for result in op.results):
                continue
            if isinstance(op, ReadOp) and op.source in self._own:
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
        raise AssertionError("an update writes, a stage yields")

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
        """Return a scalar from between the stages."""
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
        """Return one value for all sums of the same terms."""
        if isinstance(n, int):
            return n
        terms, constant = self.e.terms(n)
        key = frozenset(terms.items())
        base, at = self._sums.setdefault(key, (n, constant))
        return self.e.add(base, constant - at)
