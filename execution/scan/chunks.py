"""Emission of a recurrence with lines shared by blocks: each scans a chunk, and waits for the sums of earlier chunks.

    chunk = the next one of its lines, in the order in which blocks begin
    each thread loads some steps that follow one another, and joins them: of lines across memory lanes have a line each,
    and of lines along its rows the steps come side by side, through shared memory
    the block joins the totals of its threads, and publishes the sum for other blocks, with a flag
    it waits for the chunks before it in its window, and for the last one of the window before, which has left all up to
    there; it joins these, always in the same way
    each thread joins what lies before it to its own; the block stores them as they were loaded

A window has as many chunks as a block has threads along a line, so a thread waits for one of them. Windows have fixed
places, which a decoupled look-back has not: so results do not depend on who comes first. Memory is read and written
once. A block waits for such as have begun before it, which always go on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from xdsl.dialects import arith, func, gpu
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    f32,
    i32,
    i64,
)
from xdsl.ir import SSAValue

from tilefuse.analysis.running_sums import RunningSum, running_sum
from tilefuse.analysis.updates import UpdateFacts, identity
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import GroupOp, ReadOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.memref_atomics import AtomicRMWOp
from tilefuse.execution.scan.attribute import ScanSchedule
from tilefuse.execution.scan.emission import ScanKernel
from tilefuse.lowering.abi import update_box
from tilefuse.lowering.emit import INDEX, PRIVATE, SHARED, Num
from tilefuse.lowering.shared_body import SharedBody
from tilefuse.lowering.workspaces import Call, Workspace

TICKETS, SUMS, ENDS = "tickets", "sums_of_chunks", "sums_to_windows"
"""Workspaces: how many chunks of each line have begun; what each has, with a flag above it once it is there; what all
chunks have up to the end of each window, with such a flag."""


def chunked_scan_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group whose schedule has a chunk."""
    return _Chunks(group).emit()


