"""Emission of a warp tile's body: operations on tiles in the registers of a block's warps.

After Jangda 2020, taken to registers: lane l holds `vector` columns, the halo in x is dead lanes. What each stage
computes, and what a warp takes from its neighbours, stands in the types (`dialects/warp`); `lower-warp-tiles`
then decides on registers and shuffles. The layout is that of `execution/warp_tile/layout.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.ir import Attribute, Block, Region, SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import StageOp
from tilefuse.dialects.img.ops.stage import computes_values_only
from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.naming import value_name
from tilefuse.dialects.warp import (
    AtOp,
    BorderLoad,
    BorderStore,
    LoadOp,
    MapOp,
    NeighboursOp,
    StoreOp,
    WarpPrefetchOp,
    WarpYieldOp,
)
from tilefuse.dialects.warp.layout import Layout, TileType
from tilefuse.dialects.warp.memory import is_one_access
from tilefuse.execution.cover import first_covered
from tilefuse.execution.plan import KernelPlan
from tilefuse.execution.warp_tile.flags import TileFlags
from tilefuse.execution.warp_tile.footprints import Footprint, is_prefetchable
from tilefuse.execution.warp_tile.layout import LANES, WarpLayout, in_grid
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import INDEX, Emitter, Num
from tilefuse.lowering.folded_rows import folded_rows
from tilefuse.lowering.reads import Point, Resident, TileContext, emit_stage, read_global
from tilefuse.lowering.rows import row_of
from tilefuse.lowering.stored import Stored


class WarpTileBody:
    """Emit the tile body of one group."""

    def __init__(
        self, plan: KernelPlan, layout: WarpLayout, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer],
        flags: TileFlags,
    ):  # fmt: skip
        self.flags = flags
        self.plan, self.e, self.tile, self.outputs = plan, e, tile, outputs
        group, model = plan.group, plan.model
        self.group, self.model = group, model
        self.ids = {s: model.node_of[s.funcs[0]] for s in group.stages}
        self.stored = {s.stage: s for s in plan.stored}
        self.layout = layout
        # lanes and rows outside the tile read what is not staged, too
        tile.safe_reads = bool(layout.dead_left or layout.dead_right or layout.top or layout.bottom)

    def emit(self, prefetch_rows: int) -> None:
        """Emit all loads, then the stages, each stored one with its stores.

        `prefetch_rows`: the rows of tiles down to the one whose cache lines are prefetched; 0 for none.
        """
        for (_, source), footprint in self.layout.sources.items():
            assert isinstance(source, SSAValue)
            loaded = self._load(source, footprint)
            self.tile.staged[source] = self._resident(self._beside(loaded, footprint))
        if below := prefetch_rows * self.layout.height:
            self.emit_prefetches(below)
        for stage, id in self.ids.items():
            footprint = self.layout.stages[id]
            results = self._map(stage, footprint)
            if stage in self.stored:
                self._store(self.stored[stage], results, footprint)
            if stage is self.group.anchor:
                continue
            for f, result in zip(stage.funcs, results, strict=True):
                self.tile.resident[f] = self._resident(self._beside(result, footprint))

    def emit_prefetches(self, below: int = 0) -> None:
        """Prefetch the own points of the tile `prefetch_rows` below, from the pipeline's inputs.

        Points that it reads beside its own are prefetched with the tiles that own them.
        """
        boxes: dict[tuple[SSAValue, tuple[int | None, ...]], Sequence[tuple[int, int]]] = {}
        for base, spans, along in self.plan.reads:
            old = boxes.get((base, tuple(along)), spans)
            boxes[base, tuple(along)] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(old, spans, strict=True)]
        for (base, along), ((x0, x1), (y0, y1), *rest) in boxes.items():
            if not is_prefetchable(self.model.nodes[self.model.node_of[base]]):
                continue
            buffer = self.tile.buffers[base]
            for deep in itertools.product(*(range(low, high + 1) for low, high in rest)):
                first = [*self.tile.origin[:2], *in_grid(deep, along[2:], self.tile.origin, self.e)]
                indices = [self.e.value(i) for i in buffer.index(first, self.e)]
                columns, (top, bottom) = _own(x0, x1 + 1, self.layout.width), _own(y0, y1 + 1, self.layout.height)
                rows = (top + below, bottom + below)
                self.e.effect(WarpPrefetchOp(buffer.memref, indices, columns, rows, self.layout.warps))

    # --- layouts

    def _layout(self, footprint: Footprint) -> Layout:
        """Return the layout of a function as it is computed or loaded."""
        at = self.layout
        return Layout(
            (-at.dead_left * at.vector, -at.top),
            (LANES, at.vector),
            (at.warps, at.pitch),
            (0, at.vector),
            (-footprint.above, at.pitch + footprint.below),
            tuple((low, high + 1) for low, high in footprint.rest),
        )

    def _beside(self, tile: SSAValue, footprint: Footprint) -> SSAValue:
        """Widen `tile` by the rows and columns that consumers read."""
        at = self.layout
        assert isinstance(tile.type, TileType)
        rows = (-footprint.wide[0], at.pitch + footprint.wide[1]) if footprint.exchanged else None
        layout = tile.type.spread.with_spans((-footprint.reach[0], at.vector + footprint.reach[1]), rows)
        return tile if layout == tile.type.spread else self.e.op(NeighboursOp(tile, layout), tile.name_hint)

    def _resident(self, tile: SSAValue) -> Resident:
        def load(e: Emitter, relative: Sequence[Num]) -> SSAValue:
            x, y, *deep = relative
            dx, dy = e.sub(x, self.here[0]), e.sub(y, self.here[1])
            assert isinstance(dx, int)
            assert isinstance(dy, int)
            return e.op(AtOp(tile, (dx, dy), [e.value(d) for d in deep]))

        return Resident(load)

    # --- the operations

    def _region(self, rank: int, body: Callable[[list[Num]], list[SSAValue]]) -> Region:
        block = Block(arg_types=[INDEX] * rank)
        for d, arg in enumerate(block.args):
            arg.name_hint = letter(d)
        with self.e.nested(block):
            self.here: list[Num] = list(block.args)
            block.add_op(WarpYieldOp(*body(self.here)))
        # coordinates that nothing needs
        for op in reversed(list(block.ops)):
            if op.results and computes_values_only(op) and not any(r.uses for r in op.results):
                op.detach()
                op.erase()
        return Region(block)

    def _origin(self, buffer: KernelBuffer, footprint: Footprint) -> list[SSAValue]:
        return [self.e.value(i) for i in buffer.index(self._absolute([0] * len(buffer.mins), footprint), self.e)]

    def _absolute(self, relative: Sequence[Num], footprint: Footprint) -> list[Num]:
        x, y, *deep = relative
        origin = self.tile.origin
        return [self.e.add(origin[0], x), self.e.add(origin[1], y), *in_grid(deep, footprint.along, origin, self.e)]

    def _load(self, source: SSAValue, footprint: Footprint) -> SSAValue:
        e, tile = self.e, self.tile
        base, _ = behind_boundaries(source)
        buffer = tile.buffers[base]
        rank = 2 + len(footprint.rest)
        replaces = False
        uniform = may_be_uniform(source, footprint, self.layout.vector)
        folded = folded_rows(e, tile, source, -self.layout.top - footprint.above) if uniform else None

        def points(relative: list[Num]) -> list[SSAValue]:
            return [read_global(e, tile, source, self._absolute(relative, footprint), None)]

        def rows(relative: list[Num]) -> list[SSAValue]:
            nonlocal replaces
            here = replace(tile, moved_rows={} if folded is None else folded.moved(e, relative[1]))
            found = row_of(e, here, source, self._absolute(relative, footprint), self.layout.vector)
            assert found is not None
            replaces = found.keep is not None
            return [*(e.value(i) for i in found.index), *(found.edges or ()), *(found.keep or ())]

        in_rows = self._region(rank, rows) if uniform else None
        border = BorderLoad(tile.border, self._region(rank, points))
        if in_rows is not None:
            border = replace(
                border, vectors_uniform=self.flags.vectors_uniform, rows=in_rows, replaces=replaces,
                x_edge_only=self.flags.x_edge_only,
            )  # fmt: skip
        op = LoadOp(
            buffer.memref,
            self._origin(buffer, footprint),
            self._layout(footprint),
            self._aligned(base),
            border,
            pieces=self.layout.in_pieces(footprint),
            partial=self.layout.partial(footprint),
        )
        return e.op(op, source.name_hint or base.name_hint or "in")

    def _map(self, stage: StageOp, footprint: Footprint) -> list[SSAValue]:
        def body(relative: list[Num]) -> list[SSAValue]:
            return emit_stage(self.e, self.tile, stage, Point(self.plan.follow[self.ids[stage]], relative))

        elements: list[Attribute] = [f.type.storage for f in stage.funcs]
        op = MapOp(self._region(stage.rank, body), elements, self._layout(footprint))
        self.e.effect(op)
        for result in op.tiles:
            name = stage.sym_name.data
            result.name_hint = value_name(name)
        return list(op.tiles)

    def _store(self, stored: Stored, results: Sequence[SSAValue], footprint: Footprint) -> None:
        e, at = self.e, self.layout
        shifted = at.left_spill > 0 and footprint.shifted
        columns, rows = (-at.left_spill if shifted else 0, at.width), (0, at.height)
        first: SSAValue | None = None
        if self.flags.moves_in:
            # what a tile that has been moved overlaps is the other one's: versions may differ in how they round
            x = e.sub(self.tile.origin[0], first_covered(e, self.plan.stored, self.outputs, 0))
            first = e.value(e.sub(e.mul(e.ceildiv(x, at.width), at.width), x))
        for i, n in stored.results:
            buffer = self.outputs[n]
            # shifted stores find out for themselves, row by row
            aligned = None if shifted else self._aligned(self.group.funcs[n])
            # nor can they tell beforehand which lanes' columns lie in the picture
            uniform = None if shifted else self.flags.stores_uniform
            border = BorderStore(self.tile.border, uniform, self.flags.x_edge_only if shifted else None, first)
            e.effect(
                StoreOp(results[i], buffer.memref, self._origin(buffer, footprint), (columns, rows), border, aligned)
            )

    def _aligned(self, value: SSAValue) -> SSAValue | None:
        """Return whether a lane's piece of a row is one access; None if it never is."""
        return self.flags.aligned.get(value)


def _own(first: int, end: int, size: int) -> tuple[int, int]:
    """Cut a span to the points that a tile of a given size reads as its own, or to as many adjacent ones."""
    start = min(max(first, 0), end - size)
    return start, start + size


def may_be_uniform(source: SSAValue, footprint: Footprint, vector: int) -> bool:
    """Whether a lane's columns of an input's row form one vector, which border tiles may load as a whole.

    Of words what lies beside them is loaded too: so it is known which row is the last in memory.
    """
    assert isinstance(source.type, FuncType)
    if not is_one_access(source.type.element, vector):
        return False
    kinds = [b.kind.data for b in behind_boundaries(source)[1]]
    if kinds.count(BoundaryKind.ConstantExterior) > 1:
        return False
    return not footprint.in_words or not {*kinds} - {BoundaryKind.ConstantExterior, BoundaryKind.RepeatEdge}
