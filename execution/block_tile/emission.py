"""Emission of a block tile's body: overlapped tiles in shared memory, several points per thread.

Every block-level stage is a phase: the threads of the block share out its region, and a barrier ends it.
The anchor is the last phase: each thread computes its own points, with thread-level stages in registers around them
(nested fusion, Sioutas 2020), and stores them. Block-level stages that are stored are so from shared memory, behind the
barrier. With `vector`, points along x are computed in
pieces (`execution/block_tile/pieces.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

from xdsl.dialects import gpu
from xdsl.ir import SSAValue

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, Region, follow_chain, own_spans, regions
from tilefuse.analysis.tables import of_tables
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level, Memory
from tilefuse.dialects.img.ops import GroupOp, StageOp
from tilefuse.dialects.nvgpu import DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.execution.block_tile.phases import Phases, copied_source
from tilefuse.execution.block_tile.pieces import (
    Alignment,
    Gather,
    Reader,
    SharedRows,
    pieced_inputs,
    unrolled,
)
from tilefuse.execution.block_tile.placement import holds_planes, row_step, shared_elements
from tilefuse.execution.block_tile.stores import Relative, Stores, Value, stores_by_pieces
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import PRIVATE, SHARED, Emitter, Num
from tilefuse.lowering.reads import Point, Resident, TileContext, emit_stage
from tilefuse.lowering.stored import Stored, stored_stages


def _elements(stage: StageOp, region: Region, schedule: BlockSchedule) -> int:
    assert stage.place is not None
    return shared_elements(region, stage.place.pad.data, row_step(stage, schedule))


class _Computed(NamedTuple):
    """The anchor points of a thread."""

    relative: Relative
    value: Value
    arrays: dict[StageOp, list[SSAValue]]
    """Thread-level stages around them, in registers."""
    regions: dict[int, Region]
    """Points of these, by their nodes."""


class BlockTileBody:
    """Emit the tile body of one group."""

    def __init__(
        self, group: GroupOp, model: PipelineModel, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]
    ):
        self.group, self.model, self.e, self.tile, self.outputs = group, model, e, tile, outputs
        self.schedule = BlockSchedule.expect(group.schedule)
        self._copying = False
        self._pending: set[SSAValue] = set()
        """Shared arrays that are written since the last barrier."""
        self._read_since: set[SSAValue] = set()
        """Shared arrays that are read since the last barrier."""
        self.ids = {s: model.node_of[s.funcs[0]] for s in group.tiled}
        self.anchor = group.anchor
        self.block_stages = [s for s in group.tiled if self._where(s) == (Level.Block, Memory.Shared)]
        self.thread_stages = [s for s in group.tiled if self._where(s) == (Level.Thread, Memory.Register)]
        members = list(self.ids.values())
        self.follow = follow_chain(model, members, self.ids[self.anchor])
        self.tables = of_tables(model, members)
        self.stored = stored_stages(group, model, self.follow)
        self.tile_sizes = self.schedule.tile_sizes
        self.thread_counts = list(self.schedule.thread_counts)
        self.regions = regions(model, members, self.ids[self.anchor], self.tile_sizes, self.follow)
        self.piece = self.schedule.piece
        self.alignment = Alignment(e)
        self.shared: dict[SSAValue, SharedRows] = {}
        gather = Gather(e, tile, self.alignment, self.shared, self.piece)
        self.gather, self.phases = gather, Phases(e, tile, self.schedule, self.alignment, gather)
        self.stores = Stores(e, tile, group, outputs, self.alignment, self.piece)
        self._kept: list[tuple[Stored, list[SharedRows]]] = []
        """Stages in shared memory, once there is a barrier, and not yet stored."""

    def _where(self, stage: StageOp) -> tuple[Level, Memory]:
        if stage is self.anchor:
            return (Level.Thread, Memory.Global)
        if stage.place is None:
            raise PipelineError(
                f"stage '{stage.sym_name.data}' of group '{self.group.sym_name.data}' has no place; run "
                "promote-memory, or write place #img.place<block, shared>",
                stage,
            )
        return stage.place.where

    def emit(self) -> None:
        """Emit the tile body."""
        self._align()
        arrays = self._allocate()
        for stage in arrays:
            self._separate(stage, arrays)
            self._block_phase(stage, arrays[stage])
        if arrays:
            self._barrier()
        self._output_phase(self._micro_tile)

    def _align(self) -> None:
        """Record the alignment of global rows that are accessed by more than an element at once."""
        tile = self.tile
        moved: dict[tuple[SSAValue, Follow], None] = {}
        for stage in self.block_stages:
            region = self.regions[self.ids[stage]]
            if (source := copied_source(stage, self.schedule, region)) is not None:
                moved[source, region.follow[0]] = None
        if self.piece > 1:
            for stored in self.stored:
                for _, n in stored.results if stores_by_pieces(stored) else ():
                    first = tile.absolute(self.e, stored.follow[0], 0)
                    self.alignment.add(self.group.funcs[n], self.outputs[n], first)
            moved |= dict.fromkeys(pieced_inputs(self.group.tiled, {s: self.follow[id] for s, id in self.ids.items()}))
        for base, follow in moved:
            self.alignment.add(base, tile.buffers[base], tile.absolute(self.e, follow, 0))

    # --- shared memory

    def _slot(self, stage: StageOp) -> int:
        assert stage.place is not None
        return stage.place.slot.data

    def _allocate(self) -> dict[StageOp, list[SSAValue]]:
        """Allocate one array per value of each block-level stage; stages of one slot share theirs."""
        sizes: dict[tuple[int, int, object], int] = {}
        for stage in self.block_stages:
            n = _elements(stage, self.regions[self.ids[stage]], self.schedule)
            for i, f in enumerate(stage.funcs):
                key = (self._slot(stage), i, f.type.storage)
                sizes[key] = max(sizes.get(key, 0), n)
        arrays: dict[tuple[int, int, object], SSAValue] = {}
        result: dict[StageOp, list[SSAValue]] = {}
        for stage in self.block_stages:
            result[stage] = []
            for i, f in enumerate(stage.funcs):
                key = (self._slot(stage), i, f.type.storage)
                if key not in arrays:
                    name = f"sh_{stage.sym_name.data}"
                    arrays[key] = self.e.alloca([sizes[key]], f.type.storage, SHARED, name)
                result[stage].append(arrays[key])
        return result

    def _separate(self, stage: StageOp, arrays: dict[StageOp, list[SSAValue]]) -> None:
        """Emit a barrier if this phase reads arrays written, or overwrites arrays read, since the last one."""
        model = self.model
        reads = {
            array
            for other in arrays
            if any(a.producer == self.ids[other] for a in model.nodes[self.ids[stage]].accesses)
            for array in arrays[other]
        }
        writes = set(arrays[stage])
        if reads & self._pending or writes & (self._read_since | self._pending):
            self._barrier()
        self._pending |= writes
        self._read_since |= reads

    def _barrier(self) -> None:
        """Emit a barrier, after which all threads see the block's stores and copies."""
        if self._copying:
            self.e.effect(DeviceAsyncWaitOp(self.e.op(DeviceAsyncCreateGroupOp())))
            self._copying = False
        self.e.effect(gpu.BarrierOp())
        self._pending, self._read_since = set(), set()
        for stored, rows in self._kept:
            own = own_spans(self.model, self.ids[stored.stage], stored.follow, self.tile_sizes)
            self.stores.store_shared(stored, rows, own, self.phases.threads)
            self._read_since |= {r.array for r in rows}
        self._kept = []

    def _block_phase(self, stage: StageOp, arrays: Sequence[SSAValue]) -> None:
        """Distribute the region of a stage over the threads of the block."""
        region = self.regions[self.ids[stage]]
        rows = self.phases.rows(stage, region, arrays)
        planes = not self.schedule.one_thread and holds_planes(self.model.nodes[self.ids[stage]], region)
        phases = self.phases
        if self.ids[stage] in self.tables:
            # all values that an index may have are more, perhaps, than those that the call has room for
            phases = Phases(self.e, replace(self.tile, safe_reads=True), self.schedule, self.alignment, self.gather)
        self._copying |= phases.emit(stage, region, rows, planes=planes)
        self._reside(stage, rows)
        self._kept += [(stored, rows) for stored in self.stored if stored.stage is stage]

    def _reside(self, stage: StageOp, rows: Sequence[SharedRows]) -> None:
        """Redirect reads of a stage to shared memory."""

        def load(rows: SharedRows) -> Callable[[Emitter, Sequence[Num]], SSAValue]:
            return lambda e, relative: e.load(rows.array, rows.index(e, relative))

        for f, r in zip(stage.funcs, rows, strict=True):
            self.tile.resident[f] = Resident(load(r))
            if self.piece > 1:
                self.shared[f] = r

    # --- the output

    def _output_phase(self, each: Callable[[Sequence[Num], Sequence[int], Sequence[Num]], None]) -> None:
        """Emit `each(start, sizes, own)` for every thread and every box of points that it computes together.

        `own`: the first point of the box among all that the thread has, where these lie side by side.
        """
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

                def box(at: Sequence[Num]) -> None:
                    start = [e.mul(i, m) for i, m in zip(at, micro, strict=True)]
                    each(start, micro, start)

                self.phases.threads.nested(steps, box)
            return
        with (
            e.loop(counts[2] if rank > 2 else 1, "tz", level="thread_z") as tz,
            e.loop(counts[1] if rank > 1 else 1, "ty", level="thread_y") as ty,
            e.loop(counts[0], "tx", level="thread_x") as tx,
            ExitStack() as loops,
        ):
            lanes = [tx, ty, tz][:rank] + [0] * (rank - 3)
            start: list[Num] = [0] * rank
            own: list[Num] = [0] * rank
            for d in reversed(range(1, rank)):
                j = loops.enter_context(e.loop(rounds[d] // micro[d], "jklmnop"[d - 1], unroll=1))
                own[d] = e.mul(j, micro[d])
                start[d] = e.add(e.mul(lanes[d], rounds[d]), own[d])
            # x-points lie `threads x vector` apart, so that neighbouring lanes touch neighbouring memory
            factor = schedule.unroll_factors[0] if schedule.unroll_factors else rounds[0]
            i = loops.enter_context(e.loop(rounds[0], "i", unroll=factor if factor < rounds[0] else True))
            start[0] = e.mul(e.add(e.mul(i, counts[0]), lanes[0]), micro[0])
            own[0] = e.mul(i, micro[0])
            each(start, micro, own)

    def _micro_tile(self, start: Sequence[Num], sizes: Sequence[int], _: Sequence[Num]) -> None:
        """Emit one thread's points: thread-level stages in registers, then the anchor, then the stores."""
        relative, value, arrays, local = self._computed(start, sizes)
        own, *others = self.stored
        self.stores.store(own, sizes, relative, value)
        for stored in others:
            if stored.stage in arrays:
                self._store_thread_stage(stored, arrays[stored.stage], local[self.ids[stored.stage]], start, sizes)

    def _computed(self, start: Sequence[Num], sizes: Sequence[int]) -> _Computed:
        """Emit the thread-level stages around a thread's points, then the anchor at these points."""
        e, tile = self.e, self.tile
        stages = (*self.thread_stages, self.anchor)
        anchor = self.ids[self.anchor]
        local = regions(self.model, [self.ids[s] for s in stages], anchor, sizes, self.follow)
        follow, lows = self.follow[anchor], self._lows
        inner = replace(tile, resident=dict(tile.resident))
        if self.piece > 1:
            readers = [
                Reader(s, r.follow, [self._beginning(f, start) for f in r.follow], r.spans, self._step(r), True)
                for s in self.thread_stages
                for r in (local[self.ids[s]],)
            ]
            spans = [(low, low + n - 1) for low, n in zip(lows, sizes, strict=True)]
            readers.append(Reader(self.anchor, follow, start, spans, self.piece))
            inner.windows = self.gather.load(readers)
        arrays = {s: self._thread_stage(inner, s, local[self.ids[s]], start) for s in self.thread_stages}
        results = [
            e.alloca(list(sizes)[::-1], f.type.storage, PRIVATE, f"r_{self.anchor.sym_name.data}")
            for f in self.anchor.funcs
        ]

        relative = partial(self._relative, start)
        single = math.prod(sizes) == 1
        kept: list[SSAValue] = []
        with unrolled(e, sizes) as k:
            kept = emit_stage(e, inner, self.anchor, Point(follow, relative(k)))
            if not single:
                for one, r in zip(kept, results, strict=True):
                    e.store(one, r, list(k)[::-1])

        def value(i: int, k: Sequence[Num]) -> SSAValue:
            return kept[i] if single else e.load(results[i], list(k)[::-1])

        return _Computed(relative, value, arrays, local)

    @cached_property
    def _lows(self) -> list[int]:
        """Return the first anchor point per dimension: dimensions that are not tiled count from their declared min."""
        id = self.ids[self.anchor]
        spans = zip(self.follow[id], self.regions[id].spans, strict=True)
        return [0 if f.dim is not None else low for f, (low, _) in spans]

    def _relative(self, start: Sequence[Num], k: Sequence[Num]) -> list[Num]:
        """Return the tile-relative coordinates of a thread's anchor point."""
        e = self.e
        return [e.add(e.add(low, s), i) for s, i, low in zip(start, k, self._lows)]

    def _beginning(self, follow: Follow, start: Sequence[Num]) -> Num:
        """Return a thread's first point in a dimension that follows the tile by `follow`."""
        if follow.dim is None:
            return 0
        return self.e.floordiv(self.e.mul(start[follow.dim], follow.ratio.numerator), follow.ratio.denominator)

    def _step(self, region: Region) -> int:
        """Return the column alignment of a register stage: each thread's first column is a multiple of it."""
        x = region.follow[0] if region.follow else Follow(None)
        return self.piece * x.ratio.numerator if x.dim == 0 else 1

    def _thread_stage(self, tile: TileContext, stage: StageOp, region: Region, start: Sequence[Num]) -> list[SSAValue]:
        """Emit a register stage around the points of this thread; return its arrays."""
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
        return arrays

    def _store_thread_stage(
        self, stored: Stored, arrays: Sequence[SSAValue], region: Region, start: Sequence[Num], sizes: Sequence[int]
    ) -> None:
        """Store this thread's own points of a register stage."""
        e, id = self.e, self.ids[stored.stage]
        own = own_spans(self.model, id, stored.follow, sizes)
        firsts = [low for low, _ in own]

        def relative(k: Sequence[Num]) -> list[Num]:
            begin = [self._beginning(f, start) for f in stored.follow]
            return [e.add(e.add(b, low), c) for b, low, c in zip(begin, firsts, k, strict=True)]

        def value(i: int, k: Sequence[Num]) -> SSAValue:
            at = [e.add(c, low - cached) for c, low, (cached, _) in zip(k, firsts, region.spans, strict=True)]
            return e.load(arrays[i], at[::-1])

        self.stores.store(stored, [high - low + 1 for low, high in own], relative, value)
