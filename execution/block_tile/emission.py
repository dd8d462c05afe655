"""The tile body of a block tile: overlapped tiles in shared memory, several points per thread.

Every block-level stage is a phase: the threads of the block share out its region, and a barrier ends it.
The output stage is the last phase: each thread computes its own points, with thread-level stages in
registers around them (nested fusion, Sioutas 2020), and stores them. With `vector`, points along x are computed in
pieces (`execution/block_tile/pieces.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from xdsl.dialects import gpu
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import SSAValue

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, Region, follow_chain, regions
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
    access_widths,
    pieced_inputs,
    unrolled,
)
from tilefuse.execution.block_tile.placement import prefetched, row_step, shared_elements
from tilefuse.lowering.emit import PRIVATE, SHARED, Emitter, Num
from tilefuse.lowering.reads import Buffer, Point, Resident, Tile, emit_stage


def _elements(stage: StageOp, region: Region, schedule: BlockSchedule) -> int:
    assert stage.place is not None
    return shared_elements(region, stage.place.pad.data, row_step(stage, schedule))


class TileBody:
    """Emits the tile body of one group."""

    def __init__(self, group: GroupOp, model: PipelineModel, e: Emitter, tile: Tile, outputs: Sequence[Buffer]):
        self.group, self.model, self.e, self.tile, self.outputs = group, model, e, tile, outputs
        self.schedule = BlockSchedule.expect(group.schedule)
        self._copying = False
        self.ids = {s: model.node_of[s.funcs[0]] for s in group.stages}
        self.output = group.output_stage
        self.block_stages = [s for s in group.stages if self._where(s) == (Level.Block, Memory.Shared)]
        self.thread_stages = [s for s in group.stages if self._where(s) == (Level.Thread, Memory.Register)]
        members = list(self.ids.values())
        self.follow = follow_chain(model, members, self.ids[self.output])
        self.tile_sizes = self.schedule.tile_sizes
        self.thread_counts = list(self.schedule.thread_counts)
        self.regions = regions(model, members, self.ids[self.output], self.tile_sizes, self.follow)
        self.piece = self.schedule.piece
        self.alignment = Alignment(e)
        self.shared: dict[SSAValue, SharedRows] = {}
        gather = Gather(e, tile, self.alignment, self.shared, self.piece)
        self.prefetched = prefetched(group)
        self.gather, self.phases = gather, Phases(e, tile, self.schedule, self.alignment, gather)

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
        self._align()
        for stage, array in zip(self.prefetched, self.tile.prefetched, strict=True):
            self._reside(stage, self._prefetched_rows(stage, array))
        arrays = self._allocate()
        for stage in arrays:
            self._separate(stage, arrays)
            self._block_phase(stage, arrays[stage])
        if arrays:
            self._barrier()
        self._output_phase()

    def emit_fetch(self) -> None:
        """Only the copies of inputs for a tile, into the arrays that are given."""
        self._align()
        for stage, array in zip(self.prefetched, self.tile.prefetched, strict=True):
            self.phases.emit(stage, self.regions[self.ids[stage]], self._prefetched_rows(stage, array))

    def _prefetched_rows(self, stage: StageOp, array: SSAValue) -> list[SharedRows]:
        region = self.regions[self.ids[stage]]
        offset = self.e.mul(self.tile.parity, _elements(stage, region, self.schedule))
        return self.phases.rows(stage, region, [array], offset)

    def _align(self) -> None:
        """Note how the rows of global memory lie that are moved by more than an element."""
        tile, out = self.tile, self.follow[self.ids[self.output]]
        moved: dict[tuple[SSAValue, Follow], None] = {}
        for stage in self.block_stages:
            region = self.regions[self.ids[stage]]
            if (source := copied_source(stage, self.schedule, region)) is not None:
                moved[source, region.follow[0]] = None
        if self.piece > 1:
            for f, buffer in zip(self.group.funcs, self.outputs, strict=True):
                self.alignment.add(f, buffer, tile.absolute(self.e, out[0], 0))
            moved |= dict.fromkeys(pieced_inputs(self.group.stages, {s: self.follow[id] for s, id in self.ids.items()}))
        for base, follow in moved:
            self.alignment.add(base, tile.buffers[base], tile.absolute(self.e, follow, 0))

    # --- shared memory

    def _slot(self, stage: StageOp) -> int:
        assert stage.place is not None
        return stage.place.slot.data

    def _allocate(self) -> dict[StageOp, list[SSAValue]]:
        """One array per value of each block-level stage; stages of one slot share theirs."""
        sizes: dict[tuple[int, int, object], int] = {}
        stages = [s for s in self.block_stages if s not in self.prefetched]
        for stage in stages:
            n = _elements(stage, self.regions[self.ids[stage]], self.schedule)
            for i, f in enumerate(stage.funcs):
                key = (self._slot(stage), i, f.type.storage)
                sizes[key] = max(sizes.get(key, 0), n)
        arrays: dict[tuple[int, int, object], SSAValue] = {}
        result: dict[StageOp, list[SSAValue]] = {}
        for stage in stages:
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
            for other in arrays
            if any(a.producer == self.ids[other] for a in model.nodes[self.ids[stage]].accesses)
            for array in arrays[other]
        }
        writes = set(arrays[stage])
        if reads & self._pending or writes & (self._read_since | self._pending):
            self._barrier()
            self._pending, self._read_since = set(), set()
        self._pending |= writes
        self._read_since |= reads

    def _barrier(self) -> None:
        """All that the block has computed and copied is there for all of its threads."""
        if self._copying:
            self.e.effect(DeviceAsyncWaitOp(self.e.op(DeviceAsyncCreateGroupOp())))
            self._copying = False
        self.e.effect(gpu.BarrierOp())

    def _block_phase(self, stage: StageOp, arrays: Sequence[SSAValue]) -> None:
        """The threads of the block share out the region of a stage."""
        region = self.regions[self.ids[stage]]
        rows = self.phases.rows(stage, region, arrays)
        self._copying |= self.phases.emit(stage, region, rows)
        self._reside(stage, rows)

    def _reside(self, stage: StageOp, rows: Sequence[SharedRows]) -> None:
        """Have a stage read from shared memory from now on."""

        def load(rows: SharedRows) -> Callable[[Emitter, Sequence[Num]], SSAValue]:
            return lambda e, relative: e.load(rows.array, rows.index(e, relative))

        for f, r in zip(stage.funcs, rows, strict=True):
            self.tile.resident[f] = Resident(load(r))
            if self.piece > 1:
                self.shared[f] = r

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
                self.phases.threads.nested(
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
                        e.store_vector(values, buffer.memref, where)

                self.alignment.choose(f, buffer, access_widths(f, self.piece), store)

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


def prefetch_arrays(group: GroupOp, model: PipelineModel) -> list[tuple[str, MemRefType]]:
    """Name and type of what is shared by the tiles of a block: two places for each input that is staged."""
    if not (stages := prefetched(group)):
        return []
    ids = [model.node_of[s.funcs[0]] for s in group.stages]
    schedule = BlockSchedule.expect(group.schedule)
    region = regions(model, ids, model.node_of[group.output_stage.funcs[0]], schedule.tile_sizes)
    found = []
    for stage in stages:
        (f,) = stage.funcs
        n = 2 * _elements(stage, region[model.node_of[f]], schedule)
        type = MemRefType(f.type.storage, [n], memory_space=IntegerAttr(SHARED, 64))
        found.append((f"sh_{stage.sym_name.data}", type))
    return found
