"""The columns of a row that no boundary moves or hides, and whose reads lie in all buffers: most of them.

There the loop over x has no border handling in x, so that it reads side by side, and is vectorised.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import SSAValue

from tilefuse.analysis.access import accesses, behind_boundaries
from tilefuse.analysis.index import Index
from tilefuse.dialects.img.ops import BoundaryOp, StageOp
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import TileContext, boundary_box, moves_right


def free_columns(e: Emitter, tile: TileContext, stage: StageOp, low: Num, high: Num) -> tuple[Num, Num] | None:
    """(first, end) of these columns among `low`.. before `high`, relative to the tile; None if that is all of them."""
    limits = list(dict.fromkeys(_limits(tile, stage)))
    if not limits:
        return None
    start, end = low, high
    for index, limit in limits:
        first, stop = limit.emit(e, tile)
        # the columns x with first <= floor((num x + offset) / den) < stop
        start = e.max(start, e.sub(_up(e, first, index), tile.origin[0]))
        end = e.min(end, e.sub(_up(e, stop, index), tile.origin[0]))
    start = e.min(start, high)
    return start, e.max(end, start)


def _up(e: Emitter, bound: Num, index: Index) -> Num:
    """The first x of which the index is at least `bound`."""
    scaled = e.sub(e.mul(bound, index.den), index.offset)
    return scaled if index.num == 1 else e.floordiv(e.add(scaled, index.num - 1), index.num)


class _Limit:
    """The extent of a buffer in one dimension, or of a boundary's box."""

    def __init__(self, of: SSAValue | BoundaryOp, dim: int):
        self.of, self.dim = of, dim

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Limit) and self.of is other.of and self.dim == other.dim

    def __hash__(self) -> int:
        return hash((id(self.of), self.dim))

    def emit(self, e: Emitter, tile: TileContext) -> tuple[Num, Num]:
        if isinstance(self.of, BoundaryOp):
            first, extent = boundary_box(e, tile, self.of, self.of.dimensions.index(self.dim))
        else:
            buffer = tile.buffers[self.of]
            first, extent = buffer.mins[self.dim], buffer.extent(self.dim, e)
        return first, e.add(first, extent)


def _limits(tile: TileContext, stage: StageOp) -> Iterator[tuple[Index, _Limit]]:
    for access in accesses(stage):
        base, boundaries = behind_boundaries(access.function)
        for d, index in enumerate(access.indices):
            if not moves_right(index):
                continue
            assert isinstance(index, Index)
            if base in tile.buffers:
                yield index, _Limit(base, d)
            if base not in tile.masks:
                yield from ((index, _Limit(b, d)) for b in boundaries if d in b.dimensions)
    for f in stage.funcs:
        for b in tile.masks.get(f, ()):
            if 0 in b.dimensions:
                yield Index(0, 1, 0, 1), _Limit(b, 0)
