"""Blocks of vectors of a reduction on a CPU: sums in registers, operands that rows share loaded once.

block of the picture, of `points` along x and `repeat` times `points` rows:
  its sums, in an array, take what stands in memory
  for the outer dimensions of the domain, and so many steps of the innermost one:
    the operands that all rows have in common are copied side by side; for all steps of the innermost dimensions
    together where these are few
    each block of `points` takes its sums into registers, goes over the steps in order, and puts them back
  the sums go back to memory

Where nothing is copied, a block of `points` goes over all of the domain before the next one. Either way a point goes
over the domain in order, so that its result is that of the definition to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import product

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import GroupOp, ReadOp, WriteOp
from tilefuse.dialects.img.ops.update import DomainAxis
from tilefuse.dialects.img.types import FuncType, element_bytes, storage_type
from tilefuse.execution.gemm.attribute import GemmSchedule
from tilefuse.execution.gemm.function import GemmFunction
from tilefuse.execution.gemm.vector_values import VectorValues, vector_values
from tilefuse.lowering.emit import PRIVATE, SHARED, Num
from tilefuse.lowering.reads import all_of, locate, read_global
from tilefuse.lowering.shared_body import SharedBody
from tilefuse.lowering.symbols import word


@dataclass(frozen=True)
class _Copies:
    """The arrays of the values that are copied, and which row of them a point of the domain has."""

    arrays: Mapping[SSAValue, SSAValue]
    row: Callable[[Mapping[SSAValue, Num]], Num]


NO_COPIES = _Copies({}, lambda domain: 0)


LEAST_LANES = 4
"""Of the vectors that functions with few points along x get."""


def emit_register_blocks(gemm: GemmFunction, otherwise: Callable[[], None]) -> None:
    """Emit the points of a block: `otherwise` where the functions have fewer along x than the narrowest vector.

    Channels of a picture are fewer than a block's points, as a rule, and no compiler knows how many.
    """
    e, extent = gemm.e, gemm.extents[0]
    narrower = [w for w in (gemm.schedule.lanes, LEAST_LANES) if w < gemm.schedule.points[0]]
    widths = list(dict.fromkeys([gemm.schedule.points[0], *narrower]))

    def from_width(number: int) -> None:
        if number == len(widths):
            otherwise()
            return
        width = widths[number]
        lanes = min(width, gemm.schedule.lanes)

        def blocks() -> None:
            own = e.min(widths[0], e.sub(extent, gemm.firsts[0]))
            with e.loop(1 if number == 0 else e.ceildiv(own, width), "part") as part:
                _RegisterBlocks(gemm, width, lanes, e.add(gemm.firsts[0], e.mul(part, width))).emit()

        e.choose(e.compare("sge", extent, width), blocks, lambda: from_width(number + 1))

    from_width(0)


def array_bytes(group: GroupOp) -> int:
    """Bytes of a block's sums and copies; 0 where its sums are no vectors."""
    schedule, update = GemmSchedule.expect(group.schedule), group.update
    assert update is not None
    if schedule.lanes == 1:
        return 0
    found = vector_values(update, schedule.rows_dim, bool(schedule.pack))
    assert isinstance(found, VectorValues), found
    of_sums = sum(element_bytes(old.type.element) for old in update.olds if isinstance(old.type, FuncType))
    of_copies = sum(element_bytes(v.type) for v in found.packed)
    return schedule.points[0] * (schedule.rows * schedule.repeat * of_sums + schedule.pack * of_copies)


