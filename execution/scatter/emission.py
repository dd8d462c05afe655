"""Emission of a scatter: blocks share the domain; each accumulates in a table before it updates memory.

    block b of the blocks at a pure point:
      every copy of every element of the table is set to what changes nothing
      the block's threads take the points of its part of the domain, and join each value with a copy of its element
      the copies of an element are joined, and the result with the function in memory, by an atomic

Without a table all values are joined with the functions in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate

from xdsl.dialects import arith, func, gpu, memref
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, MemRefType, UnitAttr, i8
from xdsl.ir import Attribute, SSAValue

from tilefuse.analysis.updates import identity
from tilefuse.dialects.img.combiners import atomic_kind, combined
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.types import FuncType, element_bytes, storage_type
from tilefuse.dialects.memref_atomics import AtomicRMWOp
from tilefuse.execution.scatter.attribute import ScatterSchedule
from tilefuse.execution.scatter.runs import LOAD_BYTES, RowRead, row_reads
from tilefuse.execution.scatter.table import STATIC_TABLES, TableWindow, window
from tilefuse.execution.scatter.two_passes import TwoPasses
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import SHARED, Emitter, Num
from tilefuse.lowering.symbols import identifier
from tilefuse.lowering.update_body import PointRow, UpdateBody, UpdateFunction
from tilefuse.lowering.workspaces import Workspace


def scatter_kernel(group: GroupOp, aligned: Collection[SSAValue]) -> func.FuncOp:
    """Emit the kernel; `aligned`: the functions with vector-aligned rows."""
    return ScatterKernel(group, aligned).emit()


class ScatterKernel:
    """A scatter's kernel during emission."""

    def __init__(self, group: GroupOp, aligned: Collection[SSAValue], workspaces: Sequence[Workspace] = ()):
        self.function = UpdateFunction(group, workspaces)
        self.e, self.op = self.function.e, self.function.op
        schedule = ScatterSchedule.expect(group.schedule)
        self.threads = schedule.thread_counts[0]
        self.blocks, self.copies = schedule.number("split"), schedule.copies
        self.points = schedule.number("points")
        self.resident = schedule.resident_blocks
        self.window: TableWindow | None = window(self.op) if self.copies else None
        # of the one thread of a block, if all points count
        self.in_two_passes = self.threads == 1 and self.points > 1 and self.op.write_op.predicate is None
        self.in_two_passes &= self.window is not None
        by_vectors = self.points > 1 and not self.in_two_passes
        self.reads: list[RowRead] = row_reads(self.op, aligned, self.points) if by_vectors else []
        self.elements = [old.type.element for old in self.op.old_funcs if isinstance(old.type, FuncType)]
        self.tables: list[SSAValue] = []
        self.pure: dict[SSAValue, Num] = {}
        """The pure coordinates of the block."""
        self.copy: Num = 0
        """The copy of a table's elements that is the thread's."""
        self.part: Num = 0
        """The part of the domain that the block has."""
        self.point: Num = 0
        """The number of the block's pure point."""

    def emit(self) -> func.FuncOp:
        """Emit the function of the kernel."""
        with ExitStack() as open_scopes:
            self.part = self._block(open_scopes)
            if self.window is not None:
                self._make_tables(self.window)
                self.e.effect(gpu.BarrierOp())
            with self.thread() as thread:
                if self.copies > 1:
                    self.copy = self.e.mod(thread, self.copies)
                self._accumulate(self.part, thread)
            if self.window is not None:
                self.e.effect(gpu.BarrierOp())
                self.add_to_memory(self.window)
        kernel = self.function.finished()
        if self.resident:
            kernel.attributes["kernel.min_blocks"] = IntegerAttr(self.resident, 64)
        return kernel

    @contextmanager
    def thread(self) -> Iterator[Num]:
        """Open the loop over the threads of a block."""
        with self.e.loop(self.threads, "tx", level="thread_x") as thread:
            yield thread

    def _block(self, open_scopes: ExitStack) -> Num:
        """Open the loop over blocks; return the block's part of the domain."""
        e, op = self.e, self.op
        out = self.function.out
        extents = [out.extent(d, e) for d in op.pure_dims]
        count: Num = self.blocks
        for extent in extents:
            count = e.mul(extent, count)
        block = open_scopes.enter_context(e.loop(count, "block", level="block_x"))
        if not extents:
            return block
        rest, part = e.div_rem(block, self.blocks)
        self.point = rest
        for number, (coordinate, dim, extent) in enumerate(zip(op.pure, op.pure_dims, extents, strict=True)):
            offset = rest
            if number < len(extents) - 1:
                rest, offset = self.e.div_rem(rest, extent)
            self.pure[coordinate] = e.add(out.mins[dim], offset)
        return part

    # --- the table

    def _make_tables(self, box: TableWindow) -> None:
        """Declare a table per function, and initialise it."""
        e, count = self.e, box.size * self.copies
        self.tables = _tables(e, self.elements, count)
        with self.thread() as thread:
            for table, way, element in zip(self.tables, self.op.combiners, self.elements, strict=True):
                nothing = self.nothing(way, element)
                step = LOAD_BYTES // element_bytes(element)
                step = step if count % step == 0 and self.threads > 1 and step <= 4 else 1
                with e.loop(count, "i", start=e.mul(thread, step), step=self.threads * step) as i:
                    e.store_vector([nothing] * step, table, [i])

    def add_to_memory(self, box: TableWindow) -> None:
        """Combine the copies of each element, and the result with memory; adjacent threads take adjacent elements."""
        e = self.e
        pure = {dim: self.pure[c] for c, dim in zip(self.op.pure, self.op.pure_dims, strict=True)}
        with self.thread() as thread, e.loop(box.size, "i", start=thread, step=self.threads) as i:
            first = e.mul(i, self.copies)
            for number, (table, way, element) in enumerate(
                zip(self.tables, self.op.combiners, self.elements, strict=True)
            ):
                total: SSAValue | None = None
                for c in range(self.copies):
                    # of neighbouring threads each begins with another copy: they lie in different banks
                    turned = e.op(arith.AndIOp(e.value(e.add(i, c)), e.value(self.copies - 1)))
                    found = e.load(table, [e.add(first, turned if self.copies > 1 else 0)])
                    total = found if total is None else e.op(combined(way, element, total, found))
                assert total is not None
                with e.when(e.op(arith.CmpiOp(total, self.nothing(way, element), "ne"))):
                    self._join(number, total, box.position(e, i, pure))

    def nothing(self, way: str, element: Attribute) -> SSAValue:
        """Return the neutral constant of an element's combiner."""
        number = identity(way, element)
        assert number is not None
        return self.e.op(arith.ConstantOp(_attribute(number, element)))

    def _join(self, number: int, value: SSAValue, position: list[Num]) -> None:
        """Combine a value with a function in memory."""
        buffer, e = self.function.old(number), self.e
        kind = atomic_kind(self.op.combiners[number], self.elements[number])
        e.effect(AtomicRMWOp(kind, value, buffer.memref, [e.value(i) for i in buffer.index(position, e)]))

    # --- the domain

    def _accumulate(self, part: Num, thread: Num) -> None:
        """Loop over the thread's points: interleaved with other threads', or adjacent ones on a CPU."""
        e, op = self.e, self.op
        lows, extents = [], []
        for dimension in op.domain:
            low, extent = (self.function.scalar(v) for v in (dimension.min, dimension.extent))
            lows.append(low)
            extents.append(e.max(extent, 0))
        lead, same = self._lead(lows)
        inner = e.ceildiv(e.add(extents[0], lead), self.points)
        if self.points > 1:
            inner = e.pick(e.compare("sgt", extents[0], 0), inner, 0)
        counts = [inner, *extents[1:]]
        total: Num = 1
        for n in counts:
            total = e.mul(total, n)
        if isinstance(total, int) and total == 0:
            return
        first, last, step = e.add(e.mul(part, self.threads), thread), total, self.blocks * self.threads
        if self.threads == 1:
            each = e.ceildiv(total, self.blocks)
            first = e.mul(part, each)
            last, step = e.min(total, e.add(first, each)), 1
        name = identifier(op.domain[0].coordinate.name_hint or "r")
        with e.loop(last, "item", start=first, step=step) as item:
            offsets = []
            for n in counts[:-1]:
                item, offset = self.e.div_rem(item, n)
                offsets.append(offset)
            offsets.append(item)
            where = dict(self.pure)
            for dimension, low, offset in zip(op.domain[1:], lows[1:], offsets[1:], strict=True):
                where[dimension.coordinate] = e.add(low, offset)
            self._run(where, lows[0], e.sub(e.mul(offsets[0], self.points), lead), extents[0], same, name)

    def _lead(self, lows: list[Num]) -> tuple[Num, SSAValue | None]:
        """Return the points by which runs begin before the domain, so that vector loads of rows are aligned.

        And whether these lie right for all reads; None if that is sure.
        """
        e = self.e
        lead: Num = 0
        same: SSAValue | None = None
        offsets: list[Num] = []
        for read in self.reads:
            if read.is_vector:
                first = e.add(lows[0], read.offset)
                column = first if read.from_coordinate else e.sub(first, self._buffer(read).mins[0])
                offsets.append(e.mod(column, self.points))
        for number, offset in enumerate(offsets):
            if number == 0:
                lead = offset
            elif offset is not lead and offset != lead:
                same = e.both(same, e.compare("eq", offset, lead))
        return lead, same

    def _buffer(self, read: RowRead) -> KernelBuffer:
        return self.function.tile.buffers[read.op.source]

    def _run(
        self, where: dict[SSAValue, Num], low: Num, first: Num, extent: Num, same: SSAValue | None, name: str
    ) -> None:
        """Process the points from `first`; points in 0..extent are in the domain."""
        e, coordinate = self.e, self.op.domain[0].coordinate
        if self.points == 1:
            self._take({**where, coordinate: e.add(low, first)}, PointRow(None))
            return
        end = e.add(first, self.points)
        if self.in_two_passes:
            assert self.window is not None
            passes = TwoPasses(self.function, self.window, self.points, self.copies, self.join_in_table)
            passes.take(where, e.add(low, first), e.sub(e.min(end, extent), first))
            return
        inside = e.both(e.both(e.compare("sge", first, 0), e.compare("sle", end, extent)), same)
        assert inside is not None
        wide = [read.op for read in self.reads if read.is_vector]
        row = PointRow(coordinate, self.points, wide, [read.op for read in self.reads if not read.is_vector])

        def full_run() -> None:
            self._take({**where, coordinate: e.add(low, first)}, row)

        def one_by_one() -> None:
            with e.loop(e.min(end, extent), name, start=e.max(first, 0)) as x:
                self._take({**where, coordinate: e.add(low, x)}, PointRow(None))

        e.choose(inside, full_run, one_by_one)

    def _take(self, where: dict[SSAValue, Num], row: PointRow) -> None:
        """Process the points of a row."""
        e, body = self.e, UpdateBody(self.function, where, row)
        body.compute()
        for k in range(row.count):
            with e.when(body.predicate(k)):
                position = body.position(k)
                for number, value in enumerate(body.terms(k)):
                    if self.window is None:
                        self._join(number, value, position)
                        continue
                    copy = k % self.copies if self.threads == 1 else self.copy
                    at = e.add(e.mul(self.window.number(e, position), self.copies), copy)
                    self.join_in_table(number, at, value)

    def join_in_table(self, number: int, at: Num, value: SSAValue) -> None:
        """Combine a value with an element of a table."""
        kind = atomic_kind(self.op.combiners[number], self.elements[number])
        self.e.effect(AtomicRMWOp(kind, value, self.tables[number], [self.e.value(at)]))


