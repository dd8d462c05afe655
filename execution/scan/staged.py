"""Emission of a recurrence that stages operands in shared memory, a slice of the steps at a time.

    slices 0..buffers - 2 are on their way
    for each slice of the steps:
      what it reads is there; barrier
      the slice `buffers - 1` further on is on its way
      every thread goes along its line, in order
      where lines lie along the rows of memory: barrier; the block stores what they gave, lanes side by side in rows

Copies are in the order of memory, whichever way the lines lie in it. Results are those of the definition to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from xdsl.dialects import func, gpu
from xdsl.ir import SSAValue

from tilefuse.analysis.recurrence import Recurrence
from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import SET, GroupOp, ReadOp, UpdateOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.nvgpu import DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp
from tilefuse.execution.operands import Operand, staged_operands
from tilefuse.execution.scan.attribute import ScanSchedule
from tilefuse.execution.scan.emission import CoordinateValues, ScanKernel
from tilefuse.execution.staged_body import Offset, StagedBody
from tilefuse.execution.staging import Slice, Staging
from tilefuse.lowering.emit import SHARED, Num
from tilefuse.lowering.symbols import identifier


def staged_scan_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group whose schedule has a slice."""
    return _StagedScan(group).emit()


def scan_operands(update: UpdateOp, found: Recurrence, schedule: ScanSchedule) -> list[Operand]:
    """List the operands that lines read, except results of the steps just before."""
    sizes = {found.lines[0].coordinate: schedule.lines[0], found.along: schedule.slice}
    own = [read for read, back in found.back.items() if back <= 0]
    predicated = update.write_op.predicate is not None
    standing = [n for n, way in enumerate(update.combiners) if way != SET or predicated]
    return staged_operands(update, sizes, 0, own, standing)


def is_transposed(found: Recurrence, permutation: Sequence[int]) -> bool:
    """Whether lines run along the rows of the stored functions, so that results pass through shared memory."""
    return permutation[found.dim] == 0


def is_along_rows(update: UpdateOp, found: Recurrence, permutation: Sequence[int]) -> bool:
    """Whether lines run along the rows of functions that they write or read."""
    first = found.lines[0].coordinate if found.lines else None
    along = [o.axes[0].terms for o in staged_operands(update, {}, 0)]
    return is_transposed(found, permutation) or any(found.along in terms and first not in terms for terms in along)