class _RegisterBlocks:
    def __init__(self, gemm: GemmFunction, width: int, lanes: int, x_first: Num):
        self.gemm, self.e, self.op, self.schedule = gemm, gemm.e, gemm.op, gemm.schedule
        dim = self.schedule.rows_dim
        found = vector_values(self.op, dim, bool(self.schedule.pack))
        assert isinstance(found, VectorValues), found
        self.values = found
        self.width, self.rows, self.lanes = width, self.schedule.rows, lanes
        # the last block begins where all of its vectors lie inside
        self.x = self.e.min(x_first, self.e.sub(gemm.extents[0], width))
        self.not_own = self.e.sub(x_first, self.x)
        """Points along x that are the block's before it."""
        self.dim = dim
        self.count: Num = 1
        """Rows of the block that lie inside."""
        if dim is not None:
            self.count = self.e.min(self.rows * self.schedule.repeat, self.e.sub(gemm.extents[dim], gemm.firsts[dim]))
        self.sums: list[SSAValue] = []

    def emit(self) -> None:
        """Emit the kernel."""
        e, gemm = self.e, self.gemm
        blocks = e.ceildiv(self.count, self.rows, "blocks")
        shape = [self.rows * self.schedule.repeat, self.width]
        self.sums = [e.alloca(shape, storage_type(gemm.element(n)), SHARED, "sums") for n in range(len(self.op.olds))]
        with e.loop(e.mul(blocks, self.rows), "row") as row, e.loop(self.width, "i", simd=True) as i:
            gemm.begin(self.sums, [row, i], self.at(row, i))
        if self.schedule.pack and self.values.packed:
            self._in_packs(blocks)
        else:
            with e.loop(blocks, "block") as block:
                self._over(block, {}, NO_COPIES)
        with e.loop(self.count, "row") as row, e.loop(self.width, "i", start=self.not_own, simd=True) as i:
            gemm.end(self.sums, [row, i], self.at(row, i))

    def at(self, row: Num, i: Num) -> list[Num]:
        """Coordinates of a point, from the least of the box on; a row that is none stands for the last."""
        at = list(self.gemm.firsts)
        at[0] = self.e.add(self.x, i)
        if self.dim is not None:
            last = self.e.sub(self.gemm.extents[self.dim], 1)
            at[self.dim] = self.e.min(self.e.add(at[self.dim], row), last)
        return at

    # --- the domain

    def _in_packs(self, blocks: Num) -> None:
        """Copy operands for so many steps at once, and have all blocks take these."""
        if len(few := self._few_steps()) > 1:
            self._in_whole_packs(blocks, few)
            return
        e, (inner, *outer), most = self.e, self.op.domain, self.schedule.pack
        low, extent = (self.gemm.scalar(v) for v in (inner.min, inner.extent))
        if isinstance(extent, int) and extent <= 0:
            return
        shape = [most if not isinstance(extent, int) else min(most, extent), self.width]
        copies = [e.alloca(shape, storage_type(v.type), SHARED, "copy") for v in self.values.packed]
        with ExitStack() as open_scopes:
            if (domain := self._open(outer, open_scopes)) is None:
                return
            first = open_scopes.enter_context(e.loop(extent, "first", step=most))
            steps = e.min(most, e.sub(extent, first))
            of = _Copies(
                dict(zip(self.values.packed, copies, strict=True)),
                lambda at: e.sub(at[inner.coordinate], e.add(low, first)),
            )
            with e.loop(steps, "k") as k, e.loop(self.width, "i", simd=True) as i:
                self._copy(of, domain | {inner.coordinate: e.add(e.add(low, first), k)}, i)
            with e.loop(blocks, "block") as block:
                self._over(block, domain, of, (e.add(low, first), steps))

    def _few_steps(self) -> list[DomainAxis]:
        """The innermost dimensions whose steps are known, and together no more than are copied at once."""
        found, steps = [], 1
        for dimension in self.op.domain:
            extent = self.gemm.scalar(dimension.extent)
            if not isinstance(extent, int) or not 0 < steps * extent <= self.schedule.pack:
                break
            found.append(dimension)
            steps *= extent
        return found

    def _in_whole_packs(self, blocks: Num, few: Sequence[DomainAxis]) -> None:
        """Copy operands for all steps of some dimensions, and have all blocks take these."""
        e = self.e
        lows = [self.gemm.scalar(d.min) for d in few]
        extents = [self.gemm.scalar(d.extent) for d in few]
        strides = [math.prod(n for n in extents[:d] if isinstance(n, int)) for d in range(len(few) + 1)]

        def row(at: Mapping[SSAValue, Num]) -> Num:
            found: Num = 0
            for d, low, stride in zip(few, lows, strides, strict=False):
                found = e.add(found, e.mul(e.sub(at[d.coordinate], low), stride))
            return found

        arrays = (e.alloca([strides[-1], self.width], storage_type(v.type), SHARED, "copy") for v in self.values.packed)
        of = _Copies(dict(zip(self.values.packed, arrays, strict=True)), row)
        with ExitStack() as open_scopes:
            if (domain := self._open([d for d in self.op.domain if d not in few], open_scopes)) is None:
                return
            with ExitStack() as steps:
                inside = self._open(few, steps)
                assert inside is not None
                with e.loop(self.width, "i", simd=True) as i:
                    self._copy(of, domain | inside, i)
            with e.loop(blocks, "block") as block:
                self._over(block, domain, of)

    def _open(self, dimensions: Sequence[DomainAxis], open_scopes: ExitStack) -> dict[SSAValue, Num] | None:
        """Open loops over dimensions of the domain, the last outermost; None if one is known to be empty."""
        domain: dict[SSAValue, Num] = {}
        for dimension in reversed(dimensions):
            start, count = (self.gemm.scalar(v) for v in (dimension.min, dimension.extent))
            if isinstance(count, int) and count <= 0:
                return None
            name = word(dimension.coordinate.name_hint or "r")
            domain[dimension.coordinate] = self.e.add(start, open_scopes.enter_context(self.e.loop(count, name)))
        return domain

    def _copy(self, copies: _Copies, domain: Mapping[SSAValue, Num], i: Num) -> None:
        """Copy the operands of a step, for a column."""
        body = SharedBody(self.gemm)
        where = {**self.gemm.coordinates(self.at(0, i)), **domain}
        for value, array in copies.arrays.items():
            self.e.store(body.value_at(value, where), array, [copies.row(domain), i])

    def _over(
        self,
        block: Num,
        domain: dict[SSAValue, Num],
        copies: _Copies,
        part: tuple[Num, Num] | None = None,
    ) -> None:
        """Have a block of points go over the domain, or over so many steps (first, count) of its innermost dimension.

        Sums are an array of vectors with constant indices: registers. Each is used and set before the next, so that a
        compiler keeps few operands at a time.
        """
        e, inner = self.e, self.op.domain[0]
        first = e.mul(block, self.rows)
        places = list(product(range(len(self.sums)), range(self.rows), range(0, self.width, self.lanes)))
        types = [VectorType(of.type.element_type, [self.lanes]) for of in self.sums]  # type: ignore[attr-defined]
        shape = [self.rows * self.width // self.lanes]
        registers = [e.alloca(shape, type, PRIVATE, "held") for type in types]

        def number(row: int, column: int) -> int:
            return (row * self.width + column) // self.lanes

        for n, r, v in places:
            e.store(self.load(self.sums[n], [e.add(first, r), v]), registers[n], [number(r, v)])
        with ExitStack() as open_scopes:
            where = dict(domain)
            for dimension in reversed([d for d in self.op.domain if d.coordinate not in domain]):
                low, extent = (self.gemm.scalar(v) for v in (dimension.min, dimension.extent))
                if part is not None and dimension.coordinate is inner.coordinate:
                    low, extent = part
                if isinstance(extent, int) and extent <= 0:
                    return
                k = open_scopes.enter_context(e.loop(extent, word(dimension.coordinate.name_hint or "r")))
                where[dimension.coordinate] = e.add(low, k)
            at = _Step(self, first, where, copies)
            for n, r, v in places:
                term = at.vector(self.op.write_op.values[n], r, v)
                old = e.load(registers[n], [number(r, v)])
                new = e.op(combined(self.op.combiners[n], self.gemm.element(n), old, term))
                e.store(new, registers[n], [number(r, v)])
        for n, r, v in places:
            target = [e.value(i) for i in (e.add(first, r), v)]
            e.effect(vector.StoreOp(e.load(registers[n], [number(r, v)]), self.sums[n], target))

    def load(self, source: SSAValue, indices: Sequence[Num]) -> SSAValue:
        """A vector of an array."""
        element = source.type.element_type  # type: ignore[attr-defined]
        return self.e.op(vector.LoadOp(source, [self.e.value(i) for i in indices], VectorType(element, [self.lanes])))


class _Step:
    """The values of one step: operations that rows, or vectors of a row, have in common are emitted once."""

    def __init__(self, blocks: _RegisterBlocks, first: Num, domain: dict[SSAValue, Num], copies: _Copies):
        self.blocks, self.e, self.domain, self.copies, self.first = blocks, blocks.e, domain, copies, first
        self._made: dict[tuple[object, ...], SSAValue] = {}

    def vector(self, value: SSAValue, row: int, column: int) -> SSAValue:
        """A value as a vector of the points from a column on."""
        found = self._value(value, row, column)
        if value in self.blocks.values.along_x:
            return found
        return self._once(("splat", found), lambda: self._splat(found))

    def _splat(self, value: SSAValue) -> SSAValue:
        return self.e.op(vector.BroadcastOp(value, self._type(value)))

    def _type(self, value: SSAValue) -> VectorType:
        return VectorType(value.type, [self.blocks.lanes])

    def _once(self, key: tuple[object, ...], make: Callable[[], SSAValue]) -> SSAValue:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _where(self, row: int, column: int) -> dict[SSAValue, Num]:
        blocks = self.blocks
        return blocks.gemm.coordinates(blocks.at(self.e.add(self.first, row), column)) | self.domain

    def _value(self, value: SSAValue, row: int, column: int) -> SSAValue:
        values = self.blocks.values
        column = column if value in values.along_x else 0
        row = row if value in values.by_row else 0
        if (copy := self.copies.arrays.get(value)) is not None:
            at = [self.copies.row(self.domain), column]
            return self._once(("copy", value, column), lambda: self.blocks.load(copy, at))
        where = self._where(row, column)
        if value in where:
            return self.e.value(where[value])
        op = value.owner
        if not isinstance(op, Operation) or op.parent_op() is not self.blocks.op:
            return self._of_call(value)
        return self._once((value, row, column), lambda: self._emit(op, value, row, column))

    def _of_call(self, value: SSAValue) -> SSAValue:
        """A value that stands between the stages."""
        scalars = self.blocks.gemm.tile.scalars
        if value in scalars:
            return scalars[value]
        assert isinstance(value.owner, Operation)
        constant = value.owner
        return self._once((value,), lambda: self.e.op(constant.clone()))

    def _emit(self, op: Operation, value: SSAValue, row: int, column: int) -> SSAValue:
        assert not isinstance(op, WriteOp)
        if isinstance(op, ReadOp):
            return self._read(op, row, column)
        if value not in self.blocks.values.along_x:
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

    def _read(self, op: ReadOp, row: int, column: int) -> SSAValue:
        where = self._where(row, column)
        operands = [where[v] if v in where else self._value(v, row, column) for v in op.indices]
        indices = [self.e.affine(x, operands) for x in op.map.data.results]
        tile = self.blocks.gemm.tile
        if op.value not in self.blocks.values.along_x:
            return read_global(self.e, tile, op.source, indices, None, needed=True)
        at = locate(self.e, tile, op.source, indices, None, needed=True)
        found = self.blocks.load(tile.buffers[behind_boundaries(op.source)[0]].memref, at.index)
        for conditions, other in reversed(at.inside):
            # the same for all lanes, as x has no boundary
            inside = all_of(self.e, conditions.values())
            assert inside is not None
            beside = self._once(("splat", other), partial(self._splat, other))
            found = self.e.select(inside, found, beside)
        return found
