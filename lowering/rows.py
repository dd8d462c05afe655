"""Vector loads of consecutive points of an input along x, border tiles included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import Located, TileContext, all_of, boundary_span, locate, moved_into


@dataclass
class BorderRow:
    """Vector loads of consecutive points of an input along x by adjacent lanes, in a border tile."""

    vectors_uniform: SSAValue
    """Whether all of them can."""
    index: list[Num]
    """memref indices of the first."""
    edges: tuple[SSAValue, SSAValue] | None = None
    """Whether all points are as the first of these, or as the last."""
    keep: tuple[SSAValue, SSAValue] | None = None
    """Whether the points are inside a constant exterior, and the value where not."""


def row_of(
    e: Emitter, tile: TileContext, source: SSAValue, where: Sequence[Num], count: int, lanes: int = 1
) -> BorderRow | None:
    """Plan the load of `count` points of `source` from `where` along x per lane, for `lanes` adjacent lanes.

    None where it never can be done at once.
    """
    first = locate(e, tile, source, where, None)
    if len(first.inside) > 1:
        return None
    along = [b for b in behind_boundaries(source)[1] if 0 in b.dimensions]
    in_pieces = (BoundaryKind.RepeatEdge, BoundaryKind.ConstantExterior)
    if count & (count - 1) == 0 and (not along or (len(along) == 1 and along[0].kind.data in in_pieces)):
        return _piece_of_row(e, tile, source, where[0], count, lanes, first)
    return inside_row(e, tile, source, where, count * lanes)


def inside_row(e: Emitter, tile: TileContext, source: SSAValue, where: Sequence[Num], count: int) -> BorderRow | None:
    """Plan the load of any `count` of points from `where` along x: one vector where no boundary moves a point."""
    first = locate(e, tile, source, where, None)
    if len(first.inside) > 1:
        return None
    buffer = tile.buffers[behind_boundaries(source)[0]]
    uniform: SSAValue | None = None
    for x in (where[0], e.add(where[0], count - 1)):
        at = locate(e, tile, source, [x, *where[1:]], None)
        uniform = e.both(uniform, e.compare("eq", at.index[-1], e.sub(x, buffer.mins[0])))
        for conditions, _ in at.inside:
            uniform = e.both(uniform, conditions.get(0))
    assert uniform is not None
    keep = None
    for conditions, value in first.inside:
        inside = all_of(e, (c for d, c in conditions.items() if d))
        if inside is not None:
            keep = (inside, value)
    return BorderRow(uniform, first.index, None, keep)


def _piece_of_row(
    e: Emitter, tile: TileContext, source: SSAValue, x: Num, count: int, lanes: int, first: Located
) -> BorderRow:
    """Return the row of pieces, each of which lies wholly inside the box or wholly outside."""
    base, boundaries = behind_boundaries(source)
    buffer, boundary = tile.buffers[base], next((b for b in boundaries if 0 in b.dimensions), None)
    low: Num = buffer.mins[0]
    size = buffer.extent(0, e)
    start, extent = (low, size) if boundary is None else boundary_span(e, tile, boundary, boundary.dimensions.index(0))
    offset = e.sub(x, start)
    uniform = e.both(fit_between(e, offset, extent, count, lanes), e.compare("sge", extent, count))
    if boundary is not None and boundary.mins:
        uniform = e.both(uniform, e.compare("sge", start, low))
        uniform = e.both(uniform, e.compare("sle", e.add(start, extent), e.add(low, size)))
    assert uniform is not None
    edges = None
    if boundary is not None:
        # pieces outside are read at the ends of the box, where pieces lie as well: the buffer may reach further
        low, size = start, extent
    if boundary is not None and boundary.kind.data is BoundaryKind.RepeatEdge:
        edges = (e.compare("slt", offset, 0), e.compare("sge", offset, extent))
    moved = moved_into(e, x, low, e.sub(size, count))
    keep = None
    for conditions, value in first.inside:
        inside = all_of(e, conditions.values())
        assert inside is not None
        keep = (inside, value)
    return BorderRow(uniform, [*first.index[:-1], e.sub(moved, buffer.mins[0])], edges, keep)


def fit_between(e: Emitter, offset: Num, extent: Num, count: int, lanes: int) -> SSAValue:
    """Whether each lane's pieces from `offset`, `count` points each, lie wholly inside 0..extent or wholly outside."""

    def between(rest: Num) -> SSAValue:
        return e.compare("eq", e.op(arith.AndIOp(e.value(rest), e.value(count - 1))), 0)

    rest = e.sub(extent, offset)
    left = e.either(e.compare("sge", offset, 0), between(offset))
    right = e.either(e.compare("sge", rest, count * lanes), between(rest))
    fits = e.both(left, right)
    assert fits is not None
    return fits
