"""The grid of a tiled group: tile origins and counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tilefuse.analysis.bounds import Box
from tilefuse.analysis.index import Index
from tilefuse.analysis.model import PipelineModel, extract, pipeline_of
from tilefuse.analysis.regions import Follow, alignment
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.block_order import deep_first
from tilefuse.execution.tile_schedule import TileSchedule
from tilefuse.lowering.abi import touches_temporaries
from tilefuse.lowering.stored import anchor_box, follow_of, stored_stages


def origin_alignment(group: GroupOp, model: PipelineModel | None = None) -> tuple[int, ...]:
    """Return the divisor of tile origins per dimension: over 1 for scaled accesses, and along x for vectors.

    Temporaries lie in memory so that columns which are multiples of a vector do at multiples of its size.
    """
    model = model or extract(pipeline_of(group))
    follow = follow_of(group, model)
    along_x, *others = (*alignment(follow, group.anchor.rank), 1)
    schedule = TileSchedule.expect(group.schedule)
    if touches_temporaries(group):
        along_x = math.lcm(along_x, schedule.vector_width)
    divisors = [along_x, *others][: group.anchor.rank]
    if math.prod(schedule.thread_counts) > 1:
        for d, steps in _steps_of_reads(model, follow).items():
            together = math.lcm(divisors[d], steps)
            if schedule.tile_sizes[d] % together == 0:
                divisors[d] = together
    return tuple(divisors)


def _steps_of_reads(model: PipelineModel, follow: Mapping[int, Sequence[Follow]]) -> dict[int, int]:
    """Return the points per dimension of a tile that read one point of an input at a fraction of their coordinates.

    Where a tile begins at a multiple of them the compiler knows which of a thread's points read the same. Not along x
    of rows of which none is aligned to vectors: their last tiles are moved.
    """
    found: dict[int, int] = {}
    for id, mine in follow.items():
        for access in model.nodes[id].hull:
            for index in access.indices:
                if access.producer in follow or not isinstance(index, Index) or index.var is None:
                    continue
                of = mine[index.var]
                if of.dim is not None and (steps := (of.ratio * index.ratio).denominator) > 1:
                    found[of.dim] = math.lcm(found.get(of.dim, 1), steps)
    if not any(node.aligned for node in model.nodes):
        found.pop(0, None)
    return found


def tiles(group: GroupOp, boxes: Sequence[Box]) -> list[int]:
    """Return the tiles per dimension that cover the boxes of the group's functions."""
    model = extract(pipeline_of(group))
    box = anchor_box(stored_stages(group, model, follow_of(group, model)), boxes)
    sizes, align = TileSchedule.expect(group.schedule).tile_sizes, origin_alignment(group, model)
    counts = []
    # of an update's domain a tile takes one step after the other
    for (low, extent), t, a in zip(box, sizes, align, strict=not group.steps):
        first = low // a * a
        counts.append(-(-(low + extent - first) // t))
    return counts


def grid(group: GroupOp, boxes: Sequence[Box]) -> tuple[int, int, int]:
    """Return the blocks of a launch: x, y, z."""
    along_x, along_y, along_z = blocks_along(tiles(group, boxes))
    if deep_first(group, extract(pipeline_of(group))):
        return along_z, along_x, along_y
    return along_x, along_y, along_z


def blocks_along(counts: Sequence[int]) -> tuple[int, int, int]:
    """Return the blocks along x, y and z for tile counts per dimension; z counts all dimensions from the third on."""
    return (counts[0] if counts else 1, counts[1] if len(counts) > 1 else 1, math.prod(counts[2:]))
