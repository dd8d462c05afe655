"""Lowering of warp-tiled bodies for machines without warps: plain arrays, one operation after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from xdsl.ir import SSAValue

from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.warp import LoadOp, MapOp, NeighboursOp, StoreOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.execution.warp_tile.body import Body, LanePoint
from tilefuse.execution.warp_tile.layout import LANES, WarpLayout
from tilefuse.execution.warp_tile.schedule import Loop, StraightLine, layout_of, own_rows
from tilefuse.lowering.emit import SHARED, Num


class ArrayBody(Body):
    """Lower one body. Lanes are adjacent in an array, so that neighbouring columns need no exchange."""

    by_segments = False

    def lower(self) -> None:
        """Replace the warp operations of the function."""
        for tile, layout in self.storage.spans.items():
            left, right = layout.reach
            deep = [b - a for a, b in reversed(layout.depth)]
            shape = [layout.warps[0], *deep, layout.height, layout.lanes[0] * layout.vector + left + right]
            name = f"w_{tile.name_hint or 'tile'}"
            self.arrays[tile] = self.e.alloca(shape, tile.type.element, SHARED, name)  # type: ignore[attr-defined]
        self._emit(self.plan)
        self.finish()

    def _emit(self, items: Sequence[StraightLine | Loop]) -> None:
        for item in items:
            if isinstance(item, Loop):
                with self.iterations(item):
                    self._emit(item.body)
                continue
            for op in item.ops:
                match op:
                    case LoadOp():
                        self._load(op)
                    case MapOp():
                        self._map(op)
                    case NeighboursOp():
                        self._neighbours(op)
                    case StoreOp():
                        self._store(op)

    def copy(self, pairs: Sequence[tuple[SSAValue, SSAValue]]) -> None:
        e, layout = self.e, layout_of(pairs[0][1])
        left, right = layout.reach
        width = layout.lanes[0] * layout.vector + left + right
        with self._rows(layout) as (warp, row, deep), e.loop(width, "x", simd=True) as x:
            at = LanePoint(warp, 0, e.sub(x, left), row, deep)
            for value, tile in [(self.load(source, at), tile) for source, tile in pairs]:
                self._put(value, tile, at)

    def load(self, tile: SSAValue, at: LanePoint) -> SSAValue:
        array, index = self._element(tile, at)
        return self.e.load(array, index)

    def _element(self, tile: SSAValue, at: LanePoint) -> tuple[SSAValue, list[Num]]:
        array, layout = self.array(tile)
        e = self.e
        deep = [e.sub(c, low) for c, (low, _) in zip(at.deep, layout.depth, strict=True)]
        x = e.add(e.mul(at.lane, layout.vector), e.sub(at.column, layout.columns[0]))
        return array, [at.warp, *reversed(deep), e.sub(at.row, layout.rows[0]), x]

    def _put(self, value: SSAValue, tile: SSAValue, at: LanePoint) -> None:
        array, index = self._element(tile, at)
        self.e.store(value, array, index)

    @contextmanager
    def _rows(self, layout: Layout) -> Iterator[tuple[Num, Num, tuple[Num, ...]]]:
        """Open loops over warps, further dimensions and rows."""
        e = self.e
        with (
            e.loop(layout.warps[0], "warp") as warp,
            self.depths(layout) as deep,
            e.loop(layout.height, "r") as r,
        ):
            yield warp, e.add(r, layout.rows[0]), deep

    @contextmanager
    def _points(self, layout: Layout) -> Iterator[LanePoint]:
        """Open loops over all points that the lanes own; columns count from lane 0, since lanes are adjacent."""
        with (
            self._rows(layout) as (warp, row, deep),
            self.e.loop(layout.lanes[0] * layout.vector, "x", simd=True) as x,
        ):
            yield LanePoint(warp, 0, x, row, deep)

    def _load(self, op: LoadOp) -> None:
        e, layout = self.e, layout_of(op.tile)

        def interior() -> None:
            with self._points(layout) as at:
                self._put(e.load(op.buffer, self.memory_index(op.indices, at, layout)), op.tile, at)

        def border() -> None:
            with self._points(layout) as at:
                self._put(self.run(op.points, at, layout)[0], op.tile, at)

        if op.border is None:
            interior()
        else:
            e.choose(op.border, border, interior)

    def _map(self, op: MapOp) -> None:
        with self._points(op.layout) as at:
            for value, tile in zip(self.run(op.body.block, at, op.layout), op.tiles, strict=True):
                self._put(value, tile, at)

    def _neighbours(self, op: NeighboursOp) -> None:
        """Copy rows from the neighbouring warps; columns outside the block repeat the outermost, as shuffles do."""
        e = self.e
        old, new = layout_of(op.tile), layout_of(op.wider)
        above, below = old.rows[0] - new.rows[0], new.rows[1] - old.rows[1]
        width = new.lanes[0] * new.vector
        if above or below:
            with e.loop(new.warps[0], "warp") as warp, self.depths(new) as deep:
                up, down = e.max(e.sub(warp, 1), 0), e.min(e.add(warp, 1), new.warps[0] - 1)
                for count, start, other, shift in (
                    (above, new.rows[0], up, new.pitch),
                    (below, old.rows[1], down, -new.pitch),
                ):
                    if not count:
                        continue
                    with e.loop(count, "r") as r, e.loop(width, "x", simd=True) as x:
                        here = e.add(r, start)
                        value = self.load(op.tile, LanePoint(other, 0, x, e.add(here, shift), deep))
                        self._put(value, op.wider, LanePoint(warp, 0, x, here, deep))
        left, right = new.reach
        if left or right:
            with self._rows(new) as (warp, row, deep):
                for first, count, edge in ((-left, left, 0), (width, right, width - 1)):
                    if not count:
                        continue
                    with e.loop(count, "x") as x:
                        value = self.load(op.tile, LanePoint(warp, 0, edge, row, deep))
                        self._put(value, op.wider, LanePoint(warp, 0, e.add(x, first), row, deep))

    def _store(self, op: StoreOp) -> None:
        e, layout = self.e, layout_of(op.tile)

        def points(guard: bool) -> None:
            with self._points(layout.with_spans(rows=own_rows(layout))) as at:
                index = self.memory_index(op.indices, at, layout)
                inside = self.in_box(op, at, columns=True)
                if guard:
                    inside = e.both(inside, e.both(self.in_buffer(op.buffer, index), self.is_own(op, at)))
                with e.when(inside):
                    e.store(self.load(op.tile, at), op.buffer, index)

        e.choose(op.border, lambda: points(guard=True), lambda: points(guard=False))


def array_bytes(model: PipelineModel, layout: WarpLayout) -> list[tuple[int, str]]:
    """Return the bytes of a block's tiles as arrays, as on a CPU; per function, with its name."""
    arrays = [(model.nodes[id].name, footprint) for id, footprint in layout.stages.items()]
    arrays += [(model.nodes[id].name, footprint) for (id, _), footprint in layout.sources.items()]
    sizes = []
    for name, footprint in arrays:
        rows, columns = layout.pitch + sum(footprint.wide), LANES * layout.vector + sum(footprint.reach)
        sizes.append((layout.warps * rows * columns * footprint.deep * footprint.bytes, name))
    return sizes
