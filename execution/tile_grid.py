"""The grid of a group whose output is cut into tiles: where tiles begin, and how many there are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilefuse.analysis.bounds import Box
from tilefuse.analysis.model import PipelineModel, extract, pipeline_of
from tilefuse.analysis.regions import alignment, follow_chain
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.tile_schedule import TileSchedule
from tilefuse.lowering.abi import touches_temporaries


def origin_alignment(group: GroupOp, model: PipelineModel | None = None) -> tuple[int, ...]:
    """Tile origins are multiples of this, per dimension: more than 1 for scaled accesses, and along x for vectors.

    Temporaries lie in memory so that columns which are multiples of a vector do at multiples of its size.
    """
    model = model or extract(pipeline_of(group))
    members = [model.node_of[s.funcs[0]] for s in group.stages]
    output = model.node_of[group.output_stage.funcs[0]]
    along_x, *others = (*alignment(follow_chain(model, members, output), group.output_stage.rank), 1)
    if touches_temporaries(group):
        along_x = math.lcm(along_x, TileSchedule.expect(group.schedule).vector_width)
    return (along_x, *others)[: group.output_stage.rank]


def tiles(group: GroupOp, output_box: Box, align: Sequence[int] | None = None) -> list[int]:
    """Tiles per dimension that cover `output_box`."""
    align = origin_alignment(group) if align is None else align
    counts = []
    for (low, extent), t, a in zip(output_box, TileSchedule.expect(group.schedule).tile_sizes, align, strict=True):
        first = low // a * a
        counts.append(-(-(low + extent - first) // t))
    return counts


def grid(group: GroupOp, output_box: Box) -> tuple[int, int, int]:
    """Blocks: x, y, z."""
    counts = tiles(group, output_box)
    if len(counts) > 1:
        counts[1] = -(-counts[1] // TileSchedule.expect(group.schedule).tiles_per_block)
    return blocks_along(counts)


def blocks_along(counts: Sequence[int]) -> tuple[int, int, int]:
    """Blocks along x, y and z for a number of tiles per dimension: z counts all dimensions from the third on."""
    return (counts[0] if counts else 1, counts[1] if len(counts) > 1 else 1, math.prod(counts[2:]))
