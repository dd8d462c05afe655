"""Regions of the stages of a group: what one tile of the output needs of each (overlapped tiling).

The region of a stage is *tile origin x ratio + constant interval* in every dimension (Ravishankar 2015,
ComputeTile, with ratios for scaled accesses). So it is enough to run bounds inference once, on the tile at
the origin, and to remember the ratio; tile origins are multiples of the denominators.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tilefuse.analysis.index import AnyIndex, GeneralIndex, Index, Span
from tilefuse.analysis.model import PipelineModel


@dataclass(frozen=True, slots=True)
class Follow:
    """How a dimension follows the tile: output dimension and ratio, or fixed (`dim` None)."""

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
        """Points in all."""
        return math.prod(self.extents)


SMALL_DIMENSION = 16
"""A dimension with a declared extent of at most this is not tiled: one tile holds all of it."""


def is_small(declared: tuple[int, int] | None) -> bool:
    """Whether a dimension is declared (min and extent) and not tiled: a thread has all of its points."""
    return declared is not None and declared[1] <= SMALL_DIMENSION


def fixed_span(model: PipelineModel, output: int, dim: int) -> Span | None:
    """(first, last) of an output dimension that is declared and small, so never tiled."""
    bounds = model.nodes[output].bounds
    declared = bounds[dim] if dim < len(bounds) else None
    if declared is None or not is_small(declared):
        return None
    return (declared[0], declared[0] + declared[1] - 1)


class NotFusable(Exception):
    """Two stages cannot share a tile; says why, for a user."""


def follow_chain(model: PipelineModel, members: Iterable[int], output: int) -> dict[int, tuple[Follow, ...]]:
    """How each dimension of each member follows the tile. Independent of tile sizes.

    Raises NotFusable where a member's region cannot follow the tile.
    """
    inside = set(members)
    out = model.nodes[output]
    follow: dict[int, tuple[Follow, ...]] = {
        output: tuple(Follow(d) if fixed_span(model, output, d) is None else Follow(None) for d in range(out.rank))
    }
    for id in sorted(inside, reverse=True):
        mine = follow.get(id)
        if mine is None:
            raise NotFusable(f"'{model.nodes[id].name}' is not needed by '{out.name}'")
        for access in model.nodes[id].hull:
            if access.producer not in inside:
                continue
            producer = model.nodes[access.producer]
            if access.jumps:
                raise NotFusable(
                    f"'{model.nodes[id].name}' reads '{producer.name}' "
                    + (f"through {access.boundary.value}" if access.boundary else "at computed places")
                )
            theirs = tuple([_followed(index, mine) for index in access.indices])
            known = follow.setdefault(producer.id, theirs)
            if known is not theirs and known != theirs:
                raise NotFusable(f"the reads of '{producer.name}' move at different speeds with the tile")
    return follow


def _followed(index: AnyIndex, mine: Sequence[Follow]) -> Follow:
    """How what an index reads follows the tile, if the reader's dimensions do like `mine`."""
    if not isinstance(index, Index) or index.var is None or (via := mine[index.var]).dim is None:
        return _FIXED
    # fractions take time, and nearly all are 1
    return via if index.num == index.den == 1 else Follow(via.dim, via.ratio * index.ratio)


def alignment(follow: Mapping[int, tuple[Follow, ...]], rank: int) -> tuple[int, ...]:
    """Return the numbers that tile origins and tile sizes must be multiples of, per output dimension."""
    steps = [1] * rank
    for dims in follow.values():
        for f in dims:
            if f.dim is not None:
                steps[f.dim] = math.lcm(steps[f.dim], f.ratio.denominator)
    return tuple(steps)


def regions(
    model: PipelineModel,
    members: Sequence[int],
    output: int,
    tile: Sequence[int],
    follow: Mapping[int, tuple[Follow, ...]] | None = None,
) -> dict[int, Region]:
    """The region of every member (ids; `output` among them) for a tile of `tile` points, x first."""
    if follow is None:
        follow = follow_chain(model, members, output)
    inside = set(members)
    spans: dict[int, list[Span]] = {output: [fixed_span(model, output, d) or (0, t - 1) for d, t in enumerate(tile)]}
    for id in sorted(inside, reverse=True):
        mine = spans[id]
        for access in model.nodes[id].hull:
            p = access.producer
            if p not in inside:
                continue
            theirs = []
            for index in access.indices:
                assert not isinstance(index, GeneralIndex)
                theirs.append(index.span(mine))
            old = spans.get(p)
            spans[p] = (
                theirs
                if old is None
                else [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, theirs, strict=True)]
            )
    return {id: Region(follow[id], tuple(spans[id])) for id in spans}
