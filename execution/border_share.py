"""Share of a picture in interior tiles, in which no boundary applies and all stores are inside.

A tile elsewhere runs the version for borders with all of its stages. Mostly few tiles do, at the edges; but readers
that scale, mirror or shift far leave much of the picture beyond the boundaries of what they read, and so do boundaries
whose boxes are smaller than the picture; and stages needed in boxes of unlike sizes, stored by one kernel, are partly
outside of one another's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from tilefuse.analysis.access import behind_boundaries
from tilefuse.analysis.index import Index
from tilefuse.analysis.model import Access
from tilefuse.analysis.points import NominalSizes
from tilefuse.analysis.regions import Follow
from tilefuse.analysis.scalars import boundary_box
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import BoundaryOp
from tilefuse.execution.facts import HALO, GroupFacts

_CoordinateRange = tuple[Fraction, Fraction]
"""From the first coordinate to that behind the last."""


def interior_share(facts: GroupFacts) -> float:
    """Return the share of a group's points in tiles without an active boundary, picture edges aside."""
    facts = replace(facts, far_boxes=True)
    inside = [_range(facts, d, n) for d, n in enumerate(facts.box)]
    for dim, (first, end) in _insides(facts):
        inside[dim] = (max(inside[dim][0], first), min(inside[dim][1], end))
    share = Fraction(1)
    for (first, end), points in zip(inside, facts.box, strict=True):
        if (end - first) * HALO < points:
            share *= max(Fraction(0), (end - first) / points)
    return float(share)


def _range(facts: GroupFacts, dim: int, points: Fraction | int) -> _CoordinateRange:
    """Return the range of `count` output points from `first`."""
    declared = facts.bounds[dim]
    first = Fraction(declared[0] if declared is not None else 0)
    return first, first + points


def _insides(facts: GroupFacts) -> Iterator[tuple[int, _CoordinateRange]]:
    """Yield output dimensions, and for each a range of points in which a stage meets no boundary."""
    for id in facts.stored:
        for follow, extent in zip(facts.follow[id], facts.own_box(id), strict=True):
            if follow.dim is not None:
                yield follow.dim, _range(facts, follow.dim, extent / follow.ratio)
    for id in facts.members:
        for access in facts.model.nodes[id].hull:
            for var, inside in _bounded(facts, access):
                if (follow := facts.follow[id][var]).dim is not None:
                    yield follow.dim, _of_output(inside, follow)


def _of_reader(box: tuple[int, int], index: Index) -> _CoordinateRange:
    """Return the range of a reader's coordinate that reads from `box[0]` to before `box[1]`."""
    bounds = [Fraction(at * index.den - index.offset, index.num) for at in box]
    if index.num > 0:
        first, end = map(math.ceil, bounds)
    else:
        end, first = (math.floor(at) + 1 for at in bounds)
    return Fraction(first), Fraction(end)


def _of_output(inside: _CoordinateRange, follow: Follow) -> _CoordinateRange:
    """Convert a range of a stage's coordinate to the output's, which it follows."""
    first, end = (at / follow.ratio for at in inside)
    return (first, end) if first <= end else (end, first)


def _bounded(facts: GroupFacts, access: Access) -> Iterator[tuple[int, _CoordinateRange]]:
    """Yield a reader's coordinates, with the range of each in which an access lies inside its boundaries."""
    for op in behind_boundaries(access.source)[1]:
        for dim, box in _boxes(op, facts).items():
            index = access.indices[dim]
            if isinstance(index, Index) and index.var is not None and index.num:
                yield index.var, _of_reader(box, index)


def _boxes(op: BoundaryOp, facts: GroupFacts) -> dict[int, tuple[int, int]]:
    """Return, per continued dimension, the half-open range inside a boundary's box."""
    try:
        spans = boundary_box(op, NominalSizes(facts.extent))
    except PipelineError:  # which whoever calls the program is told
        return {}
    return {d: (low, high + 1) for d, (low, high) in spans.items() if isinstance(low, int) and isinstance(high, int)}