def _attribute(number: float, element: Attribute) -> IntegerAttr[IntegerType] | FloatAttr:
    """Return the attribute of a number of a function's element type."""
    if isinstance(element, AnyFloat):
        return FloatAttr(float(number), element)
    assert isinstance(element, IntegerType)
    number = int(number)
    width = element.width.data
    half = 1 << (width - 1)
    return IntegerAttr((number + half) % (2 * half) - half, IntegerType(width))


def _tables(e: Emitter, elements: Sequence[Attribute], count: int) -> list[SSAValue]:
    """Declare arrays of the block, `count` elements per function; in dynamic memory if they exceed the static limit."""
    space = IntegerAttr(SHARED, 64)
    types = [MemRefType(storage_type(element), [count], memory_space=space) for element in elements]
    sizes = [count * element_bytes(element) for element in elements]
    if sum(sizes) <= STATIC_TABLES:
        return [e.alloca([count], t.element_type, SHARED, "table") for t in types]
    op = memref.AllocaOp.get(i8, shape=[sum(sizes)], memory_space=IntegerAttr(SHARED, 64))
    op.attributes["kernel.dynamic_shared"] = UnitAttr()
    together = e.op(op, "tables")
    starts = [0, *accumulate(sizes)]
    return [e.op(memref.ViewOp(together, e.value(s), [], t), "table") for s, t in zip(starts, types, strict=False)]