def chunk_counts(group: GroupOp, box: Sequence[tuple[int, int]]) -> tuple[list[int], int]:
    """Return (blocks per line coordinate, chunks of each line) of a box of the update.

    There may be fewer steps, or more where a part is needed.
    """
    schedule, found = ScanSchedule.expect(group.schedule), _running_sum(group)
    blocks = [-(-box[line.dim][1] // n) for line, n in zip(found.recurrence.lines, schedule.lines, strict=True)]
    return blocks, -(-box[found.recurrence.dim][1] // schedule.steps_of_block)


def chunk_workspaces(group: GroupOp) -> Sequence[Workspace]:
    """Return the workspaces: the sums of all chunks, and tickets."""

    assert group.update is not None
    found = _running_sum(group).recurrence
    old, dim = group.update.old_funcs[0], found.dim
    schedule = ScanSchedule.expect(group.schedule)
    words = _words(_bytes(group))

    def counts(call: Call) -> tuple[int, int]:
        box = list(update_box(group, call.boxes[group.funcs[0]]))
        for d in (dim, *(line.dim for line in found.lines if not line.is_pure)):
            box[d] = call.boxes[old][d]  # all of the domain writes there
        blocks, chunks = chunk_counts(group, box)
        return math.prod(blocks), chunks

    def sums(call: Call) -> tuple[int, int]:
        lines, chunks = counts(call)
        return chunks * words, lines * schedule.adjacent_lines

    def windows(call: Call) -> tuple[int, int]:
        lines, chunks = counts(call)
        return -(-chunks // schedule.number("rows")) * words, lines * schedule.adjacent_lines

    flagged = MemRefType(i64, [DYNAMIC_INDEX, DYNAMIC_INDEX])
    tickets = MemRefType(i32, [DYNAMIC_INDEX])
    return (
        Workspace(SUMS, flagged, sums, clear=0),
        Workspace(ENDS, flagged, windows, clear=0),
        Workspace(TICKETS, tickets, lambda call: counts(call)[:1], clear=0),
    )


def chunk_shared_bytes(schedule: ScanSchedule, bytes: int, is_along_rows: bool) -> int:
    """Return the shared memory of a block, by element size and direction of lines."""
    points = _place(schedule.steps_of_block - 1) + 1 if is_along_rows else 0
    sizes = (bytes * points, *[bytes * schedule.adjacent_lines * schedule.number("rows")] * 2, 4)
    return sum(-(-n // 8) * 8 for n in sizes)


def chunk_bytes(group: GroupOp) -> int:
    """Return the shared memory of a block of a group whose schedule has a chunk."""
    found = _running_sum(group).recurrence
    return chunk_shared_bytes(ScanSchedule.expect(group.schedule), _bytes(group), found.dim == 0)


def _running_sum(group: GroupOp) -> RunningSum:
    assert group.update is not None
    found = running_sum(UpdateFacts(group.update))
    assert isinstance(found, RunningSum)
    return found


def _bytes(group: GroupOp) -> int:
    assert group.update is not None
    return element_bytes(group.update.old_funcs[0].type.element)  # type: ignore[attr-defined]


def _words(bytes: int) -> int:
    """Return the number of flagged words that hold an element."""
    return max(1, bytes // 4)


def _place(step: int) -> int:
    """Return the shared-memory index of a chunk's step, without bank conflicts of neighbours or threads."""
    return step + step // 32


class _Chunks(ScanKernel):
    def __init__(self, group: GroupOp):
        super().__init__(group, chunk_workspaces(group))
        self.sum = _running_sum(group)
        self.lanes, self.threads, self.each = (
            self.schedule.adjacent_lines, self.schedule.number("rows"), self.schedule.chunk,
        )  # fmt: skip
        """Lines of a block, threads along each, and steps of a thread."""
        self.type = self.old(0).memref.type.element_type  # type: ignore[attr-defined]
        self.words = _words(_bytes(group))
        self.is_along_rows = self.recurrence.dim == 0

    def emit(self) -> func.FuncOp:
        """Emit the kernel; return its function."""
        e = self.e
        with ExitStack() as open_scopes:
            self._blocks(open_scopes)
            if self.is_along_rows:
                self.points = e.alloca([_place(self.schedule.steps_of_block - 1) + 1], self.type, SHARED, "points")
            size = [self.threads * self.lanes]
            self.totals = [e.alloca(size, self.type, SHARED, f"totals{n}") for n in range(2)]
            self.number = e.alloca([1], i32, SHARED, "number")
            self.kept = e.alloca([self.each], self.type, PRIVATE, "kept")
            self._chunks()
        return self.finished()

    def _blocks(self, open_scopes: ExitStack) -> None:
        """Open the loops over blocks: the blocks of one chunk of all lines along x come first."""
        e, found, sizes = self.e, self.recurrence, self.schedule.tile_sizes
        self.adjacent_lines = e.ceildiv(self.out.extent(found.dim, e), self.schedule.steps_of_block)
        counts = [e.ceildiv(self.out.extent(line.dim, e), n) for line, n in zip(found.lines, sizes, strict=True)]
        blocks = self.block_loops([*counts[:1], self.adjacent_lines, *counts[1:]], open_scopes)
        blocks.pop(len(counts[:1]))
        self.block: Num = 0
        """The number of the block's lines."""
        offsets = self._offsets(blocks, counts, open_scopes)
        self.where: dict[SSAValue, Num] = {}
        """The first line of the block."""
        self.rest: Num = 1
        """Lines from there on along the first coordinate."""
        for line, offset, size in reversed(list(zip(found.lines, offsets, sizes, strict=True))):
            low, extent = self._span(line)
            self.where[line.coordinate], self.rest = e.add(low, offset), e.sub(extent, offset)
            self.block = e.add(e.mul(self.block, e.ceildiv(extent, size)), e.div_rem(offset, size)[0])

    def _chunks(self) -> None:
        """Process one chunk after the other: partly needed lines have fewer blocks than chunks."""
        e = self.e
        count = e.max(e.ceildiv(e.max(self.steps, 0), self.schedule.steps_of_block), 1)

        def is_another() -> SSAValue:
            return e.value(e.compare("slt", e.add(self._own()[0], self.adjacent_lines), count))

        with e.repeat_while(is_another):
            self._barrier()
            self._take_ticket()
            with e.when(e.compare("slt", self._own()[0], count)):
                self._chunk()

    def _chunk(self) -> None:
        if self.is_along_rows:
            self._load_side_by_side()
        inclusive, others = self._join_threads()
        self._join_chunks_before(inclusive, others)
        self._finish(inclusive, others)

    @contextmanager
    def _thread(self) -> Iterator[tuple[Num, Num]]:
        """Open the loops over threads: the lane has a line, the row some of its steps."""
        with ExitStack() as open_scopes:
            first, second = self.thread_loops(2, open_scopes)[:2]
            yield (first, second) if self.lanes > 1 else (0, first)

    @contextmanager
    def _first_thread(self) -> Iterator[None]:
        e = self.e
        with self._thread() as (lane, row), e.when(e.compare("eq", self._place_of(lane, row), 0)):
            yield

    def _line_of(self, lane: Num) -> dict[SSAValue, Num]:
        """Return the line of a lane; the last one for excess lanes."""
        if self.lanes == 1:
            return self.where
        first = self.recurrence.lines[0].coordinate
        return self.where | {first: self.e.add(self.where[first], self.e.min(lane, self.e.sub(self.rest, 1)))}

    def _place_of(self, lane: Num, row: Num) -> Num:
        """Return the index of a thread's values among all threads'."""
        return self.e.add(self.e.mul(row, self.lanes), lane)

    def _barrier(self) -> None:
        self.e.effect(gpu.BarrierOp())

    def _join(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.e.op(combined(self.sum.way, self.element(0), a, b))

    def _nothing(self) -> SSAValue:
        value = identity(self.sum.way, self.element(0))
        assert value is not None
        if isinstance(self.type, IntegerType):
            return self.e.op(arith.ConstantOp(IntegerAttr(int(value), self.type)))
        return self.e.op(arith.ConstantOp(FloatAttr(value, self.type)))

    def _take_ticket(self) -> None:
        e = self.e
        with self._first_thread():
            one = e.op(arith.ConstantOp(IntegerAttr(1, i32)))
            tickets = self.workspaces[TICKETS]
            e.store(e.op(AtomicRMWOp("addi", one, tickets, [e.value(self.block)])), self.number, [0])
        self._barrier()

    def _own(self) -> tuple[Num, Num]:
        """Return the number of the block's chunk, and its first step."""
        e = self.e
        number = e.op(arith.IndexCastOp(e.load(self.number, [0]), INDEX))
        return number, e.mul(number, self.schedule.steps_of_block)

    def _load_side_by_side(self) -> None:
        """Store the terms of the chunk contiguously in shared memory."""
        e = self.e
        with self._thread() as (_, row), e.loop(self.each, "i", unroll=True) as i:
            step = e.add(e.mul(i, self.threads), row)
            e.store(self._term_or_nothing(step, self.where), self.points, [self._in_shared(step)])
        self._barrier()

    def _term_or_nothing(self, step: Num, line: dict[SSAValue, Num]) -> SSAValue:
        """Return the term of a step of the chunk; the neutral value beyond the last one."""
        e = self.e
        at = e.add(self._own()[1], step)
        term = e.alloca([1], self.type, PRIVATE, "term")
        e.store(self._nothing(), term, [0])
        with e.when(e.compare("slt", at, self.steps)):
            e.store(self._term(self._at(line, at)), term, [0])
        return e.load(term, [0])

    def _term(self, where: dict[SSAValue, Num]) -> SSAValue:
        if self.sum.term is None:
            return self.e.load(self.old(0).memref, self._position(0, where))
        return SharedBody(self).value_at(self.sum.term, where, lambda read: self._standing_at(read, where))

    def _standing_at(self, read: ReadOp, where: dict[SSAValue, Num]) -> SSAValue | None:
        """Return the old value where the step writes; None for reads of the step before."""
        return self._read_old(read, where) if self.recurrence.back[read] == 0 else None

    def _in_shared(self, step: Num) -> Num:
        return self.e.add(step, self.e.div_rem(step, 32)[0])

    def _of_thread(self, row: Num, i: Num) -> Num:
        return self._in_shared(self._step_of(row, i))

    def _step_of(self, row: Num, i: Num) -> Num:
        return self.e.add(self.e.mul(row, self.each), i)

    def _join_threads(self) -> tuple[SSAValue, SSAValue]:
        """Combine each thread's steps, then the sums of earlier threads; return arrays of these sums."""
        e = self.e
        here, there = self.totals
        with self._thread() as (lane, row):
            line, running = self._line_of(lane), self._nothing()
            if not self.is_along_rows:  # all are loaded first
                for i in range(self.each):
                    e.store(self._term_or_nothing(self._step_of(row, i), line), self.kept, [i])
            for i in range(self.each):
                term = e.load(self.points, [self._of_thread(row, i)]) if self.is_along_rows else e.load(self.kept, [i])
                running = self._join(running, term)
                e.store(running, self.kept, [i])
            e.store(running, here, [self._place_of(lane, row)])
        self._barrier()
        by = 1
        while by < self.threads:
            with self._thread() as (lane, row):
                place = self._place_of(lane, row)
                e.store(e.load(here, [place]), there, [place])
                with e.when(e.compare("sge", row, by)):
                    before = e.load(here, [self._place_of(lane, e.sub(row, by))])
                    e.store(self._join(before, e.load(here, [place])), there, [place])
            self._barrier()
            here, there, by = there, here, 2 * by
        return here, there

    def _join_chunks_before(self, inclusive: SSAValue, others: SSAValue) -> None:
        """Publish the chunk's total, and combine the totals of all earlier chunks in `others`."""
        e, sums, ends, last = self.e, self.workspaces[SUMS], self.workspaces[ENDS], self.threads - 1
        with self._thread() as (lane, row):
            number, _ = self._own()
            window, place = e.div_rem(number, self.threads)
            with e.when(e.compare("eq", row, 0)):
                self._leave(e.load(inclusive, [self._place_of(lane, last)]), sums, number, lane)
            own = self._place_of(lane, row)
            e.store(self._nothing(), others, [own])
            with e.when(e.compare("slt", row, place)):
                before = e.add(e.mul(window, self.threads), row)
                e.store(self._wait(sums, before, lane), others, [own])
            # no chunk has as many before it in its window, so this thread is free
            with e.when(e.both(e.compare("eq", row, last), e.compare("sgt", window, 0))):
                e.store(self._wait(ends, e.sub(window, 1), lane), others, [own])
        self._barrier()
        half = self.threads // 2
        while half:
            with self._thread() as (lane, row), e.when(e.compare("slt", row, half)):
                own = self._place_of(lane, row)
                further = e.load(others, [self._place_of(lane, e.add(row, half))])
                e.store(self._join(e.load(others, [own]), further), others, [own])
            self._barrier()
            half //= 2
        with self._thread() as (lane, row):
            number, _ = self._own()
            window, place = e.div_rem(number, self.threads)
            with e.when(e.both(e.compare("eq", row, 0), e.compare("eq", place, last))):
                total = e.load(inclusive, [self._place_of(lane, last)])
                self._leave(self._join(e.load(others, [lane]), total), ends, window, lane)

    def _word(self, there: SSAValue, place: Num, lane: Num, word: int) -> list[SSAValue]:
        """Return the index of a word of a line's value: lines are interleaved."""
        e = self.e
        line = e.add(e.mul(self.block, self.lanes), lane)
        return [e.value(e.add(e.mul(place, self.words), word)), e.value(line)]

    def _leave(self, value: SSAValue, there: SSAValue, place: Num, lane: Num) -> None:
        """Publish a value of the line to other blocks, 32 bits at a time, each with a flag above, atomically."""
        e = self.e
        flag, shift = (e.op(arith.ConstantOp(IntegerAttr(n, i64))) for n in (1 << 32, 32))
        bits = self._as_bits(value)
        for word in range(self.words):
            low = bits if bits.type == i32 else e.op(arith.TruncIOp(bits, i32))
            flagged = e.op(arith.OrIOp(e.op(arith.ExtUIOp(low, i64)), flag))
            e.effect(AtomicRMWOp("ori", flagged, there, self._word(there, place, lane, word)))
            if word + 1 < self.words:
                bits = e.op(arith.ShRUIOp(bits, shift))

    def _wait(self, there: SSAValue, place: Num, lane: Num) -> SSAValue:
        """Wait for a value of the line: its flags; return it."""
        e = self.e
        shift = e.op(arith.ConstantOp(IntegerAttr(32, i64)))
        low, *high = (self._wait_for(there, self._word(there, place, lane, word)) for word in range(self.words))
        for word in high:
            low = e.op(
                arith.OrIOp(e.op(arith.ExtUIOp(low, i64)), e.op(arith.ShLIOp(e.op(arith.ExtUIOp(word, i64)), shift)))
            )
        return self._of_bits(low)

    def _wait_for(self, there: SSAValue, at: list[SSAValue]) -> SSAValue:
        e = self.e
        shift, none = (e.op(arith.ConstantOp(IntegerAttr(n, i64))) for n in (32, 0))
        found = e.alloca([1], i64, PRIVATE, "found")

        def is_not_there() -> SSAValue:
            return e.op(arith.CmpiOp(e.op(arith.ShRUIOp(e.load(found, [0]), shift)), none, "eq"))

        with e.repeat_while(is_not_there):
            e.store(e.op(AtomicRMWOp("ori", none, there, at)), found, [0])
        return e.op(arith.TruncIOp(e.load(found, [0]), i32))

    def _as_bits(self, value: SSAValue) -> SSAValue:
        """Convert an element to its bits: 32, or 64 if it has as many."""
        e = self.e
        if isinstance(self.type, IntegerType):
            return value if self.type in (i32, i64) else e.op(arith.ExtUIOp(value, i32))
        if isinstance(self.type, Float64Type):
            return e.op(arith.BitcastOp(value, i64))
        return e.op(arith.BitcastOp(value if self.type == f32 else e.op(arith.ExtFOp(value, f32)), i32))

    def _of_bits(self, bits: SSAValue) -> SSAValue:
        e = self.e
        if isinstance(self.type, IntegerType):
            return bits if self.type in (i32, i64) else e.op(arith.TruncIOp(bits, self.type))
        if isinstance(self.type, Float32Type | Float64Type):
            return e.op(arith.BitcastOp(bits, self.type))
        return e.op(arith.TruncFOp(e.op(arith.BitcastOp(bits, f32)), self.type))

    def _finish(self, inclusive: SSAValue, others: SSAValue) -> None:
        """Combine the sums before each thread with its steps, and store them as they were loaded."""
        e = self.e
        with self._thread() as (lane, row):
            line = self._line_of(lane)
            before = self._join(self._first(line), e.load(others, [lane]))
            start = e.alloca([1], self.type, PRIVATE, "start")
            e.store(before, start, [0])
            with e.when(e.compare("sgt", row, 0)):
                up_to = e.load(inclusive, [self._place_of(lane, e.sub(row, 1))])
                e.store(self._join(before, up_to), start, [0])
            with e.loop(self.each, "i", unroll=True) as i:
                value = self._join(e.load(start, [0]), e.load(self.kept, [i]))
                if self.is_along_rows:
                    e.store(value, self.points, [self._of_thread(row, i)])
                else:
                    e.store(value, self.kept, [i])
        if self.is_along_rows:
            self._barrier()
        with self._thread() as (lane, row), e.when(e.compare("slt", lane, self.rest) if self.lanes > 1 else None):
            line, (number, first) = self._line_of(lane), self._own()
            if self.epilogue is not None:
                with e.when(e.compare("eq", e.add(number, row), 0)):
                    self._store_others(line)
            with e.loop(self.each, "i", unroll=True) as i:
                step = e.add(e.mul(i, self.threads), row) if self.is_along_rows else self._step_of(row, i)
                at = e.add(first, step)
                with e.when(e.compare("slt", at, self.steps)):
                    self._store(self._at(line, at), [self._kept_or_shared(step, i)])

    def _kept_or_shared(self, step: Num, i: Num) -> SSAValue:
        """Return the result of a step of the chunk, step `i` of its thread where lanes have lines."""
        if self.is_along_rows:
            return self.e.load(self.points, [self._in_shared(step)])
        return self.e.load(self.kept, [i])

    def _first(self, line: dict[SSAValue, Num]) -> SSAValue:
        """Return the value of a line before the first step, which no step writes."""
        e, buffer = self.e, self.old(0)
        index = self._position(0, line | {self.recurrence.along: e.sub(self.low, 1)})
        axis = len(index) - 1 - self.recurrence.dim
        index[axis] = e.clamp(index[axis], 0, e.sub(buffer.extent(self.recurrence.dim, e), 1))
        return e.load(buffer.memref, index)
