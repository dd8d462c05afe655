"""The share of a picture in which a group's tiles meet no boundary condition, and store all that the group stores.

A tile elsewhere runs the version for borders with all of its stages. Mostly few tiles do, at the edges; but readers
that scale leave much of the picture beyond the boundaries of what they read, and stages needed in boxes of unlike
sizes, stored by one kernel, are partly outside of one another's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from tilefuse.analysis.access import behind_boundaries
from tilefuse.analysis.index import Index
from tilefuse.analysis.model import Access
from tilefuse.analysis.points import nominal_extents
from tilefuse.execution.facts import HALO, GroupFacts


def interior_share(facts: GroupFacts) -> float:
    """Return the share of a group's points in whose tiles no boundary is met, edges of the picture aside."""
    facts = replace(facts, far=True)
    share = Fraction(1)
    for dim, points in enumerate(facts.box):
        extent = Fraction(points)
        inside = min((n for d, n in _insides(facts) if d == dim), default=extent)
        if inside * HALO < extent:
            share *= inside / extent
    return float(share)


def _insides(facts: GroupFacts) -> Iterator[tuple[int, Fraction]]:
    """Yield dimensions of the box, and points of it along that dimension for which some stage meets no boundary."""
    for id in facts.stored:
        for follow, extent in zip(facts.follow[id], facts.own_box(id), strict=True):
            if follow.dim is not None:
                yield follow.dim, extent / follow.ratio
    for id in facts.members:
        for access in facts.model.nodes[id].hull:
            for var, points in _bounded(facts, access):
                if (follow := facts.follow[id][var]).dim is not None:
                    yield follow.dim, points / follow.ratio


def _bounded(facts: GroupFacts, access: Access) -> Iterator[tuple[int, Fraction]]:
    """Yield coordinates of a reader, and points along each for which the access lies inside of its boundaries."""
    dimensions = {d for op in behind_boundaries(access.source)[1] for d in op.dimensions}
    source = nominal_extents(facts.model.nodes[access.producer].bounds, facts.extent)
    for dim, index in enumerate(access.indices):
        if dim in dimensions and isinstance(index, Index) and index.var is not None and index.num:
            yield index.var, source[dim] / abs(index.ratio)
