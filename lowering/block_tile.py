"""Execution model `block_tile`: overlapped tiles in shared memory, several points per thread.

Every block-level stage is a phase: the threads of the block share out its region, and a barrier ends it.
The output stage is the last phase: each thread computes its own points, with thread-level stages in
registers around them (nested fusion, Sioutas 2020), and stores them. With `vector`, points along x are computed in
pieces (`lowering/pieces.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from xdsl.dialects import gpu
from xdsl.ir import SSAValue

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.placement import shared_elements, shared_row
from tilefuse.analysis.regions import Follow, Region, follow_chain, regions
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level, Memory
from tilefuse.dialects.img.ops import GroupOp, StageOp
from tilefuse.lowering.abi import block_tile
from tilefuse.lowering.emit import PRIVATE, SHARED, Emitter, Num
from tilefuse.lowering.pieces import (
    Alignment,
    Gather,
    Reader,
    SharedRows,
    access_width,
    pieced_inputs,
    reads_by_pieces,
    unrolled,
)
from tilefuse.lowering.reads import Buffer, Point, Resident, Tile, emit_stage

ROWS_PER_ITEM = 4
"""Rows of a block-level region that a thread computes together, so that it loads shared rows once."""


@dataclass(frozen=True)
class _Items:
    """Boxes of equal size that make up (part of) a stage's region, shared out among the threads of a block."""

    counts: list[int]
    """Boxes per dimension, x first."""
    sizes: list[int]
    """Points of each."""
    column: Callable[[Num], Num]
    """The first column, relative to the tile, of the boxes at a place in x."""

    @property
    def number(self) -> int:
        return math.prod(self.counts)


