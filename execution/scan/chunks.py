"""The kernel of a recurrence whose lines blocks share out: each has a chunk, and asks those before it for their sums.

    chunk = the next one of its line, in the order in which blocks begin
    its points come side by side through shared memory; each thread joins some that follow one another
    the block joins the totals of its threads, and publishes the sum for other blocks, with a flag
    it waits for the chunks before it in its window, and for the last one of the window before, which has left all up to
    there; it joins these, always in the same way
    each thread joins what lies before it to its own; the block stores them side by side

A window has as many chunks as a block has threads, so a thread waits for one of them. Windows have fixed places, which
a decoupled look-back has not: so results do not depend on who comes first. Memory is read and written once. A block
waits for such as have begun before it, which always go on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from xdsl.dialects import arith, func, gpu
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr, IntegerType, MemRefType, i32, i64
from xdsl.ir import SSAValue

from tilefuse.analysis.running_sums import RunningSum, running_sum
from tilefuse.analysis.updates import UpdateFacts, identity
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import GroupOp, ReadOp
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


def chunk_counts(group: GroupOp, box: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """(lines, chunks of each) of a box of the update; there may be fewer steps, or more where a part is asked for."""
    schedule, found = ScanSchedule.expect(group.schedule), _running_sum(group)
    lines = math.prod(box[line.dim][1] for line in found.recurrence.lines)
    return lines, -(-box[found.recurrence.dim][1] // schedule.steps_of_block)


def chunk_workspaces(group: GroupOp) -> Sequence[Workspace]:
    """The sums of all chunks, and the tickets."""

    assert group.update is not None
    old, dim = group.update.olds[0], _running_sum(group).recurrence.dim

    def counts(call: Call) -> tuple[int, int]:
        box = list(update_box(group, call.boxes[group.funcs[0]]))
        box[dim] = call.boxes[old][dim]  # all steps write there
        return chunk_counts(group, box)

    def windows(call: Call) -> tuple[int, int]:
        lines, chunks = counts(call)
        return lines, -(-chunks // ScanSchedule.expect(group.schedule).number("rows"))

    sums = MemRefType(i64, [DYNAMIC_INDEX, DYNAMIC_INDEX])
    tickets = MemRefType(i32, [DYNAMIC_INDEX])
    return (
        Workspace(SUMS, sums, counts, clear=0),
        Workspace(ENDS, sums, windows, clear=0),
        Workspace(TICKETS, tickets, lambda call: counts(call)[:1], clear=0),
    )


def chunk_shared_bytes(schedule: ScanSchedule) -> int:
    """Shared memory of a block."""
    return 4 * (_place(schedule.steps_of_block - 1) + 1) + 2 * 4 * schedule.number("rows") + 4


def _running_sum(group: GroupOp) -> RunningSum:
    assert group.update is not None
    found = running_sum(UpdateFacts(group.update))
    assert isinstance(found, RunningSum)
    return found


def _place(step: int) -> int:
    """Where a step of a chunk lies in shared memory: so that neither neighbours nor threads meet in a bank."""
    return step + step // 32


class _Chunks(ScanKernel):
    def __init__(self, group: GroupOp):
        super().__init__(group, chunk_workspaces(group))
        self.sum = _running_sum(group)
        self.threads, self.each = self.schedule.number("rows"), self.schedule.chunk
        self.type = self.old(0).memref.type.element_type  # type: ignore[attr-defined]

    def emit(self) -> func.FuncOp:
        """The whole function."""
        e, found = self.e, self.recurrence
        with ExitStack() as open_scopes:
            spans = [self._span(line) for line in found.lines]
            side_by_side = e.ceildiv(self.out.extent(found.dim, e), self.schedule.steps_of_block)
            _, *blocks = self.block_loops([side_by_side, *(extent for _, extent in spans)], open_scopes)
            self.where = {
                line.coordinate: e.add(low, block)
                for line, (low, _), block in zip(found.lines, spans, blocks, strict=True)
            }
            self.line: Num = 0
            for (_, extent), block in reversed(list(zip(spans, blocks, strict=True))):
                self.line = e.add(e.mul(self.line, extent), block)
            size = _place(self.schedule.steps_of_block - 1) + 1
            self.points = e.alloca([size], self.type, SHARED, "points")
            self.totals = [e.alloca([self.threads], self.type, SHARED, f"totals{n}") for n in range(2)]
            self.number = e.alloca([1], i32, SHARED, "number")
            self.kept = e.alloca([self.each], self.type, PRIVATE, "kept")
            self._chunks(side_by_side)
        return self.finished()

    def _chunks(self, side_by_side: Num) -> None:
        """Take one chunk after the other: of lines of which a part is asked for there are fewer blocks than chunks."""
        e = self.e
        count = e.max(e.ceildiv(e.max(self.steps, 0), self.schedule.steps_of_block), 1)

        def is_another() -> SSAValue:
            return e.value(e.compare("slt", e.add(self._own()[0], side_by_side), count))

        with e.repeat_while(is_another):
            self._barrier()
            self._take_ticket()
            with e.when(e.compare("slt", self._own()[0], count)):
                self._chunk()

    def _chunk(self) -> None:
        self._load()
        inclusive, others = self._join_threads()
        self._join_chunks_before(inclusive, others)
        self._finish(inclusive, others)

    @contextmanager
    def _thread(self) -> Iterator[Num]:
        with ExitStack() as open_scopes:
            yield self.thread_loops(1, open_scopes)[0]

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
        with self._thread() as thread, e.when(e.compare("eq", thread, 0)):
            one = e.op(arith.ConstantOp(IntegerAttr(1, i32)))
            tickets = self.workspaces[TICKETS]
            e.store(e.op(AtomicRMWOp("addi", one, tickets, [e.value(self.line)])), self.number, [0])
        self._barrier()

    def _own(self) -> tuple[Num, Num]:
        """The number of the block's chunk, and its first step."""
        e = self.e
        number = e.op(arith.IndexCastOp(e.load(self.number, [0]), INDEX))
        return number, e.mul(number, self.schedule.steps_of_block)

    def _load(self) -> None:
        """Put the terms of the chunk side by side into shared memory."""
        e = self.e
        with self._thread() as thread:
            _, first = self._own()
            with e.loop(self.each, "i", unroll=True) as i:
                step = e.add(e.mul(i, self.threads), thread)
                at = e.add(first, step)
                term = e.alloca([1], self.type, PRIVATE, "term")
                e.store(self._nothing(), term, [0])
                with e.when(e.compare("slt", at, self.steps)):
                    e.store(self._term(at), term, [0])
                e.store(e.load(term, [0]), self.points, [self._in_shared(step)])
        self._barrier()

    def _term(self, step: Num) -> SSAValue:
        where = self._at(self.where, step)
        if self.sum.term is None:
            return self.e.load(self.old(0).memref, self._position(0, where))
        return SharedBody(self).value_at(self.sum.term, where, lambda read: self._standing_at(read, where))

    def _standing_at(self, read: ReadOp, where: dict[SSAValue, Num]) -> SSAValue | None:
        """The value of a read of the function where the step then writes; None of the step before."""
        return self._read_old(read, where) if self.recurrence.back[read] == 0 else None

    def _in_shared(self, step: Num) -> Num:
        return self.e.add(step, self.e.div_rem(step, 32)[0])

    def _of_thread(self, thread: Num, i: Num) -> Num:
        return self._in_shared(self.e.add(self.e.mul(thread, self.each), i))

    def _join_threads(self) -> tuple[SSAValue, SSAValue]:
        """Join each thread's steps, then those of threads before it: arrays with the latter, and for other use."""
        e = self.e
        here, there = self.totals
        with self._thread() as thread:
            running = self._nothing()
            for i in range(self.each):
                running = self._join(running, e.load(self.points, [self._of_thread(thread, i)]))
                e.store(running, self.kept, [i])
            e.store(running, here, [thread])
        self._barrier()
        by = 1
        while by < self.threads:
            with self._thread() as thread:
                e.store(e.load(here, [thread]), there, [thread])
                with e.when(e.compare("sge", thread, by)):
                    e.store(self._join(e.load(here, [e.sub(thread, by)]), e.load(here, [thread])), there, [thread])
            self._barrier()
            here, there, by = there, here, 2 * by
        return here, there

    def _join_chunks_before(self, inclusive: SSAValue, others: SSAValue) -> None:
        """Publish the total of the chunk, and join the totals of all chunks before it, in `others`."""
        e, sums, ends, last = self.e, self.workspaces[SUMS], self.workspaces[ENDS], self.threads - 1
        with self._thread() as thread:
            number, _ = self._own()
            window, place = e.div_rem(number, self.threads)
            with e.when(e.compare("eq", thread, 0)):
                self._leave(e.load(inclusive, [last]), sums, number)
            e.store(self._nothing(), others, [thread])
            with e.when(e.compare("slt", thread, place)):
                before = e.add(e.mul(window, self.threads), thread)
                e.store(self._wait(sums, before), others, [thread])
            # no chunk has as many before it in its window, so this thread is free
            with e.when(e.both(e.compare("eq", thread, last), e.compare("sgt", window, 0))):
                e.store(self._wait(ends, e.sub(window, 1)), others, [thread])
        self._barrier()
        half = self.threads // 2
        while half:
            with self._thread() as thread, e.when(e.compare("slt", thread, half)):
                total = self._join(e.load(others, [thread]), e.load(others, [e.add(thread, half)]))
                e.store(total, others, [thread])
            self._barrier()
            half //= 2
        with self._thread() as thread:
            number, _ = self._own()
            window, place = e.div_rem(number, self.threads)
            with e.when(e.both(e.compare("eq", thread, 0), e.compare("eq", place, last))):
                self._leave(self._join(e.load(others, [0]), e.load(inclusive, [last])), ends, window)

    def _leave(self, value: SSAValue, there: SSAValue, place: Num) -> None:
        """Write a value of the line for other blocks, and the flag above it, at once."""
        e = self.e
        bits = value if self.type == i32 else e.op(arith.BitcastOp(value, i32))
        flag = e.op(arith.ConstantOp(IntegerAttr(1 << 32, i64)))
        word = e.op(arith.OrIOp(e.op(arith.ExtUIOp(bits, i64)), flag))
        e.effect(AtomicRMWOp("ori", word, there, [e.value(self.line), e.value(place)]))

    def _wait(self, there: SSAValue, place: Num) -> SSAValue:
        """Read a value of the line until its flag is there."""
        e = self.e
        shift, none = (e.op(arith.ConstantOp(IntegerAttr(n, i64))) for n in (32, 0))
        found, at = e.alloca([1], i64, PRIVATE, "found"), [e.value(self.line), e.value(place)]

        def is_not_there() -> SSAValue:
            return e.op(arith.CmpiOp(e.op(arith.ShRUIOp(e.load(found, [0]), shift)), none, "eq"))

        with e.repeat_while(is_not_there):
            e.store(e.op(AtomicRMWOp("ori", none, there, at)), found, [0])
        bits = e.op(arith.TruncIOp(e.load(found, [0]), i32))
        return bits if self.type == i32 else e.op(arith.BitcastOp(bits, self.type))

    def _finish(self, inclusive: SSAValue, others: SSAValue) -> None:
        """Join what lies before each thread to its steps, and store them side by side."""
        e = self.e
        with self._thread() as thread:
            before = self._join(self._first(), e.load(others, [0]))
            start = e.alloca([1], self.type, PRIVATE, "start")
            e.store(before, start, [0])
            with e.when(e.compare("sgt", thread, 0)):
                e.store(self._join(before, e.load(inclusive, [e.sub(thread, 1)])), start, [0])
            with e.loop(self.each, "i", unroll=True) as i:
                value = self._join(e.load(start, [0]), e.load(self.kept, [i]))
                e.store(value, self.points, [self._of_thread(thread, i)])
        self._barrier()
        with self._thread() as thread:
            number, first = self._own()
            if self.finish is not None:
                with e.when(e.compare("eq", e.add(number, thread), 0)):
                    self._store_others(self.where)
            with e.loop(self.each, "i", unroll=True) as i:
                step = e.add(e.mul(i, self.threads), thread)
                at = e.add(first, step)
                with e.when(e.compare("slt", at, self.steps)):
                    self._store(self._at(self.where, at), [e.load(self.points, [self._in_shared(step)])])

    def _first(self) -> SSAValue:
        """The value before the first step, which no step writes."""
        e, buffer = self.e, self.old(0)
        index = self._position(0, self.where | {self.recurrence.along: e.sub(self.low, 1)})
        axis = len(index) - 1 - self.recurrence.dim
        index[axis] = e.clamp(index[axis], 0, e.sub(buffer.extent(self.recurrence.dim, e), 1))
        return e.load(buffer.memref, index)
