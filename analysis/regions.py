"""Regions of a group's stages: the points of each that one tile of the anchor needs or stores (overlapped tiling).

The region of a stage is *tile origin x ratio + constant interval* in every dimension (Ravishankar 2015,
ComputeTile, with ratios for scaled accesses). So it is enough to run bounds inference once, on the tile at
the origin, and to remember the ratio; tile origins are multiples of the denominators.
What a tile stores of a stage, its own points, is the image of the tile: so the tiles of a grid share out its points.
The region is these and, around them, the halo that others need.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tilefuse.analysis.index import AnyIndex, Index, Span
from tilefuse.analysis.model import PipelineModel


@dataclass(frozen=True, slots=True)
class Follow:
    """Map from a dimension to the tile: output dimension and ratio, or fixed (`dim` None)."""

    dim: int | None
    ratio: Fraction = Fraction(1)


_FIXED = Follow(None)


@dataclass(slots=True)
class Region:
    """The coordinates of one stage that the tile at the origin needs."""

    follow: tuple[Follow, ...]
    spans: tuple[Span, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """Points per dimension, x first."""
        return tuple(high - low + 1 for low, high in self.spans)

    @property
    def points(self) -> int:
        """Number of points."""
        return math.prod(self.extents)


SMALL_DIMENSION = 16
"""A dimension with a declared extent of at most this is not tiled: one tile holds all of it."""
PLANES_AT_ONCE = 4
"""Planes of a stage on a CPU, at most, that one loop computes if they have most of their work in common."""


def is_small(declared: tuple[int, int] | None) -> bool:
    """Whether a dimension is declared (min and extent) and not tiled, so that a thread has all its points."""
    return declared is not None and declared[1] <= SMALL_DIMENSION


def fixed_span(model: PipelineModel, output: int, dim: int) -> Span | None:
    """Return (first, last) of an output dimension that is declared and small, so never tiled."""
    bounds = model.nodes[output].bounds
    declared = bounds[dim] if dim < len(bounds) else None
    if declared is None or not is_small(declared):
        return None
    return (declared[0], declared[0] + declared[1] - 1)


class NotFusable(Exception):
    """Error: two stages cannot share a tile; the text tells the user why."""


def follow_chain(model: PipelineModel, members: Iterable[int], anchor: int) -> dict[int, tuple[Follow, ...]]:
    """Map each dimension of each member to the anchor's tile, independently of tile sizes.

    Raises NotFusable where a member's region cannot follow the tile, or tiles do not share out a stored one evenly.
    """
    inside = set(members)
    follow: dict[int, tuple[Follow, ...]] = {anchor: _of_tile(model, anchor)}
    waiting = sorted(inside, reverse=True)
    while waiting:
        unknown = []
        for id in waiting:
            if id in follow:
                _spread(model, inside, id, follow)
            else:
                unknown.append(id)
        if unknown:
            # stored beside what the anchor needs: what it reads says how it lies
            id, found = _beside(model, inside, anchor, unknown, follow)
            follow[id] = found
        waiting = unknown
    for id in model.stored(inside):
        if id != anchor:
            _check_shared_out(model, anchor, id, follow)
    return follow


def _of_tile(model: PipelineModel, anchor: int) -> tuple[Follow, ...]:
    rank = model.nodes[anchor].rank
    return tuple(Follow(d) if fixed_span(model, anchor, d) is None else _FIXED for d in range(rank))


def _spread(model: PipelineModel, inside: Collection[int], id: int, follow: dict[int, tuple[Follow, ...]]) -> None:
    """Propagate the map from member `id` to the members that it reads."""
    reader_maps = follow[id]
    for access in model.nodes[id].hull:
        if access.producer not in inside:
            continue
        producer = model.nodes[access.producer]
        if access.jumps:
            raise NotFusable(
                f"'{model.nodes[id].name}' reads '{producer.name}' "
                + (f"through {access.boundary.value}" if access.boundary else "at computed places")
            )
        source_maps = tuple([_followed(index, reader_maps) for index in access.indices])
        known = follow.setdefault(producer.id, source_maps)
        if known is not source_maps and known != source_maps:
            raise NotFusable(f"the reads of '{producer.name}' move at different speeds with the tile")


def _beside(
    model: PipelineModel,
    inside: Collection[int],
    anchor: int,
    unknown: Sequence[int],
    follow: Mapping[int, tuple[Follow, ...]],
) -> tuple[int, tuple[Follow, ...]]:
    """Find a stored member that the known ones do not need but share reads with, and its map to the tile.

    The point of a function that two stages read says which points of the two belong together.
    """
    sources: dict[int, tuple[Follow, ...]] = {}
    for id, reader_maps in follow.items():
        for access in model.nodes[id].hull:
            sources.setdefault(access.producer, tuple([_followed(index, reader_maps) for index in access.indices]))
    sources |= follow
    stored = [id for id in unknown if id in model.stored(inside)]
    for id in stored:
        node = model.nodes[id]
        dims: list[Follow | None] = [None if fixed_span(model, id, d) is None else _FIXED for d in range(node.rank)]
        for access in node.hull:
            for index, source_maps in zip(access.indices, sources.get(access.producer, ()), strict=False):
                if isinstance(index, Index) and index.var is not None and source_maps.dim is not None and index.num:
                    dims[index.var] = dims[index.var] or Follow(source_maps.dim, source_maps.ratio / index.ratio)
        found = tuple(f for f in dims if f is not None)
        if len(found) == node.rank:
            return id, found
    out, name = model.nodes[anchor].name, model.nodes[(stored or unknown)[0]].name
    raise NotFusable(
        f"no read of '{name}' relates its points to those of '{out}'"
        if stored
        else f"'{name}' is not needed by '{out}'"
    )


def _check_shared_out(model: PipelineModel, anchor: int, id: int, follow: Mapping[int, tuple[Follow, ...]]) -> None:
    """Raise NotFusable unless every point of a stored member belongs to exactly one tile."""
    what, out = f"'{model.nodes[id].name}', which is stored,", f"'{model.nodes[anchor].name}'"
    tiled = sorted(f.dim for f in follow[anchor] if f.dim is not None)
    if sorted(f.dim for f in follow[id] if f.dim is not None) != tiled:
        raise NotFusable(f"{what} does not follow each dimension of the tile of {out} once")
    for d, f in enumerate(follow[id]):
        if f.dim is None and fixed_span(model, id, d) is None:
            raise NotFusable(
                f"{what} does not follow the tile of {out} in dimension {d}; declare this dimension small with bound"
            )
        if f.ratio <= 0:
            raise NotFusable(f"{what} runs against the tile of {out} in dimension {d}")


def _followed(index: AnyIndex, reader_maps: Sequence[Follow]) -> Follow:
    """Map the dimension that an index reads to the tile, given `reader_maps`, the maps of the reader's dimensions."""
    if not isinstance(index, Index) or index.var is None or (via := reader_maps[index.var]).dim is None:
        return _FIXED
    # fractions take time, and nearly all are 1
    return via if index.num == index.den == 1 else Follow(via.dim, via.ratio * index.ratio)


