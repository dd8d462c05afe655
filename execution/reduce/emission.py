"""Emission of a reduction: warps sum their shares of the domain, then the block, then the last of its blocks.

What is joined with what, and in which order, depends on the schedule and the extents alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count

from xdsl.dialects import arith, func, gpu
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import SSAValue

from tilefuse.analysis.first_best import first_best
from tilefuse.analysis.joined_tuple import joined_tuple
from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.memref_atomics import AtomicRMWOp
from tilefuse.dialects.nvvm import MemoryBarrierOp, MemScope
from tilefuse.execution.reduce.attribute import ReduceSchedule
from tilefuse.execution.reduce.folding import Accumulators, Values, folds_of
from tilefuse.execution.reduce.memory import TILE_TICKETS, partial_name, workspaces
from tilefuse.execution.reduce.traversal import Traversal
from tilefuse.lowering.emit import SHARED, Num
from tilefuse.lowering.update_body import UpdateFunction, wide_reads
from tilefuse.lowering.update_ends import Ends

_UNROLL = 8
"""Partial results that a thread loads at once."""


def reduce_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group that holds a reduction."""
    return _ReduceKernel(group).emit()


class _ReduceKernel:
    """A reduction's kernel during emission."""

    def __init__(self, group: GroupOp):
        self.schedule = ReduceSchedule.expect(group.schedule)
        self.function = UpdateFunction(group, workspaces(group))
        self.e, self.op = self.function.e, self.function.op
        self.folds = folds_of(self.e, self.op, self.schedule)
        if (found := first_best(self.op) or joined_tuple(self.op)) is not None:
            # where a point stands to what is there is for the folds to say
            self.function.skipped = found.skipped
            for number, term in zip(found.functions, found.terms, strict=True):
                self.function.terms[number] = term
        self.mins = [self.function.out.mins[d] for d in self.op.pure_dims]
        self.extents = [self.function.out.extent(d, self.e) for d in self.op.pure_dims]
        along = self.op.pure[0] if self.schedule.pure_lanes else self.op.domain[0].coordinate
        # without warps a compiler finds vectors by itself, wherever they lie
        wide = wide_reads(self.op, along) if self.schedule.lanes > 1 else []
        self.traversal = Traversal(self.function, self.schedule, wide)

    def emit(self) -> func.FuncOp:
        """Emit the function of the kernel."""
        e, s = self.e, self.schedule
        with ExitStack() as open_scopes:
            self._block(open_scopes)
            shared = s.team > 1 or s.split > 1
            arrays = self.folds if shared else []
            self.rows = [[e.alloca([s.team, s.points], t, SHARED, "of_warps") for t in f.types] for f in arrays]
            self.last = e.alloca([1], i32, SHARED, "is_last") if s.split > 1 else None
            with self._threads() as (warp, lane):
                self._warp(warp, lane)
            if shared:
                self._barrier()
                with self._threads() as (warp, lane):
                    self._join_warps(warp, lane)
            if s.split > 1:
                self._barrier()
                self._take_ticket()
                self._barrier()
                with self._threads() as (warp, lane):
                    assert self.last is not None
                    with e.when(e.op(arith.CmpiOp(e.load(self.last, [0]), self._i32(1), "eq"))):
                        e.effect(MemoryBarrierOp(MemScope.Gpu))
                        self._join_blocks(warp, lane)
        return self.function.finished()

    # --- blocks and threads

    def _block(self, open_scopes: ExitStack) -> None:
        """Open the loops over blocks; find each block's tile and share of the domain."""
        e, s = self.e, self.schedule
        counts = [
            e.ceildiv(n, size, f"tiles_{letter(d)}")
            for d, (n, size) in enumerate(zip(self.extents, s.tile_sizes, strict=True))
        ]
        wide, high, deep = (*counts[:2], *[1] * (2 - len(counts[:2])), counts[2:])  # type: ignore[misc]
        depth: Num = s.split
        for n in deep:
            depth = e.mul(depth, n)
        bz = open_scopes.enter_context(e.loop(depth, "bz", level="block_z"))
        by = open_scopes.enter_context(e.loop(high, "by", level="block_y"))
        bx = open_scopes.enter_context(e.loop(wide, "bx", level="block_x"))
        rest, self.share = e.div_rem(bz, s.split)
        self.number = e.add(e.mul(e.add(e.mul(rest, high), by), wide), bx)
        """Number of the tile, in grid order."""
        places: list[Num] = [bx, by]
        for n in deep[:-1]:
            quotient = e.op(arith.DivUIOp(e.value(rest), e.value(n)))
            places.append(e.sub(rest, e.mul(quotient, n)))
            rest = quotient
        places.append(rest)
        self.origin = [e.mul(p, size) for p, size in zip(places, s.tile_sizes, strict=False)]
        """First point of the tile, relative to the first pure point."""

    @contextmanager
    def _threads(self) -> Iterator[tuple[Num, Num]]:
        e, s = self.e, self.schedule
        with (
            e.loop(s.warps, "ty", level="thread_y") as warp,
            e.loop(s.lanes, "tx", level="thread_x") as lane,
        ):
            yield warp, lane

    def _barrier(self) -> None:
        self.e.effect(gpu.BarrierOp())

    def _i32(self, n: int) -> SSAValue:
        return self.e.op(arith.ConstantOp(IntegerAttr(n, i32)))

    # --- the first phase: warps

    def _warp(self, warp: Num, lane: Num) -> None:
        """Sum a warp's share, and pass it to the next phase, or write it if there is none."""
        e, s = self.e, self.schedule
        row, member = e.div_rem(warp, s.team)
        worker = e.add(e.mul(self.share, s.team), member)
        # without warps a compiler makes vectors of loops
        sums = Accumulators(e, self.folds, s.vector_width, as_loop=s.lanes == 1)
        if s.pure_lanes:
            first = e.add(e.mul(row, s.lanes * s.vector_width), e.mul(lane, s.vector_width))
            self._across(first, worker, sums)
            sums.each(lambda v: self._leave(member, e.add(first, v), sums.value(v)), simd=False)
            return
        pure, inside = self._pure(row)
        with e.when(inside):
            aligned = self.traversal.aligned(self.traversal.lows[0])
            if aligned is None:
                self.traversal.along(pure, worker, lane, sums, True)
            else:
                e.choose(
                    aligned,
                    lambda: self.traversal.along(pure, worker, lane, sums, True),
                    lambda: self.traversal.along(pure, worker, lane, sums, False),
                )
        values = sums.together(s.lanes)
        with e.when(e.compare("eq", lane, 0) if s.lanes > 1 else None):
            self._leave(member, row, values)

    def _across(self, first: Num, worker: Num, sums: Accumulators) -> None:
        e, s, traversal = self.e, self.schedule, self.traversal
        pure, _ = self._pure(first)
        # all of the tile, so that lanes stay together
        ends = [e.compare("sle", e.add(o, size), n)
                for o, size, n in zip(self.origin, s.tile_sizes, self.extents, strict=True)]  # fmt: skip
        all_inside: SSAValue | None = None
        for end in ends:
            all_inside = e.both(all_inside, end)
        assert all_inside is not None

        def every(wide: bool) -> None:
            traversal.across(pure, worker, sums, wide, None)

        def inner() -> None:
            aligned = traversal.aligned(self.mins[0])
            if aligned is None:
                every(True)
            else:
                e.choose(aligned, lambda: every(True), lambda: every(False))

        def inside(v: Num) -> SSAValue | None:
            return self._pure(e.add(first, v))[1]

        e.choose(all_inside, inner, lambda: traversal.across(pure, worker, sums, False, inside))

    def _pure(self, place: Num) -> tuple[dict[SSAValue, Num], SSAValue | None]:
        """Return the pure coordinates of a tile's point, and whether it lies in the box."""
        e, s = self.e, self.schedule
        found: dict[SSAValue, Num] = {}
        inside: SSAValue | None = None
        for number, coordinate in enumerate(self.op.pure):
            here: Num = 0
            if s.tile_sizes[number] > 1:
                last = not any(size > 1 for size in s.tile_sizes[number + 1 :])
                place, here = (0, place) if last else e.div_rem(place, s.tile_sizes[number])
            offset = e.add(self.origin[number], here)
            found[coordinate] = e.add(self.mins[number], offset)
            if s.tile_sizes[number] > 1:
                inside = e.both(inside, e.compare("slt", offset, self.extents[number]))
        return found, inside

    def _leave(self, member: Num, place: Num, values: Sequence[Values]) -> None:
        """Store a warp's sums of a point for the next phase."""
        if not self.rows:
            self._write(place, values)
        for arrays, found in zip(self.rows, values, strict=False):
            for array, value in zip(arrays, found, strict=True):
                self.e.store(value, array, [member, place])

    # --- the second phase: a block

    @contextmanager
    def _each_point(self, warp: Num, lane: Num) -> Iterator[Num]:
        """Distribute the points of the tile over the threads of the block."""
        e, s = self.e, self.schedule
        count = s.lanes * s.warps
        thread = e.add(e.mul(warp, s.lanes), lane)
        if s.points > count:
            with e.loop(s.points, "point", start=thread, step=count) as point:
                yield point
            return
        with e.when(e.compare("slt", thread, s.points) if s.points < count else None):
            yield thread if count > 1 else 0

    def _join_warps(self, warp: Num, lane: Num) -> None:
        e, s = self.e, self.schedule
        with self._each_point(warp, lane) as point:
            values = []
            for fold, arrays in zip(self.folds, self.rows, strict=True):
                value = [e.load(array, [0, point]) for array in arrays]
                for member in range(1, s.team):
                    value = fold.join(value, [e.load(array, [member, point]) for array in arrays])
                values.append(value)
            if s.split == 1:
                self._write(point, values)
                return
            for found, partials in zip(values, self._partials(), strict=True):
                for v, partial in zip(found, partials, strict=True):
                    e.store(v, partial, [self.share, self.number, point])
            e.effect(MemoryBarrierOp(MemScope.Gpu))

    def _partials(self) -> list[list[SSAValue]]:
        """Return the workspaces with the sums of blocks, by fold."""
        numbers = count()
        return [[self.function.workspaces[partial_name(next(numbers))] for _ in f.types] for f in self.folds]

    # --- the third phase: the last block of a tile

    def _take_ticket(self) -> None:
        """Take a ticket; return whether this block is the last one of its domain."""
        e, s = self.e, self.schedule
        assert self.last is not None
        with self._threads() as (warp, lane):
            thread = e.add(e.mul(warp, s.lanes), lane)
            with e.when(e.compare("eq", thread, 0) if s.lanes * s.warps > 1 else None):
                tickets = self.function.workspaces[TILE_TICKETS]
                before = e.op(AtomicRMWOp("addi", self._i32(1), tickets, [e.value(self.number)]))
                is_last = e.op(arith.CmpiOp(before, self._i32(s.split - 1), "eq"))
                e.store(e.op(arith.ExtUIOp(is_last, i32)), self.last, [0])

    def _join_blocks(self, warp: Num, lane: Num) -> None:
        e, s = self.e, self.schedule
        if s.pure_lanes or s.lanes == 1:
            with self._each_point(warp, lane) as point:
                self._write(point, self._over_blocks(point, 0, 1, 1))
            return
        # a warp for each point: there are as many or more
        with e.when(e.compare("slt", warp, s.points) if s.points < s.warps else None):
            values = self._over_blocks(warp, lane, s.lanes, s.lanes)
            with e.when(e.compare("eq", lane, 0)):
                self._write(warp, values)

    def _over_blocks(self, point: Num, start: Num, step: int, lanes: int) -> list[Values]:
        """Combine the blocks' results at a point, distributed over threads."""
        e, s = self.e, self.schedule
        sums = Accumulators(e, self.folds, 1)
        with e.loop(s.split, "block", start=start, step=step, unroll=_UNROLL) as block:
            place = [block, self.number, point]
            sums.join(0, [[e.load(partial, place) for partial in partials] for partials in self._partials()])
        return sums.together(lanes)

    # --- the end

    def _write(self, place: Num, values: Sequence[Values]) -> None:
        """Combine a point's total with the old value, and write it."""
        e = self.e
        pure, inside = self._pure(place)
        with e.when(inside):
            ends = Ends(self.function)
            found = ends.start(pure)
            for fold, total in zip(self.folds, values, strict=True):
                new = fold.onto([found[n] for n in fold.functions], total)
                for n, value in zip(fold.functions, new, strict=True):
                    found[n] = value
            ends.store(pure, found)
