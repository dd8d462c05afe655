"""Emission of a block tile that computes the steps of an update one after the other.

    every thread begins: the first values of its points, in registers
    for each point of the domain, in order:
      the block's stages, as phases in shared memory
      every thread computes the terms of its points, and joins them with what it has; a barrier
    every thread ends: what comes of its points is stored

So each point goes over the domain in order, and what a step computes is nowhere in global memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, UnitAttr, i8
from xdsl.ir import OpResult, SSAValue

from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import GroupOp, ReadOp, StageOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.execution.block_tile.cached_inputs import CachedBox, cached_bytes, cached_dynamic, cached_of
from tilefuse.execution.block_tile.emission import BlockTileBody
from tilefuse.execution.block_tile.pieces import unrolled
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import PRIVATE, SHARED, Emitter, Num
from tilefuse.lowering.reads import Point, Resident, TileContext, emit_stage, read_global, scalar_index
from tilefuse.lowering.symbols import identifier


class StepsBody(BlockTileBody):
    """Emit the tile body of a group with stages in its update's steps."""

    def __init__(
        self, group: GroupOp, model: PipelineModel, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]
    ):
        super().__init__(group, model, e, tile, outputs)
        assert group.update is not None
        self.update = group.update
        self.sums: list[SSAValue] = []
        """The values of a thread's points, per function of the update."""

    def emit(self) -> None:
        """Emit the tile body."""
        e, schedule = self.e, self.schedule
        self._align()
        arrays = self._allocate()
        self._hold()
        points = [t // n for t, n in zip(schedule.tile_sizes, schedule.thread_counts, strict=True)]
        self.sums = [
            e.alloca(points[: self.update.rank][::-1], type.storage, PRIVATE, f"sum_{self.update.sym_name.data}")
            for type in self._types
        ]
        self._output_phase(self._begin)
        with ExitStack() as loops:
            if self._open_domain(loops):
                for stage in arrays:
                    self._separate(stage, arrays)
                    self._block_phase(stage, arrays[stage])
                if arrays:
                    self._barrier()
                self._output_phase(self._join)
                if self._is_overwritten(arrays):
                    self._barrier()
        self._output_phase(self._end)

    def _hold(self) -> None:
        """Copy the input points that all steps read to shared memory, if the schedule caches them."""
        e, tile = self.e, self.tile
        cached = cached_of(self.group, self.model)
        if not cached:
            return
        origin = list(tile.origin)

        def relative(of: CachedBox, where: Sequence[Num]) -> list[Num]:
            """Return a point's place relative to the first point of the cached box."""
            starts = [0 if d is None else origin[d] for d in of.dims]
            return [e.sub(w, e.add(s, low)) for w, s, (low, _) in zip(where, starts, of.spans, strict=True)]

        def index(of: CachedBox, place: Sequence[Num]) -> list[Num]:
            found: Num = 0
            stride = 1
            for c, n in zip(place, of.extents, strict=True):
                found, stride = e.add(found, e.mul(c, stride)), stride * n
            return [found]

        def load(of: CachedBox, array: SSAValue) -> Resident:
            return Resident(lambda e, where: e.load(array, index(of, relative(of, where))))

        arrays = self._cached_arrays(cached)
        with self.phases.threads.together() as t:
            for (source, of), array in zip(cached.items(), arrays, strict=True):
                starts = [0 if d is None else origin[d] for d in of.dims]

                def copy(
                    place: Sequence[Num],
                    source: SSAValue = source,
                    of: CachedBox = of,
                    array: SSAValue = array,
                    starts: Sequence[Num] = starts,
                ) -> None:
                    where = [e.add(e.add(s, low), c) for s, (low, _), c in zip(starts, of.spans, place, strict=True)]
                    e.store(read_global(e, tile, source, where, tile.border), array, index(of, place))

                self.phases.threads.walk(t, of.extents, copy)
        self._barrier()
        tile.cached = {source: load(of, array) for (source, of), array in zip(cached.items(), arrays, strict=True)}

    def _cached_arrays(self, cached: Mapping[SSAValue, CachedBox]) -> list[SSAValue]:
        """Declare the shared arrays of cached inputs: dynamic ones where static shared memory is too small."""
        e = self.e
        types = [source.type for source in cached]
        elements = [type.storage for type in types if isinstance(type, FuncType)]
        counts = [of.elements for of in cached.values()]
        if not cached_dynamic(self.group, self.model):
            return [e.alloca([n], type, SHARED, "staged") for n, type in zip(counts, elements, strict=True)]
        sizes = [cached_bytes(source, of) for source, of in cached.items()]
        space = IntegerAttr(SHARED, 64)
        op = memref.AllocaOp.get(i8, shape=[sum(sizes)], memory_space=space)
        op.attributes["kernel.dynamic_shared"] = UnitAttr()
        together = e.op(op, "all_held")
        views = [MemRefType(type, [n], memory_space=space) for n, type in zip(counts, elements, strict=True)]
        starts = [0, *accumulate(sizes)]
        return [e.op(memref.ViewOp(together, e.value(s), [], v), "staged") for s, v in zip(starts, views, strict=False)]

    def _is_overwritten(self, arrays: Mapping[StageOp, Sequence[SSAValue]]) -> bool:
        """Whether the next step may overwrite, before its first barrier, arrays that this step still reads."""
        stages = list(arrays)
        first: set[SSAValue] = set()
        for stage in stages:
            if any(first.intersection(arrays[s]) for s in stages if self._reads(stage, s)):
                break
            first |= {*arrays[stage]}
        last = [s for s in stages if any(self._reads(reader, s) for reader in (*self.thread_stages, self.anchor))]
        return any(first.intersection(arrays[s]) for s in last)

    def _reads(self, reader: StageOp, stage: StageOp) -> bool:
        return any(a.producer == self.ids[stage] for a in self.model.nodes[self.ids[reader]].accesses)

    @property
    def _types(self) -> list[FuncType]:
        """Return the types of the update's functions."""
        return [f.type for f in self.update.funcs]

    def _open_domain(self, loops: ExitStack) -> bool:
        """Open the loops over the domain, innermost last; False if the domain is certainly empty."""
        e, places = self.e, []
        for dimension in reversed(self.update.domain):
            low, extent = (scalar_index(e, self.tile, v) for v in (dimension.min, dimension.extent))
            if isinstance(extent, int) and extent <= 0:
                return False
            step = loops.enter_context(e.loop(extent, identifier(dimension.coordinate.name_hint or "r")))
            places.append(e.add(low, step))
        self.tile.origin += reversed(places)
        return True

    # --- the points of one thread

    def _begin(self, start: Sequence[Num], sizes: Sequence[int], own: Sequence[Num]) -> None:
        """Load the initial values of the points."""
        initial = self.group.prologue
        assert initial is not None
        of = [list[SSAValue](initial.funcs).index(old) for old in self.update.old_funcs]
        with unrolled(self.e, sizes[: self.update.rank]) as k:
            values = self._beside(initial, self._tile_beside(), start, k)
            for number, array in zip(of, self.sums, strict=True):
                self.e.store(values[number], array, self._place(own, k))

    def _join(self, start: Sequence[Num], sizes: Sequence[int], own: Sequence[Num]) -> None:
        """Combine a step's terms with the values of each point."""
        e, update = self.e, self.update
        terms = self._computed(start, sizes)
        sources = {op.value: op.source for op in update.body.block.ops if isinstance(op, ReadOp)}
        given = list[SSAValue](self.anchor.funcs)
        numbers = [given.index(sources[v]) for v in update.write_op.values if isinstance(v, OpResult)]
        with unrolled(e, sizes) as k:
            at = self._place(own, k)
            for n, array, way, type in zip(numbers, self.sums, update.combiners, self._types, strict=True):
                term = terms.value(n, k)
                e.store(e.op(combined(way, type.element, e.load(array, at), term)), array, at)

    def _end(self, start: Sequence[Num], sizes: Sequence[int], own: Sequence[Num]) -> None:
        """Store the results after the last step."""
        e, rank, finish = self.e, self.update.rank, self.group.epilogue
        tile = self._tile_beside()
        stage = self.update if finish is None else finish
        of = [list[SSAValue](stage.funcs).index(f) for f in self.group.yield_op.values]
        # of a small dimension the stage behind the update may have fewer points
        boxes = (None,) * rank if finish is None or finish.bounds is None else finish.bounds.data
        lows = self._lows
        first = [0 if b is None else b[0] - low for b, low in zip(boxes, lows, strict=False)]
        stored = [n if b is None else b[1] for n, b in zip(sizes, boxes, strict=False)]

        def moved(k: Sequence[Num]) -> list[Num]:
            return [e.add(c, f) for c, f in zip(k, first, strict=True)]

        def resident(array: SSAValue, k: Sequence[Num]) -> Resident:
            def load(e: Emitter, relative: Sequence[Num]) -> SSAValue:
                # of a small dimension a thread has all points, from the first on
                others = [e.sub(relative[d], lows[d]) if b is not None else k[d] for d, b in enumerate(boxes)]
                return e.load(array, self._place(own, others))

            return Resident(load)

        def value(i: int, k: Sequence[Num]) -> SSAValue:
            if finish is None:
                return e.load(self.sums[of[i]], self._place(own, k))
            for f, array in zip(self.update.funcs, self.sums, strict=True):
                tile.resident[f] = resident(array, k)
            return self._beside(finish, tile, start, moved(k))[of[i]]

        self.stores.store(self.stored[0], stored, lambda k: self._relative(start, moved(k))[:rank], value)

    def _place(self, own: Sequence[Num], k: Sequence[Num]) -> list[Num]:
        """Return the place of a point's values in the thread's arrays."""
        return [self.e.add(o, c) for o, c in zip(own, k[: self.update.rank], strict=False)][::-1]

    def _tile_beside(self) -> TileContext:
        """Return the tile for stages computed once for all steps: being interior is a fact of the other stages."""
        return replace(self.tile, safe_reads=True, resident=dict(self.tile.resident), cached={})

    def _beside(self, stage: StageOp, tile: TileContext, start: Sequence[Num], k: Sequence[Num]) -> list[SSAValue]:
        """Return the values of a stage beside the update at a thread's point."""
        rank = self.update.rank
        follow = self.follow[self.ids[self.anchor]][:rank]
        return emit_stage(self.e, tile, stage, Point(follow, self._relative(start, k)[:rank]))