def alignment(follow: Mapping[int, tuple[Follow, ...]], rank: int) -> tuple[int, ...]:
    """Return the required divisors of tile origins and tile sizes, per output dimension."""
    steps = [1] * rank
    for dims in follow.values():
        for f in dims:
            if f.dim is not None:
                steps[f.dim] = math.lcm(steps[f.dim], f.ratio.denominator)
    return tuple(steps)


def regions(
    model: PipelineModel,
    members: Sequence[int],
    anchor: int,
    tile: Sequence[int],
    follow: Mapping[int, tuple[Follow, ...]] | None = None,
) -> dict[int, Region]:
    """Compute the region of every member (ids; `anchor` among them) for a tile of `tile` points, x first.

    What a tile stores of a member is part of its region.
    """
    if follow is None:
        follow = follow_chain(model, members, anchor)
    inside = set(members)
    spans = {id: own_spans(model, id, follow[id], tile) for id in model.stored(inside)}
    spans[anchor] = [fixed_span(model, anchor, d) or (0, t - 1) for d, t in enumerate(tile)]
    for id in sorted(inside, reverse=True):
        reader_spans = spans[id]
        for access in model.nodes[id].hull:
            p = access.producer
            if p not in inside:
                continue
            read_spans = []
            for index in access.indices:
                read_spans.append(index.span(reader_spans))
            old = spans.get(p)
            spans[p] = (
                read_spans
                if old is None
                else [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, read_spans, strict=True)]
            )
    return {id: Region(follow[id], tuple(spans[id])) for id in spans}


def own_spans(model: PipelineModel, id: int, follow: Sequence[Follow], tile: Sequence[int]) -> list[Span]:
    """Return the own coordinates of a stored stage at the tile of the origin, given its map to the tile."""
    spans = []
    for d, f in enumerate(follow):
        if f.dim is None:
            fixed = fixed_span(model, id, d)
            assert fixed is not None  # `_check_shared_out`
            spans.append(fixed)
        else:
            # a few points for a thread may be no whole number of points here
            spans.append((0, -(-tile[f.dim] * f.ratio.numerator // f.ratio.denominator) - 1))
    return spans
