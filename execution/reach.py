"""Reach of a group's reads under boundaries: the points that an interior tile needs inside each boundary's box."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import SSAValue

from tilefuse.analysis.access import StageRead, accesses, coordinates
from tilefuse.analysis.index import AnyIndex, BoundedIndex, GeneralIndex, Index, Span, linear_terms
from tilefuse.analysis.regions import Follow, regions
from tilefuse.analysis.value_range import is_unbounded, value_range
from tilefuse.dialects.img.ops import BoundaryOp, ReadOp
from tilefuse.execution.plan import KernelPlan

FURTHEST = 64
"""Points between the least and the greatest place where data say, up to which a tile may be interior: with more there
would be few such tiles."""

Along = tuple[tuple[int, int, int], ...]
"""The origin of a tile that an index is counted from: (dimension, numerator, denominator) of each term."""


@dataclass(frozen=True)
class Reach:
    """Reads through a boundary in one dimension: an origin that follows the tile, plus a span."""

    boundary: BoundaryOp
    dim: int
    along: Along


def boundary_reach(plan: KernelPlan) -> tuple[dict[Reach, Span], Collection[ReadOp]]:
    """Find the reach of reads through boundaries, and the reads among them with general indices.

    These read at sums of coordinates, or where data say within limits, or go through no boundary at such an index: what
    the call needs of them is inside. Others are handled in every tile.
    """
    model, follow = plan.model, plan.follow
    ids = {s: model.node_of[s.funcs[0]] for s in plan.group.tiled}
    region = regions(model, list(ids.values()), ids[plan.group.anchor], plan.sizes, follow)
    reach: dict[Reach, Span] = {}
    general: list[ReadOp] = []
    for stage, id in ids.items():
        of = coordinates(stage)
        for access in accesses(stage):
            found = _reach_of(access, of, region[id].spans, follow[id])
            if found is None:
                continue
            if any(isinstance(i, GeneralIndex) for i in access.indices):
                general.append(access.op)
            for key, (low, high) in found.items():
                low -= max((plan.stored_beyond(d) for d, _, _ in key.along), default=0)
                old = reach.get(key, (low, high))
                reach[key] = (min(old[0], low), max(old[1], high))
    return reach, general


def _reach_of(
    access: StageRead, of: dict[SSAValue, int], spans: Sequence[Span], follow: Sequence[Follow]
) -> dict[Reach, Span] | None:
    """Return the reach of one read, per boundary and dimension; None if it is not known for one of them."""
    found: dict[Reach, Span] = {}
    for b in access.boundaries:
        for d in b.dimensions:
            one = followed(access.op, access.indices[d], of, spans, follow)
            if one is None:
                return None
            key = Reach(b, d, one[0])
            old = found.get(key, one[1])
            found[key] = (min(old[0], one[1][0]), max(old[1], one[1][1]))
    return found


def followed(
    read: ReadOp, index: AnyIndex, of: dict[SSAValue, int], spans: Sequence[Span], follow: Sequence[Follow]
) -> tuple[Along, Span] | None:
    """Return the origin from which an index counts, and its span; None if they are not known."""
    if isinstance(index, Index | BoundedIndex):
        via = follow[index.var] if isinstance(index, Index) and index.var is not None else None
        if via is None or via.dim is None:
            return (), index.span(spans)
        ratio = via.ratio * index.ratio  # type: ignore[union-attr]
        return ((via.dim, ratio.numerator, ratio.denominator),), index.span(spans)
    if (linear := linear_terms(index.expr)) is None:
        return None
    terms, low = linear
    high, spread = low, 0
    along: dict[int, int] = {}
    for position, times in terms.items():
        value = read.indices[position]
        if value in of:
            span, via = spans[of[value]], follow[of[value]]
            if via.dim is not None:
                if (via.ratio * times).denominator != 1:
                    return None
                along[via.dim] = along.get(via.dim, 0) + int(via.ratio * times)
        else:
            span = cast(Span, value_range(value, {}))
            if is_unbounded(span):
                return None
            spread += (span[1] - span[0]) * abs(times)
        ends = (span[0] * times, span[1] * times)
        low, high = low + min(ends), high + max(ends)
    if along and spread > FURTHEST:
        return None
    return tuple((d, n, 1) for d, n in sorted(along.items()) if n), (low, high)
