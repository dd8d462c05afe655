"""Values of one step of a block of vectors, and arrays of precomputed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.dialects.img.ops import ReadOp, WriteOp
from tilefuse.execution.gemm.attribute import GemmSchedule
from tilefuse.execution.gemm.function import GemmFunction
from tilefuse.execution.gemm.vector_values import VectorValues
from tilefuse.execution.inside import FreeReads
from tilefuse.lowering.emit import Num
from tilefuse.lowering.reads import all_of, locate, read_global


class Points(Protocol):
    """The block of points of a step."""

    gemm: GemmFunction
    schedule: GemmSchedule
    values: VectorValues
    lanes: int

    def at(self, start: Num, row: Num, i: Num) -> list[Num]:
        """Return the coordinates of a point of the block that begins in row `start`."""

    def load(self, source: SSAValue, indices: Sequence[Num], lanes: int | None = None) -> SSAValue:
        """Load a vector from an array."""


@dataclass(frozen=True)
class Copies:
    """Arrays of packed values, with the array row of each point of the domain."""

    arrays: Mapping[SSAValue, SSAValue]
    """Arrays with a row of vectors for each step."""
    of_rows: Mapping[SSAValue, SSAValue]
    """Arrays with all steps contiguous, for each row of a block."""
    of_steps: Mapping[SSAValue, SSAValue]
    """Arrays with all steps contiguous, for all rows."""
    row: Callable[[Mapping[SSAValue, Num]], Num]
    """The number of a step among those that are copied at once."""


NO_COPIES = Copies({}, {}, {}, lambda domain: 0)
NO_READS: FreeReads = {}


class Step:
    """Values of one step: operations that rows, or vectors of a row, share are emitted once."""

    def __init__(
        self,
        blocks: Points,
        start: Num,
        domain: dict[SSAValue, Num],
        copies: Copies,
        along: frozenset[SSAValue] = frozenset(),
        free: FreeReads = NO_READS,
    ):
        self.blocks, self.e, self.domain, self.copies, self.start = blocks, blocks.gemm.e, domain, copies, start
        self.along = along or blocks.values.along_x
        """Values that differ from lane to lane."""
        self.lanes = blocks.schedule.lanes if along else blocks.lanes
        self.free = free
        self._made: dict[tuple[object, ...], SSAValue] = {}
        self._sums: dict[object, tuple[Num, int]] = {}

    def know(self, value: SSAValue, vector: SSAValue) -> None:
        """Record a vector for a value that all rows share."""
        self._made[value, 0, 0] = vector

    def vector(self, value: SSAValue, row: Num, column: int) -> SSAValue:
        """Return a value as a vector of the points from a column."""
        found = self._value(value, row, column)
        if value in self.along:
            return found
        return self._once(("splat", found), lambda: self._splat(found))

    def _splat(self, value: SSAValue) -> SSAValue:
        return self.e.op(vector.BroadcastOp(value, self._type(value)))

    def _type(self, value: SSAValue) -> VectorType:
        return VectorType(value.type, [self.lanes])

    def _once(self, key: tuple[object, ...], make: Callable[[], SSAValue]) -> SSAValue:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _where(self, row: Num, column: int) -> dict[SSAValue, Num]:
        blocks = self.blocks
        return blocks.gemm.coordinates(blocks.at(self.start, row, column)) | self.domain

    def _value(self, value: SSAValue, row: Num, column: int) -> SSAValue:
        values = self.blocks.values
        column = column if value in self.along else 0
        row = row if value in values.by_row else 0
        if (copy := self.copies.arrays.get(value)) is not None:
            at = [self.copies.row(self.domain), column]
            return self._once(("copy", value, column), lambda: self.blocks.load(copy, at))
        if (side := self.copies.of_rows.get(value)) is not None:
            place = [row, self.copies.row(self.domain)]
            return self._once(("side", value, row), lambda: self.e.load(side, place))
        where = self._where(row, column)
        if value in where:
            return self.e.value(where[value])
        op = value.owner
        if not isinstance(op, Operation) or op.parent_op() is not self.blocks.gemm.op:
            return self._of_call(value)
        return self._once((value, row, column), lambda: self._emit(op, value, row, column))

    def _of_call(self, value: SSAValue) -> SSAValue:
        """Return a scalar from between the stages."""
        scalars = self.blocks.gemm.tile.scalars
        if value in scalars:
            return scalars[value]
        assert isinstance(value.owner, Operation)
        constant = value.owner
        return self._once((value,), lambda: self.e.op(constant.clone()))

    def _emit(self, op: Operation, value: SSAValue, row: Num, column: int) -> SSAValue:
        assert not isinstance(op, WriteOp)
        if isinstance(op, ReadOp):
            return self._read(op, row, column)
        if value not in self.along:
            copy = op.clone({v: self._value(v, row, column) for v in op.operands})
            self.e.effect(copy)
            return next(new for old, new in zip(op.results, copy.results, strict=True) if old is value)
        alone = [op.cond] if isinstance(op, arith.SelectOp) else []
        """A condition, which is that of all lanes."""
        operands = [self._value(v, row, column) if v in alone else self.vector(v, row, column) for v in op.operands]
        made = type(op).create(
            operands=operands, result_types=[self._type(value)], attributes=op.attributes, properties=op.properties
        )
        return self.e.op(made)

    def _read(self, op: ReadOp, row: Num, column: int) -> SSAValue:
        where = self._where(row, column)
        operands = [where[v] if v in where else self._value(v, row, column) for v in op.indices]
        indices = [self._one(self.e.affine(x, operands)) for x in op.map.data.results]
        return self._once(("read", op.source, op.value in self.along, *indices), lambda: self._load(op, indices))

    def _one(self, n: Num) -> Num:
        """Return one value for all sums of equal terms: rows of a window read common places."""
        terms, constant = self.e.terms(n)
        base, at = self._sums.setdefault(frozenset(terms.items()), (n, constant))
        return self.e.add(base, constant - at)

    def _load(self, op: ReadOp, indices: Sequence[Num]) -> SSAValue:
        tile, free = self.blocks.gemm.tile, self.free.get(op, ())
        if op.value not in self.along:
            return read_global(self.e, tile, op.source, indices, None, free, needed=True)
        at = locate(self.e, tile, op.source, indices, None, free, needed=True)
        found = self.blocks.load(tile.buffers[behind_boundaries(op.source)[0]].memref, at.index, self.lanes)
        for conditions, other in reversed(at.inside):
            # the same for all lanes, as no boundary moves x
            inside = all_of(self.e, conditions.values())
            assert inside is not None
            beside = self._once(("splat", other), partial(self._splat, other))
            found = self.e.select(inside, found, beside)
        return found