class BlockTile:
    """Emits the tile body of one group."""

    def __init__(self, group: GroupOp, model: PipelineModel, e: Emitter, tile: Tile, outputs: list[Buffer]):
        assert group.schedule is not None
        self.group, self.model, self.e, self.tile, self.outputs = group, model, e, tile, outputs
        self.schedule = group.schedule
        self.ids = {s: model.node_of[s.funcs[0]] for s in group.stages}
        self.output = group.output_stage
        self.block_stages = [s for s in group.stages if self._where(s) == (Level.Block, Memory.Shared)]
        self.thread_stages = [s for s in group.stages if self._where(s) == (Level.Thread, Memory.Register)]
        members = list(self.ids.values())
        self.follow = follow_chain(model, members, self.ids[self.output])
        self.tile_sizes = block_tile(group)
        self.thread_counts = list(self.schedule.thread_counts)
        self.regions = regions(model, members, self.ids[self.output], self.tile_sizes, self.follow)
        self.piece = self.schedule.piece
        self.alignment = Alignment(e)
        self.shared: dict[SSAValue, SharedRows] = {}
        self.gather = Gather(e, tile, self.alignment, self.shared, self.piece)

    def _where(self, stage: StageOp) -> tuple[Level, Memory]:
        if stage is self.output:
            return (Level.Thread, Memory.Global)
        if stage.place is None:
            raise PipelineError(
                f"stage '{stage.sym_name.data}' of group '{self.group.sym_name.data}' has no place; run "
                "promote-memory, or write place #img.place<block, shared>",
                stage,
            )
        return stage.place.where

    def emit(self) -> None:
        """The whole body."""
        if self.piece > 1:
            self._align()
        arrays = self._allocate()
        for stage in self.block_stages:
            self._separate(stage, arrays)
            self._block_phase(stage, arrays[stage])
        if self.block_stages:
            self.e.effect(gpu.BarrierOp())
        self._output_phase()

    @staticmethod
    def interior(
        group: GroupOp,
        model: PipelineModel,
        e: Emitter,
        buffers: dict[SSAValue, Buffer],
        origin: Sequence[Num],
    ) -> SSAValue | None:
        """What an interior tile needs beside full tiles and boundary boxes: nothing."""
        return None

    @staticmethod
    def slack(group: GroupOp, model: PipelineModel) -> int:
        """Columns left of the tile that it may store, too."""
        return 0

    @staticmethod
    def aligned(
        group: GroupOp,
        model: PipelineModel,
        e: Emitter,
        buffers: dict[SSAValue, Buffer],
        outputs: Sequence[Buffer],
        origin: Sequence[Num],
    ) -> SSAValue | None:
        """What vector accesses need: there are none."""
        return None

    def _align(self) -> None:
        """What there is to know of the rows of global memory."""
        tile, out = self.tile, self.follow[self.ids[self.output]]
        for f, buffer in zip(self.group.funcs, self.outputs, strict=True):
            self.alignment.add(f, buffer, tile.absolute(self.e, out[0], 0))
        inputs = pieced_inputs(self.group.stages, {s: self.follow[id] for s, id in self.ids.items()})
        for base, follow in dict.fromkeys(inputs):
            self.alignment.add(base, tile.buffers[base], tile.absolute(self.e, follow, 0))

    # --- shared memory

    def _slot(self, stage: StageOp) -> int:
        assert stage.place is not None
        return stage.place.slot.data

    def _allocate(self) -> dict[StageOp, list[SSAValue]]:
        """One array per value of each block-level stage; stages of one slot share theirs."""
        sizes: dict[tuple[int, int, object], int] = {}
        for stage in self.block_stages:
            assert stage.place is not None
            n = shared_elements(self.regions[self.ids[stage]], stage.place.pad.data, self.piece)
            for i, f in enumerate(stage.funcs):
                key = (self._slot(stage), i, f.type.storage)
                sizes[key] = max(sizes.get(key, 0), n)
        arrays: dict[tuple[int, int, object], SSAValue] = {}
        result: dict[StageOp, list[SSAValue]] = {}
        for stage in self.block_stages:
            assert stage.place is not None
            result[stage] = []
            for i, f in enumerate(stage.funcs):
                key = (self._slot(stage), i, f.type.storage)
                if key not in arrays:
                    name = f"sh_{stage.sym_name.data}"
                    arrays[key] = self.e.alloca([sizes[key]], f.type.storage, SHARED, name)
                result[stage].append(arrays[key])
        self._pending: set[SSAValue] = set()
        self._read_since: set[SSAValue] = set()
        return result

    def _separate(self, stage: StageOp, arrays: dict[StageOp, list[SSAValue]]) -> None:
        """A barrier, if this phase reads what was written, or overwrites what was read, since the last one."""
        model = self.model
        reads = {
            array
            for other in self.block_stages
            if any(a.producer == self.ids[other] for a in model.nodes[self.ids[stage]].accesses)
            for array in arrays[other]
        }
        writes = set(arrays[stage])
        if reads & self._pending or writes & (self._read_since | self._pending):
            self.e.effect(gpu.BarrierOp())
            self._pending, self._read_since = set(), set()
        self._pending |= writes
        self._read_since |= reads

    def _block_phase(self, stage: StageOp, arrays: Sequence[SSAValue]) -> None:
        """The threads of the block share out the region of a stage: pieces, and the columns beside them one by one."""
        region = self.regions[self.ids[stage]]
        assert stage.place is not None
        first, pitch = shared_row(region, stage.place.pad.data, self.piece)
        strides = [1, pitch]
        for n in region.extents[1:-1]:
            strides.append(strides[-1] * n)
        rows = [
            SharedRows(
                array,
                [first, *(low for low, _ in region.spans[1:])],
                strides[: len(region.extents)],
                access_width(f, self.piece) if pitch % self.piece == 0 else 1,
            )
            for f, array in zip(stage.funcs, arrays, strict=True)
        ]
        self._share_out(
            [(items, partial(self._compute, stage, region, rows, items)) for items in self._items(stage, region)]
        )

        def load(rows: SharedRows) -> Callable[[Emitter, Sequence[Num]], SSAValue]:
            return lambda e, relative: e.load(rows.array, rows.index(e, relative))

        for f, r in zip(stage.funcs, rows, strict=True):
            self.tile.resident[f] = Resident(load(r))
            if self.piece > 1:
                self.shared[f] = r

    def _items(self, stage: StageOp, region: Region) -> list[_Items]:
        """How the region of a stage is cut up: into pieces, then the columns left over."""
        (low, high), *rest = region.spans
        rows = rest[0][1] - rest[0][0] + 1 if rest else 1
        most = self.schedule.micro_tile[1] if self.schedule.unroll_factors and rest else ROWS_PER_ITEM
        heights = [p for p in range(most, 0, -1) if rows % p == 0]
        deep = [b - a + 1 for a, b in rest[1:]]

        def items(columns: int, width: int, height: int, column: Callable[[Num], Num]) -> _Items:
            counts = [columns, *([rows // height] if rest else []), *deep]
            return _Items(counts, [width, *([height] if rest else []), *(1 for _ in deep)], column)

        piece, e = self.piece, self.e
        start, end = -(-low // piece) * piece, (high + 1) // piece * piece
        if piece == 1 or start >= end or not rest or not reads_by_pieces(stage, region.follow):
            return [items(high + 1 - low, 1, heights[0], lambda i: e.add(i, low))]
        pieces = (end - start) // piece
        threads = math.prod(self.thread_counts)

        def work(height: int) -> tuple[int, int]:
            # rounds of a thread by what it does in each, counting the rows beside its own as read
            return -(-(pieces * rows * math.prod(deep)) // (height * threads)) * (height + 1), -height

        found = [items(pieces, piece, min(heights, key=work), lambda i: e.add(e.mul(i, piece), start))]
        left, right = start - low, high + 1 - end

        def beside(i: Num) -> Num:
            if not right:
                return e.add(i, low)
            if not left:
                return e.add(i, end)
            return e.pick(e.compare("slt", i, left), e.add(i, low), e.add(i, end - left))

        if left + right:
            found.append(items(left + right, 1, heights[0], beside))
        return found

    def _compute(
        self, stage: StageOp, region: Region, rows: Sequence[SharedRows], items: _Items, at: Sequence[Num]
    ) -> None:
        """One item of a phase, into shared memory."""
        e = self.e
        sizes = items.sizes
        origin = [items.column(at[0])]
        for i, n, (low, _) in zip(at[1:], sizes[1:], region.spans[1:], strict=True):
            origin.append(e.add(e.mul(i, n), low))
        inner = self.tile
        if sizes[0] > 1:
            reader = Reader(stage, region.follow, origin, [(0, n - 1) for n in sizes])
            inner = replace(inner, staged=self.gather.load([reader]))
        results = [
            e.alloca(
                sizes[1:2] + sizes[:1] if sizes[0] > 1 else [math.prod(sizes)],
                f.type.storage,
                PRIVATE,
                f"r_{stage.sym_name.data}",
            )
            for f in stage.funcs
        ]

        def own(k: Sequence[Num]) -> list[Num]:
            return [k[1], k[0]] if sizes[0] > 1 else list(k[1:2]) or [0]

        with unrolled(e, sizes) as k:
            relative = [e.add(o, c) for o, c in zip(origin, k, strict=True)]
            for value, r in zip(emit_stage(e, inner, stage, Point(region.follow, relative)), results, strict=True):
                e.store(value, r, own(k))
        with unrolled(e, [1, *sizes[1:]]) as k:
            for r, target in zip(results, rows, strict=True):
                for v in range(0, sizes[0], width := min(target.width, sizes[0])):
                    values = [e.load(r, own([v + w, *k[1:]])) for w in range(width)]
                    where = target.index(e, [e.add(o, c) for o, c in zip(origin, [v, *k[1:]], strict=True)])
                    if width == 1:
                        e.store(values[0], target.array, where)
                    else:
                        e.store_vector(values, target.array, where)

    def _share_out(self, jobs: Sequence[tuple[_Items, Callable[[list[Num]], None]]]) -> None:
        """Run each job once for every one of its items, shared among the threads of the block."""
        e = self.e
        counts = [*self.thread_counts, 1, 1, 1][:3]
        total = math.prod(counts)
        if total == 1:
            for items, compute in jobs:
                self._nested(items.counts, compute)
            return
        with (
            e.loop(counts[2], "tz", level="thread_z") as tz,
            e.loop(counts[1], "ty", level="thread_y") as ty,
            e.loop(counts[0], "tx", level="thread_x") as tx,
        ):
            t = e.add(e.mul(e.add(e.mul(tz, counts[1]), ty), counts[0]), tx, "t")
            for number, (items, compute) in enumerate(jobs):
                # the last threads have least of the first job, so they begin with the next
                start = e.sub(total - 1, t) if number else t
                # A flat walk keeps all lanes busy, whatever the region's width.
                with e.loop(items.number, "i", start=start, step=total) as i:
                    rest: Num = i
                    at: list[Num] = []
                    for size in items.counts[:-1]:
                        rest, part = e.div_rem(rest, size)
                        at.append(part)
                    compute([*at, rest])

    def _nested(self, counts: Sequence[int], compute: Callable[[list[Num]], None]) -> None:
        """One thread: plain loops, x innermost."""
        e = self.e
        at: list[Num] = [0] * len(counts)

        def go(d: int) -> None:
            if d < 0:
                compute(list(at))
                return
            with e.loop(counts[d], "xyzw"[d] if d < 4 else f"d{d}", simd=d == 0) as i:
                at[d] = i
                go(d - 1)

        go(len(counts) - 1)

    # --- the output

    def _output_phase(self) -> None:
        e, schedule = self.e, self.schedule
        counts = self.thread_counts
        rank = len(counts)
        rounds, micro = schedule.rounds, schedule.micro_tile
        if schedule.one_thread:
            # no lanes to keep coalesced: rows outermost, x innermost and vectorised
            with (
                e.loop(1, "tz", level="thread_z"),
                e.loop(1, "ty", level="thread_y"),
                e.loop(1, "tx", level="thread_x"),
            ):
                steps = [n // m for n, m in zip(rounds, micro, strict=True)]
                self._nested(
                    steps, lambda at: self._micro_tile([e.mul(i, m) for i, m in zip(at, micro, strict=True)], micro)
                )
            return
        with (
            e.loop(counts[2] if rank > 2 else 1, "tz", level="thread_z") as tz,
            e.loop(counts[1] if rank > 1 else 1, "ty", level="thread_y") as ty,
            e.loop(counts[0], "tx", level="thread_x") as tx,
            ExitStack() as loops,
        ):
            lanes = [tx, ty, tz][:rank] + [0] * (rank - 3)
            start: list[Num] = [0] * rank
            for d in reversed(range(1, rank)):
                j = loops.enter_context(e.loop(rounds[d] // micro[d], "jklmnop"[d - 1], unroll=1))
                start[d] = e.add(e.mul(lanes[d], rounds[d]), e.mul(j, micro[d]))
            # x-points lie `threads x vector` apart, so that neighbouring lanes touch neighbouring memory
            factor = schedule.unroll_factors[0] if schedule.unroll_factors else rounds[0]
            i = loops.enter_context(e.loop(rounds[0], "i", unroll=factor if factor < rounds[0] else True))
            start[0] = e.mul(e.add(e.mul(i, counts[0]), lanes[0]), micro[0])
            self._micro_tile(start, micro)

    def _micro_tile(self, start: Sequence[Num], sizes: Sequence[int]) -> None:
        """The points of one thread: thread-level stages in registers, then the output, then the stores."""
        e, tile = self.e, self.tile
        stages = (*self.thread_stages, self.output)
        output = self.ids[self.output]
        local = regions(self.model, [self.ids[s] for s in stages], output, sizes)
        follow = self.follow[output]
        # a dimension that is not tiled counts from its declared min, not from the tile
        lows = [0 if f.dim is not None else low for f, (low, _) in zip(follow, self.regions[output].spans, strict=True)]
        inner = replace(tile, resident=dict(tile.resident))
        if self.piece > 1:
            readers = [
                Reader(s, r.follow, [self._beginning(f, start) for f in r.follow], r.spans)
                for s in self.thread_stages
                for r in (local[self.ids[s]],)
            ]
            spans = [(low, low + n - 1) for low, n in zip(lows, sizes, strict=True)]
            readers.append(Reader(self.output, follow, start, spans))
            inner.staged = self.gather.load(readers)
        for stage in self.thread_stages:
            self._thread_stage(inner, stage, local[self.ids[stage]], start)
        results = [
            e.alloca(list(sizes)[::-1], f.type.storage, PRIVATE, f"r_{self.output.sym_name.data}")
            for f in self.output.funcs
        ]

        def relative(k: Sequence[Num]) -> list[Num]:
            return [e.add(e.add(low, s), i) for s, i, low in zip(start, k, lows, strict=True)]

        def absolute(k: Sequence[Num]) -> list[Num]:
            return [tile.absolute(e, f, c) for f, c in zip(follow, relative(k), strict=True)]

        single = math.prod(sizes) == 1
        kept: list[SSAValue] = []
        with unrolled(e, sizes) as k:
            kept = emit_stage(e, inner, self.output, Point(follow, relative(k)))
            if not single:
                for value, r in zip(kept, results, strict=True):
                    e.store(value, r, list(k)[::-1])
        if self.piece > 1:
            with unrolled(e, [1, *sizes[1:]]) as k:
                self._store_rows(k, absolute, results)
            return
        with unrolled(e, sizes) as k:
            where = absolute(k)
            with e.when(self._needed(where)):
                for i, buffer in enumerate(self.outputs):
                    value = kept[i] if single else e.load(results[i], list(k)[::-1])
                    e.store(value, buffer.memref, buffer.index(where, e))

    def _store_rows(
        self, k: Sequence[Num], absolute: Callable[[Sequence[Num]], list[Num]], results: Sequence[SSAValue]
    ) -> None:
        """A piece of a row of every result: by vectors where rows lie well and the piece is in the output."""
        e = self.e
        rest = list(k[1:])

        def scalars(guarded: bool) -> None:
            with e.loop(self.piece, "kx", unroll=True) as x:
                where = absolute([x, *rest])
                with e.when(self._inside(where) if guarded else None):
                    for buffer, r in zip(self.outputs, results, strict=True):
                        e.store(e.load(r, [*rest[::-1], x]), buffer.memref, buffer.index(where, e))

        def whole() -> None:
            for f, buffer, r in zip(self.group.funcs, self.outputs, results, strict=True):

                def store(width: int, buffer: Buffer = buffer, r: SSAValue = r) -> None:
                    for first in range(0, self.piece, width):
                        values = [e.load(r, [*rest[::-1], first + v]) for v in range(width)]
                        where = buffer.index(absolute([first, *rest]), e)
                        if width == 1:
                            e.store(values[0], buffer.memref, where)
                        else:
                            e.store_vector(values, buffer.memref, where)

                self.alignment.choose(f, buffer, access_width(f, self.piece), store)

        ends = [self._inside(absolute([x, *rest])) for x in (0, self.piece - 1)]
        inside = e.both(*ends)
        assert inside is not None
        e.choose(e.either(e.negate(self.tile.border), inside), whole, lambda: scalars(guarded=True))

    def _beginning(self, follow: Follow, start: Sequence[Num]) -> Num:
        """Where a thread's points begin in a dimension that follows the tile so."""
        if follow.dim is None:
            return 0
        return self.e.floordiv(self.e.mul(start[follow.dim], follow.ratio.numerator), follow.ratio.denominator)

    def _thread_stage(self, tile: Tile, stage: StageOp, region: Region, start: Sequence[Num]) -> None:
        """A stage in registers: its values around the points of this thread."""
        e = self.e
        arrays = [
            e.alloca(list(region.extents)[::-1], f.type.storage, PRIVATE, f"t_{stage.sym_name.data}")
            for f in stage.funcs
        ]

        def first(d: int) -> Num:
            return e.add(self._beginning(region.follow[d], start), region.spans[d][0])

        with unrolled(e, region.extents) as k:
            relative = [e.add(first(d), c) for d, c in enumerate(k)]
            values = emit_stage(e, tile, stage, Point(region.follow, relative))
            for value, array in zip(values, arrays, strict=True):
                e.store(value, array, list(k)[::-1])

        def load(array: SSAValue) -> Callable[[Emitter, Sequence[Num]], SSAValue]:
            return lambda e, relative: e.load(array, [e.sub(c, first(d)) for d, c in enumerate(relative)][::-1])

        for f, array in zip(stage.funcs, arrays, strict=True):
            tile.resident[f] = Resident(load(array))

    def _inside(self, where: Sequence[Num]) -> SSAValue | None:
        """Whether a point lies in the output; all results have one box."""
        e = self.e
        buffer = self.outputs[0]
        inside: SSAValue | None = None
        for d, x in enumerate(where):
            inside = e.both(inside, e.within(e.sub(x, buffer.mins[d]), buffer.extent(d, e)))
        return inside

    def _needed(self, where: Sequence[Num]) -> SSAValue | None:
        """Whether a point lies in the output; true in interior tiles."""
        inside = self._inside(where)
        return None if inside is None else self.e.either(self.e.negate(self.tile.border), inside)
