"""Emission of a reduction that stages its operands in shared memory, a slice of the domain at a time.

    slices 0..buffers - 2 are on their way
    for each slice of the domain, in its order:
      its operands are there; barrier
      the slice `buffers - 1` further on is on its way, into the buffer that the last one has left
      every thread adds the slice's steps to the sums of its points, in order

Each point goes over the domain in order, as without a slice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product

from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import SSAValue

from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.nvgpu import DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp
from tilefuse.execution.gemm.attribute import PATCH
from tilefuse.execution.gemm.emission import GemmKernel
from tilefuse.execution.gemm.slices import sizes_of, unrolled_steps
from tilefuse.execution.operands import staged_operands
from tilefuse.execution.staged_body import Offset, StagedBody
from tilefuse.execution.staging import Slice, Staging, buffer_rows_are_contiguous, vectors_are_aligned
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Num
from tilefuse.lowering.symbols import identifier
from tilefuse.lowering.update_ends import Ends

STORE_BYTES = 16


def staged_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group whose schedule has a slice."""
    return _StagedGemm(group).emit()


class _StagedGemm(GemmKernel):
    def __init__(self, group: GroupOp):
        super().__init__(group)
        self.threads = math.prod(self.schedule.thread_counts)
        self.steps = [*self.schedule.slice, *[1] * (len(self.op.domain) - len(self.schedule.slice))]
        self.last = max((d for d, n in enumerate(self.steps) if n > 1), default=0)
        """The dimension of the domain that slices cut; those further in are whole in each."""
        self.lows = [self.scalar(d.min) for d in self.op.domain]
        self.spans = [self.e.max(self.scalar(d.extent), 0) for d in self.op.domain]
        self.points = list(product(*(range(p) for p in reversed(self.schedule.points))))
        self.staging: Staging | None = None
        self.sums: list[SSAValue] = []

    def emit(self) -> func.FuncOp:
        """Emit the function of the kernel."""
        e, sizes = self.e, self.schedule.tile_sizes
        with ExitStack() as open_scopes:
            counts = [
                e.ceildiv(n, size, f"tiles_{letter(d)}")
                for n, size, d in zip(self.extents, sizes, self.dims, strict=True)
            ]
            blocks = self.block_loops(counts, open_scopes)
            self.firsts = [e.mul(b, size) for b, size in zip(blocks, sizes, strict=True)]
            found = staged_operands(self.op, sizes_of(self.op, self.schedule))
            self.staging = Staging(self, found, self.schedule.buffers, self.threads)
            fits: SSAValue | None = None
            for n, size in zip(self.extents, sizes, strict=True):
                if size > 1:
                    fits = e.both(fits, e.compare("sge", n, size))
            assert fits is not None
            e.choose(fits, self._whole_tile, self._part_of_tile)
        kernel = self.finished()
        if resident := self.schedule.resident_blocks:
            kernel.attributes["kernel.min_blocks"] = IntegerAttr(resident, i64)
        return kernel

    @contextmanager
    def _threads(self) -> Iterator[Num]:
        """Open the loops over threads; return the number of the thread in the block."""
        e, (width, height, _) = self.e, [*self.schedule.thread_counts, 1, 1, 1][:3]
        with ExitStack() as open_scopes:
            lanes = self.thread_loops(len(self.dims), open_scopes)
            tx, ty, tz = lanes[:3]
            thread = e.add(e.mul(e.add(e.mul(tz, height), ty), width), tx)
            if self.schedule.zigzag:
                lanes = [*self._zigzag(thread, width, height), *lanes[3:]]
            self.lanes = lanes[: len(self.dims)]
            yield thread

    def _zigzag(self, thread: Num, width: int, height: int) -> list[Num]:
        """Return the coordinates of a thread in a block of patches.

        Lanes l and l ^ 1 have one place along x, and l and l ^ 2 one along the others.
        """
        e, (wide, high) = self.e, PATCH
        warp, lane = e.div_rem(thread, wide * high)
        row, column = e.div_rem(warp, width // wide)
        half, odd = e.div_rem(lane, 2)
        upper, along = e.div_rem(half, wide)
        other = e.add(e.mul(row, high), e.add(e.mul(upper, 2), odd))
        tz, ty = e.div_rem(other, height)
        return [e.add(e.mul(column, wide), along), ty, tz]

    def _part_of_tile(self) -> None:
        with self._threads():
            self._point_by_point()

    # --- tiles whose points all lie inside

    def _whole_tile(self) -> None:
        e, buffers = self.e, self.schedule.buffers
        self.starts = [
            first if size == 1 else e.min(first, e.sub(n, size))
            for first, n, size in zip(self.firsts, self.extents, self.schedule.tile_sizes, strict=True)
        ]
        self.sums = self.new_sums(len(self.points))
        slices: Num = e.ceildiv(self.spans[self.last], self.steps[self.last])
        for n in self.spans[self.last + 1 :]:
            slices = e.mul(slices, n)
        if isinstance(slices, int) and slices == 0:
            with self._threads():
                self._begin_all()
                self._end_all()
            return
        with self._threads() as thread:
            self._begin_all()
            for number in range(buffers - 1):
                with e.when(e.compare("slt", number, slices)):
                    self._stage(number, number, thread)
                if number < buffers - 2:
                    e.op(DeviceAsyncCreateGroupOp())
        # several slices written out take registers, and nothing is gained
        with e.loop(slices, "slice", unroll=1) as which:
            self._one_slice(which, slices)
        with self._threads():
            self._end_all()

    def _one_slice(self, number: Num, slices: Num) -> None:
        e, buffers = self.e, self.schedule.buffers
        with self._threads() as thread:
            if buffers == 1:
                self._stage(number, 0, thread)
            e.effect(DeviceAsyncWaitOp(e.op(DeviceAsyncCreateGroupOp()), pending=max(0, buffers - 2)))
        e.effect(gpu.BarrierOp())
        with self._threads() as thread:
            if buffers > 1:
                ahead = e.add(number, buffers - 1)
                with e.when(e.compare("slt", ahead, slices)):
                    self._stage(ahead, self._buffer(ahead), thread)
            self._compute(number)
        if buffers == 1:
            e.effect(gpu.BarrierOp())

    def _buffer(self, number: Num) -> Num:
        """Return the buffer of a slice."""
        return self.e.div_rem(number, self.schedule.buffers)[1]

    # --- slices

    def _first_steps(self, number: Num) -> tuple[list[Num], Num, SSAValue | None]:
        """Return a slice's first step per dimension of the domain, its steps along the cut one, and whether it is full.

        The last is None if every slice is full.
        """
        e, last, step = self.e, self.last, self.steps[self.last]
        counts = [e.ceildiv(self.spans[last], step), *self.spans[last + 1 :]]
        places: list[Num] = []
        for n in counts[:-1]:
            number, place = self.e.div_rem(number, n)
            places.append(place)
        places.append(number)
        cut = e.mul(places[0], step)
        offsets = [*[0] * last, cut, *places[1:]]
        span = self.spans[last]
        rest = e.min(e.sub(span, cut), step)
        is_full = None if isinstance(span, int) and span % step == 0 else e.compare("eq", rest, step)
        return [e.add(low, o) for low, o in zip(self.lows, offsets, strict=True)], rest, is_full

    def _stage(self, number: Num, buffer: Num, thread: Num) -> None:
        """Begin to copy the operands of a slice."""
        e, staging = self.e, self.staging
        assert staging is not None
        begin, rest, is_full = self._first_steps(number)
        firsts: dict[SSAValue, Num] = self.coordinates(self.starts)
        firsts |= {d.coordinate: first for d, first in zip(self.op.domain, begin, strict=True)}
        if is_full is None:
            staging.copy(buffer, Slice(firsts, {}), thread)
            return
        cut = self.op.domain[self.last].coordinate
        lasts = {cut: e.sub(e.add(begin[self.last], rest), 1)}
        e.choose(
            is_full,
            lambda: staging.copy(buffer, Slice(firsts, {}), thread),
            lambda: staging.copy(buffer, Slice(firsts, lasts), thread),
        )

    def _compute(self, number: Num) -> None:
        """Add the steps of a slice to the sums, in order."""
        begin, rest, is_full = self._first_steps(number)
        buffer = self._buffer(number)
        if is_full is None:
            self._steps(begin, buffer, self.steps[self.last])
            return
        self.e.choose(
            is_full,
            lambda: self._steps(begin, buffer, self.steps[self.last]),
            lambda: self._steps(begin, buffer, rest),
        )

    def _steps(self, begin: Sequence[Num], buffer: Num, count: Num) -> None:
        """Emit a slice of `count` steps along its cut dimension."""
        e, last, domain = self.e, self.last, [d.coordinate for d in self.op.domain]
        counts: list[Num] = [*self.steps[:last], count]
        written = unrolled_steps(counts, self.schedule.unroll)
        cut = len(written)
        unroll = max(1, self.schedule.unroll // math.prod(written))
        with ExitStack() as open_scopes:
            offsets: dict[SSAValue, Offset] = {}
            for d in range(last, cut, -1):
                name = identifier(domain[d].name_hint or "r")
                offsets[domain[d]] = Offset(open_scopes.enter_context(e.loop(counts[d], name)))

            def some(k: Num, steps: int, multiple: int) -> None:
                body = StagedBody(self, self.staging, buffer)  # type: ignore[arg-type]
                for inner in product(range(steps), *(range(n) for n in reversed(written))):
                    here = dict(zip(domain, (Offset(0, n) for n in reversed(inner[1:])), strict=False))
                    if cut <= last:
                        here[domain[cut]] = Offset(k, inner[0], multiple)
                    self._step(body, begin, offsets | here)

            if cut > last:
                some(0, 1, 1)
                return
            steps, name = counts[cut], identifier(domain[cut].name_hint or "r")
            if not isinstance(steps, int):
                with e.loop(steps, name) as k:
                    some(k, 1, 1)
                return
            unrolled = steps // unroll * unroll
            if unrolled:
                with e.loop(unrolled, name, step=unroll, unroll=True) as k:
                    some(k, unroll, unroll)
            if unrolled < steps:
                some(unrolled, steps - unrolled, unroll)

    def _step(self, body: StagedBody, begin: Sequence[Num], offsets: dict[SSAValue, Offset]) -> None:
        """Add the terms of one step to all sums of the thread."""
        e = self.e
        domain: dict[SSAValue, Num] = {}
        for dimension, first in zip(self.op.domain, begin, strict=True):
            o = offsets.get(dimension.coordinate, Offset())
            domain[dimension.coordinate] = e.add(e.add(first, o.number), o.constant)
        for p, point in enumerate(self.points):
            pure = self._offsets(point[::-1])
            at = [e.add(e.add(start, o.number), o.constant) for start, o in zip(self.starts, pure, strict=True)]
            body.offsets = offsets | dict(zip(self.op.pure, pure, strict=True))
            self._add(body, self.sums, [p], self.coordinates(at) | domain)

    # --- points

    def _offsets(self, point: Sequence[int]) -> list[Offset]:
        """Return the offsets of a thread's point in its tile."""
        e, vector, threads = self.e, self.schedule.run, self.schedule.thread_counts
        run, within = divmod(point[0], vector)
        found = [Offset(e.mul(self.lanes[0], vector), run * threads[0] * vector + within, vector)]
        for lane, o, n, each in zip(self.lanes[1:], point[1:], threads[1:], self.schedule.points[1:], strict=True):
            near = self.schedule.adjacent and each > 1
            found.append(Offset(e.mul(lane, each), o, each) if near else Offset(lane, o * n))
        return found

    def _at(self, point: Sequence[int]) -> list[Num]:
        """Return the coordinates of a thread's point, from the box's first."""
        e = self.e
        offsets = self._offsets(point)
        return [e.add(e.add(start, o.number), o.constant) for start, o in zip(self.starts, offsets, strict=True)]

    def _runs(self) -> list[tuple[int, list[Num]]]:
        """Return the runs of a thread's points along x: number and place of the first point."""
        vector = self.schedule.run
        return [(p, self._at(point[::-1])) for p, point in enumerate(self.points) if p % vector == 0]

    def _is_aligned(self, buffers: Sequence[KernelBuffer]) -> SSAValue | None:
        """Return whether a thread's runs are vector-aligned in all functions; None without vectors."""
        e, vector = self.e, self.schedule.run
        if vector == 1 or vector & (vector - 1) or self.dims[0] != 0:
            return None
        found: SSAValue | None = None
        first = e.add(self.out.mins[0], self.starts[0])
        for buffer in buffers:
            element = buffer.memref.type.element_type  # type: ignore[attr-defined]
            bytes = element_bytes(element) * vector
            if not buffer_rows_are_contiguous(buffer) or bytes > STORE_BYTES or element == i1:
                return None
            found = e.both(found, vectors_are_aligned(self, buffer, first, bytes))
        return found

    def _begin_all(self) -> None:
        """Load the initial values of the sums."""
        e, vector, ends = self.e, self.schedule.run, Ends(self)

        def one_by_one() -> None:
            for p, point in enumerate(self.points):
                self.begin(self.sums, [p], self._at(point[::-1]), ends)

        def by_vectors() -> None:
            for p, at in self._runs():
                for number, of in enumerate(self.sums):
                    index = self.old(number).index(ends.position(self.coordinates(at)), e)
                    values = e.load_vector(self.old(number).memref, index, vector)
                    for v, value in enumerate(values):
                        e.store(value, of, [p + v])

        if self.prologue is not None:
            one_by_one()
            return
        is_aligned = self._is_aligned([self.old(number) for number in range(len(self.sums))])
        if is_aligned is None:
            one_by_one()
        else:
            e.choose(is_aligned, by_vectors, one_by_one)

    def _end_all(self) -> None:
        """Store the sums of the points that are this block's own."""
        e, vector = self.e, self.schedule.run

        def one_by_one() -> None:
            for p, point in enumerate(self.points):
                at = self._at(point[::-1])
                with e.when(self._is_own(at, self.starts)):
                    self.end(self.sums, [p], at)

        def by_vectors() -> None:
            ends = Ends(self)
            for p, at in self._runs():
                run = []
                for v in range(vector):
                    here = self.coordinates([e.add(at[0], v), *at[1:]])
                    run.append(ends.results(here, [e.load(of, [p + v]) for of in self.sums]))
                for number, values in enumerate(zip(*run, strict=True)):
                    index = ends.index(number, self.coordinates(at))
                    e.store_vector(list(values), self.targets[number].memref, index)

        is_aligned = self._is_aligned(self.targets) if self.permutation[:1] == (0,) else None
        if is_aligned is None:
            one_by_one()
            return
        for first, start in zip(self.firsts, self.starts, strict=True):
            if start is not first:
                is_aligned = e.both(is_aligned, e.compare("eq", first, start))
        assert is_aligned is not None
        e.choose(is_aligned, by_vectors, one_by_one)