def scan_shared_bytes(update: UpdateOp, found: Recurrence, permutation: Sequence[int], schedule: ScanSchedule) -> int:
    """Return the shared memory of a block."""
    if not schedule.slice or schedule.stores_slices:
        return 0
    each = [o.elements * o.bytes * schedule.buffers for o in scan_operands(update, found, schedule)]
    if is_transposed(found, permutation):
        row = schedule.lines[0] * (schedule.slice + 1)
        each += [row * element_bytes(old.type.element) for old in update.old_funcs]  # type: ignore[attr-defined]
    return sum(-(-n // 16) * 16 for n in each)


class _StagedScan(ScanKernel):
    def __init__(self, group: GroupOp):
        super().__init__(group)
        self.first, *self.others = self.recurrence.lines
        self.width = self.schedule.lines[0]
        """Lines of a block."""
        self.threads = math.prod(self.schedule.thread_counts)
        self.where: dict[SSAValue, Num] = {}
        """The first line of the block."""
        self.kept: list[SSAValue] = []
        self.results: list[SSAValue] = []
        """Arrays of what lines along rows give in a slice."""

    def emit(self) -> func.FuncOp:
        """Emit the kernel; return its function."""
        e = self.e
        if not self.has_steps and self.epilogue is None:
            return self.finished()
        with ExitStack() as open_scopes:
            counts = [
                e.ceildiv(self.out.extent(line.dim, e), size, f"tiles_{letter(line.dim)}")
                for line, size in zip(self.recurrence.lines, self.schedule.tile_sizes, strict=True)
            ]
            offsets = self._offsets(self.block_loops(counts, open_scopes), counts, open_scopes)
            if not all(line.is_pure for line in self.recurrence.lines):  # shared memory is used again
                e.effect(gpu.BarrierOp())
            rest: Num = 1
            # lines of a domain may be fewer than the function has: blocks beyond them have none
            inside: SSAValue | None = None
            for line, offset, size in zip(self.recurrence.lines, offsets, self.schedule.tile_sizes, strict=True):
                low, extent = self._span(line)
                self.where[line.coordinate] = e.add(low, offset)
                inside = e.both(inside, e.compare("slt", offset, extent))
                rest = e.min(e.sub(extent, offset), size) if line is self.first else rest
            self.lines = rest
            found = scan_operands(self.op, self.recurrence, self.schedule)
            self.staging = Staging(self, found, self.schedule.buffers, self.threads)
            if is_transposed(self.recurrence, self.permutation):
                shape = [self.width, self.schedule.slice + 1]
                types = [self.old(n).memref.type.element_type for n in range(len(self.op.old_funcs))]  # type: ignore[attr-defined]
                self.results = [e.alloca(shape, t, SHARED, "results") for t in types]
            with e.when(inside):
                self._lines()
        return self.finished()

    @contextmanager
    def _thread(self) -> Iterator[Num]:
        with ExitStack() as open_scopes:
            tx, ty, _ = self.thread_loops(0, open_scopes)
            yield self.e.add(self.e.mul(ty, self.width), tx)

    def _line_of(self, thread: Num) -> dict[SSAValue, Num]:
        first = self.first.coordinate
        return self.where | {first: self.e.add(self.where[first], thread)}

    def _lines(self) -> None:
        e, buffers, depth = self.e, self.schedule.buffers, self.recurrence.depth
        self.count = e.max(self.steps, 0)
        slices = e.ceildiv(self.count, self.schedule.slice)
        self.kept = self._kept(depth)
        if self.epilogue is not None:
            with self._thread() as thread, e.when(e.compare("slt", thread, self.lines)):
                self._store_others(self._line_of(thread))
        if isinstance(slices, int) and slices == 0:
            return
        with self._thread() as thread:
            with e.when(e.compare("slt", thread, self.lines)):
                for back in range(depth):
                    self._keep_old(self.kept, self._line_of(thread), back, [back])
            for number in range(buffers - 1):
                with e.when(e.compare("slt", number, slices)):
                    self._stage(number, number, thread)
                if number < buffers - 2:
                    e.op(DeviceAsyncCreateGroupOp())
        # what is kept of old values is read before others are written
        e.effect(gpu.BarrierOp())
        with e.loop(slices, "slice", unroll=1) as which:
            self._one_slice(which, slices)

    def _one_slice(self, number: Num, slices: Num) -> None:
        e, buffers = self.e, self.schedule.buffers
        with self._thread() as thread:
            if buffers == 1:
                self._stage(number, 0, thread)
            e.effect(DeviceAsyncWaitOp(e.op(DeviceAsyncCreateGroupOp()), pending=max(0, buffers - 2)))
        e.effect(gpu.BarrierOp())
        with self._thread() as thread:
            if buffers > 1:
                ahead = e.add(number, buffers - 1)
                with e.when(e.compare("slt", ahead, slices)):
                    self._stage(ahead, e.div_rem(ahead, buffers)[1], thread)
            with e.when(e.compare("slt", thread, self.lines)):
                self._go(number, thread)
        if self.results:
            e.effect(gpu.BarrierOp())
            with self._thread() as thread:
                self._store_results(number, thread)
        elif buffers == 1:
            e.effect(gpu.BarrierOp())

    # --- slices

    def _steps_of(self, number: Num) -> tuple[Num, Num, SSAValue | None]:
        """Return the first step of a slice, its number of steps, and whether it is full (None: every slice is)."""
        e, size = self.e, self.schedule.slice
        start = e.mul(number, size)
        steps = e.min(e.sub(self.count, start), size)
        is_full = isinstance(self.count, int) and self.count % size == 0
        return start, steps, None if is_full else e.compare("eq", steps, size)

    def _stage(self, number: Num, buffer: Num, thread: Num) -> None:
        """Begin to copy the operands of a slice."""
        e, along, first = self.e, self.recurrence.along, self.first.coordinate
        start, steps, is_full = self._steps_of(number)
        firsts = self.where | {along: e.add(self.low, start)}
        lasts = {
            first: e.sub(e.add(self.where[first], self.lines), 1),
            along: e.sub(e.add(firsts[along], steps), 1),
        }
        full_store = e.both(is_full, e.compare("eq", self.lines, self.width))
        assert full_store is not None
        e.choose(
            full_store,
            lambda: self.staging.copy(buffer, Slice(firsts, {}), thread),
            lambda: self.staging.copy(buffer, Slice(firsts, lasts), thread),
        )

    def _go(self, number: Num, thread: Num) -> None:
        """Scan the line of a thread through a slice."""
        e, unroll = self.e, self.schedule.unroll
        start, steps, is_full = self._steps_of(number)
        buffer, where = e.div_rem(number, self.schedule.buffers)[1], self._line_of(thread)
        name = identifier(self.recurrence.along.name_hint or "r")

        def some(k: Num, count: int) -> None:
            body = StagedBody(self, self.staging, buffer)
            self._steps_in(body, where | {self.recurrence.along: e.add(self.low, start)}, thread, k, count)

        def full_store() -> None:
            with e.loop(self.schedule.slice, name, step=unroll) as k:
                some(k, unroll)

        def part() -> None:
            with e.loop(steps, name) as k:
                some(k, 1)

        if is_full is None:
            full_store()
        else:
            e.choose(is_full, full_store, part)

    def _steps_in(self, body: StagedBody, where: Mapping[SSAValue, Num], thread: Num, k: Num, count: int) -> None:
        """Emit `count` steps from step `k` of a slice, after loads of all inputs."""
        e, along = self.e, self.recurrence.along
        last = [[e.load(of, [back]) for back in range(self.recurrence.depth)] for of in self.kept]
        points = []
        for u in range(count):
            at = dict(where) | {along: e.add(e.add(where[along], k), u)}
            points.append((at, {self.first.coordinate: Offset(thread), along: Offset(k, u, max(count, 1))}))
        for at, offsets in points:
            body.offsets = offsets
            body.prepare(at, lambda read: body.load(read) if read in self.staging.of else None)
        for u, (at, offsets) in enumerate(points):
            body.offsets = offsets
            self._step(body, at, last, [thread, e.add(k, u)])
        for of, values in zip(self.kept, last, strict=True):
            for back, value in enumerate(values):
                e.store(value, of, [back])

    def _step(self, body: StagedBody, at: CoordinateValues, last: list[list[SSAValue]], place: Sequence[Num]) -> None:
        """Emit one step; `last` has the results of earlier steps, and receives its own. `place`: of its result."""
        e = self.e

        def own(read: ReadOp) -> SSAValue:
            back = self.recurrence.back[read]
            if back > 0:
                return last[self.op.currents.index(read.source)][back - 1]  # type: ignore[arg-type]
            return body.load(read) if read in self.staging.of else self._read_old(read, at)

        terms, counts = body.at(at, own)
        new = []
        for number, term in enumerate(terms):
            name = (self.op.write_op, number)
            before = body.load(name) if name in self.staging.of else self._standing(number, at)
            new.append(self.left(number, before, term, counts))
        if not self.results:
            self._store(at, new)
        for number, value in enumerate(new):
            if self.results:
                e.store(value, self.results[number], place)
            last[number] = [value, *last[number][:-1]]

    def _store_results(self, number: Num, thread: Num) -> None:
        """Store the results of the block's lines in a slice: adjacent threads store adjacent elements."""
        e, size, along, first = self.e, self.schedule.slice, self.recurrence.along, self.first.coordinate
        start, steps, _ = self._steps_of(number)
        with e.loop(self.width * size, "item", start=thread, step=self.threads, unroll=8) as item:
            line, step = e.div_rem(item, size)
            with e.when(e.both(e.compare("slt", line, self.lines), e.compare("slt", step, steps))):
                at = self.where | {
                    first: e.add(self.where[first], line),
                    along: e.add(e.add(self.low, start), step),
                }
                self._store(at, [e.load(array, [line, step]) for array in self.results])
