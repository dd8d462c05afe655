"""Rows of a tile beyond a repeated or mirrored picture: a remainder for each tile, and additions for each row."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import BoundaryOp
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import TileContext, boundary_span, floor_mod, mirrored_period


@dataclass(frozen=True)
class FoldedRows:
    """Adjacent rows, at most as many as the picture has, under the boundary that moves them."""

    boundary: BoundaryOp
    kind: BoundaryKind
    low: int
    """The first of them, relative to the tile."""
    first: Num
    """The picture's first row."""
    period: Num
    """Rows from which the boundary's rows repeat."""
    start: Num
    """The place of `low` in the period."""

    def moved(self, e: Emitter, row: Num) -> dict[BoundaryOp, Num]:
        """Return the row of the picture that is read for `row`, relative to the tile."""
        at = e.add(self.start, e.sub(row, self.low))
        again = e.sub(at, self.period)  # in the next period
        if self.kind is BoundaryKind.RepeatImage:
            return {self.boundary: e.add(self.first, e.pick(e.compare("sge", again, 0), again, at))}
        back = e.sub(e.sub(self.period, int(self.kind is BoundaryKind.MirrorImage)), at)
        return {self.boundary: e.add(self.first, e.max(e.min(at, back), again))}


def periodic_boundary(source: SSAValue) -> BoundaryOp | None:
    """Return the boundary that moves the rows of a function, if it repeats or mirrors them."""
    moving = (b for b in behind_boundaries(source)[1] if b.kind.data is not BoundaryKind.ConstantExterior)
    found = next((b for b in moving if 1 in b.dimensions), None)
    return None if found is None or found.kind.data is BoundaryKind.RepeatEdge else found


def folded_rows(e: Emitter, tile: TileContext, source: SSAValue, low: int) -> FoldedRows | None:
    """Emit the place of a tile's row `low` in the period of the boundary that repeats or mirrors rows; None without."""
    op = periodic_boundary(source)
    if op is None:
        return None
    first, extent = boundary_span(e, tile, op, op.dimensions.index(1))
    kind = op.kind.data
    period = extent if kind is BoundaryKind.RepeatImage else mirrored_period(e, kind, extent)
    start = floor_mod(e, e.sub(e.add(tile.origin[1], low), first), period)
    return FoldedRows(op, kind, low, first, period, start)
