"""Execution model `block_tile`: overlapped tiles in shared memory, several points per thread.

Every block-level stage is a phase: the threads of the block share out its region, and a barrier ends it.
The output stage is the last phase: each thread computes its own points, with thread-level stages in
registers around them (nested fusion, Sioutas 2020), and stores them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import gpu
from xdsl.ir import SSAValue

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Region, follow_chain, regions
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level, Memory
from tilefuse.dialects.img.ops import GroupOp, StageOp
from tilefuse.lowering.abi import block_tile
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import Buffer, Point, Resident, Tile, emit_stage

SHARED, PRIVATE = 3, 5
"""Memory spaces of kernel-level memrefs."""

ROWS_PER_ITEM = 4
"""Rows of a block-level region that a thread computes together, so that it loads shared rows once."""


def row_pitch(region: Region, pad: int) -> int:
    """Elements from one row of a shared region to the next."""
    return region.extents[0] + pad


def shared_elements(region: Region, pad: int) -> int:
    """Elements that a region takes in shared memory."""
    return row_pitch(region, pad) * math.prod(region.extents[1:])


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

    # --- shared memory

    def _slot(self, stage: StageOp) -> int:
        assert stage.place is not None
        return stage.place.slot.data

    def _allocate(self) -> dict[StageOp, list[SSAValue]]:
        """One array per value of each block-level stage; stages of one slot share theirs."""
        sizes: dict[tuple[int, int, object], int] = {}
        for stage in self.block_stages:
            assert stage.place is not None
            n = shared_elements(self.regions[self.ids[stage]], stage.place.pad.data)
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
        e = self.e
        region = self.regions[self.ids[stage]]
        assert stage.place is not None
        extents = region.extents
        pitch = row_pitch(region, stage.place.pad.data)
        strides = [1, pitch]
        for n in extents[1:-1]:
            strides.append(strides[-1] * n)
        rows = extents[1] if len(extents) > 1 else 1
        per_item = next(p for p in range(ROWS_PER_ITEM, 0, -1) if rows % p == 0)

        def flat(local: Sequence[Num]) -> Num:
            index: Num = 0
            for c, s in zip(local, strides[: len(extents)], strict=True):
                index = e.add(index, e.mul(c, s))
            return index

        def compute(first: list[Num]) -> None:
            """The points (first[0], first[1] .. + per_item, ...) in region coordinates."""
            results = [e.alloca([per_item], f.type.storage, PRIVATE, f"r_{stage.sym_name.data}") for f in stage.funcs]

            def at(j: Num) -> list[Num]:
                local = list(first)
                if len(local) > 1:
                    local[1] = e.add(local[1], j)
                return local

            with e.loop(per_item, "j", unroll=True) as j:
                local = at(j)
                relative = [e.add(c, low) for c, (low, _) in zip(local, region.spans, strict=True)]
                for value, r in zip(
                    emit_stage(e, self.tile, stage, Point(region.follow, relative)), results, strict=True
                ):
                    e.store(value, r, [j])
            with e.loop(per_item, "j", unroll=True) as j:
                for array, r in zip(arrays, results, strict=True):
                    e.store(e.load(r, [j]), array, [flat(at(j))])

        items = [*extents[:1], *(rows // per_item for _ in extents[1:2]), *extents[2:]]
        self._share_out(items, per_item, compute)

        def load(array: SSAValue):  # type: ignore[no-untyped-def]
            def at(e: Emitter, relative: Sequence[Num]) -> SSAValue:
                local = [e.sub(c, low) for c, (low, _) in zip(relative, region.spans, strict=True)]
                index: Num = 0
                for c, s in zip(local, strides[: len(extents)], strict=True):
                    index = e.add(index, e.mul(c, s))
                return e.load(array, [index])

            return at

        for f, array in zip(stage.funcs, arrays, strict=True):
            self.tile.resident[f] = Resident(load(array))

    def _share_out(self, items: Sequence[int], per_item: int, compute) -> None:  # type: ignore[no-untyped-def]
        """Run `compute` once for every item of a box, shared among the threads of the block."""
        e = self.e
        counts = [*self.thread_counts, 1, 1, 1][:3]
        total = math.prod(counts)
        if total == 1:
            self._nested(list(items), per_item, compute)
            return
        n = math.prod(items)
        with (
            e.loop(counts[2], "tz", level="thread_z") as tz,
            e.loop(counts[1], "ty", level="thread_y") as ty,
            e.loop(counts[0], "tx", level="thread_x") as tx,
        ):
            t = e.add(e.mul(e.add(e.mul(tz, counts[1]), ty), counts[0]), tx, "t")
            # A flat walk keeps all lanes busy, whatever the region's width.
            with e.loop(n, "i", start=t, step=total) as i:
                rest: Num = i
                first: list[Num] = []
                for size in items[:-1]:
                    rest, part = e.div_rem(rest, size)
                    first.append(part)
                first.append(rest)
                if len(first) > 1:
                    first[1] = e.mul(first[1], per_item)
                compute(first)

    def _nested(self, items: list[int], per_item: int, compute) -> None:  # type: ignore[no-untyped-def]
        """One thread: plain loops, x innermost."""
        e = self.e
        first: list[Num] = [0] * len(items)

        def go(d: int) -> None:
            if d < 0:
                compute(list(first))
                return
            with e.loop(items[d], "xyzw"[d] if d < 4 else f"d{d}", simd=d == 0) as i:
                first[d] = e.mul(i, per_item) if d == 1 else i
                go(d - 1)

        go(len(items) - 1)

    # --- the output

    def _output_phase(self) -> None:
        e, schedule = self.e, self.schedule
        counts = self.thread_counts
        sizes = self.tile_sizes
        points = [s // c for s, c in zip(sizes, counts, strict=True)]
        vector = min(schedule.vector_width, points[0]) if points else 1
        levels = ["thread_x", "thread_y", "thread_z"]
        rank = len(sizes)
        with (
            e.loop(counts[2] if rank > 2 else 1, "tz", level=levels[2]) as tz,
            e.loop(counts[1] if rank > 1 else 1, "ty", level=levels[1]) as ty,
            e.loop(counts[0] if rank > 0 else 1, "tx", level=levels[0]) as tx,
        ):
            lanes = [tx, ty, tz][:rank] + [0] * (rank - 3)
            one_thread = math.prod(counts) == 1 and rank > 0
            chunk = [vector, *points[1:]] if rank else []
            if one_thread:
                # no lanes to keep coalesced: rows outermost, x innermost and vectorised
                self._output_rows(points)
                return
            # x-points lie `threads x vector` apart, so that neighbouring lanes touch neighbouring memory
            with e.loop(points[0] // vector if rank else 1, "i", unroll=True) as i:
                start: list[Num] = []
                for d in range(rank):
                    if d == 0:
                        start.append(e.mul(e.add(e.mul(i, counts[0]), lanes[0]), vector))
                    else:
                        start.append(e.mul(lanes[d], points[d]))
                self._micro_tile(start, chunk)

    def _output_rows(self, points: Sequence[int]) -> None:
        e = self.e
        start: list[Num] = [0] * len(points)

        def go(d: int) -> None:
            if d < 0:
                self._micro_tile(start, [1] * len(points))
                return
            with e.loop(points[d], "xyzw"[d] if d < 4 else f"d{d}", simd=d == 0) as i:
                start[d] = i
                go(d - 1)

        go(len(points) - 1)

    def _micro_tile(self, start: Sequence[Num], sizes: Sequence[int]) -> None:
        """The points of one thread: thread-level stages in registers, then the output, then the stores."""
        e, tile = self.e, self.tile
        ids = [self.ids[s] for s in (*self.thread_stages, self.output)]
        local = regions(self.model, ids, self.ids[self.output], sizes)
        inner = replace(tile, resident=dict(tile.resident))
        for stage in self.thread_stages:
            self._thread_stage(inner, stage, local[self.ids[stage]], start)
        results = [
            e.alloca(list(sizes)[::-1], f.type.storage, PRIVATE, f"r_{self.output.sym_name.data}")
            for f in self.output.funcs
        ]
        output = self.ids[self.output]
        follow = self.follow[output]
        lows = [self.regions[output].spans[d][0] for d in range(len(sizes))]

        def relative(k: Sequence[Num]) -> list[Num]:
            # a dimension that is not tiled counts from its declared min, not from the tile
            return [
                e.add(e.add(low, s), i) if f.dim is None else e.add(s, i)
                for s, i, f, low in zip(start, k, follow, lows, strict=True)
            ]

        single = math.prod(sizes) == 1
        kept: list[SSAValue] = []
        for k in self._points(sizes):
            kept = emit_stage(e, inner, self.output, Point(follow, relative(k)))
            if not single:
                for value, r in zip(kept, results, strict=True):
                    e.store(value, r, list(k)[::-1])
        for k in self._points(sizes):
            where = [tile.absolute(e, f, c) for f, c in zip(follow, relative(k), strict=True)]
            with e.when(self._needed(where)):
                for i, buffer in enumerate(self.outputs):
                    value = kept[i] if single else e.load(results[i], list(k)[::-1])
                    e.store(value, buffer.memref, buffer.index(where, e))

    def _points(self, sizes: Sequence[int]):  # type: ignore[no-untyped-def]
        """Unrolled loops over a box, entered as the generator runs; x innermost."""
        e = self.e
        from contextlib import ExitStack

        with ExitStack() as stack:
            k: list[Num] = [0] * len(sizes)
            for d in reversed(range(len(sizes))):
                k[d] = stack.enter_context(e.loop(sizes[d], f"k{'xyzw'[d] if d < 4 else d}", unroll=True))
            yield k

    def _thread_stage(self, tile: Tile, stage: StageOp, region: Region, start: Sequence[Num]) -> None:
        """A stage in registers: its values around the points of this thread."""
        e = self.e
        arrays = [
            e.alloca(list(region.extents)[::-1], f.type.storage, PRIVATE, f"t_{stage.sym_name.data}")
            for f in stage.funcs
        ]

        def first(d: int) -> Num:
            f = region.follow[d]
            if f.dim is None:
                return region.spans[d][0]
            offset = e.floordiv(e.mul(start[f.dim], f.ratio.numerator), f.ratio.denominator)
            return e.add(offset, region.spans[d][0])

        for k in self._points(region.extents):
            relative = [e.add(first(d), c) for d, c in enumerate(k)]
            values = emit_stage(e, tile, stage, Point(region.follow, relative))
            for value, array in zip(values, arrays, strict=True):
                e.store(value, array, list(k)[::-1])

        def load(array: SSAValue):  # type: ignore[no-untyped-def]
            def at(e: Emitter, relative: Sequence[Num]) -> SSAValue:
                return e.load(array, [e.sub(c, first(d)) for d, c in enumerate(relative)][::-1])

            return at

        for f, array in zip(stage.funcs, arrays, strict=True):
            tile.resident[f] = Resident(load(array))

    def _needed(self, where: Sequence[Num]) -> SSAValue | None:
        """Whether a point lies in the output (all results have one box); true in interior tiles."""
        e = self.e
        buffer = self.outputs[0]
        inside: SSAValue | None = None
        for d, x in enumerate(where):
            inside = e.both(inside, e.within(e.sub(x, buffer.mins[d]), buffer.extent(d, e)))
        if inside is None:
            return None
        return e.either(e.negate(self.tile.border), inside)
