"""The order of a grid's blocks: tiles that load the same are begun one after the other, while caches have it."""

from __future__ import annotations

import math

from tilefuse.analysis.index import Index
from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.tile_schedule import TileSchedule
from tilefuse.lowering.stored import follow_of


def deep_first(group: GroupOp, model: PipelineModel) -> bool:
    """Whether the tiles behind one another, in the dimensions from the third on, are begun before those beside them.

    So where they load the same points: at least half of the bytes that a point reads are of functions whose coordinates
    do not follow those dimensions. Elsewhere tiles beside one another come first, which share what lies between them.
    """
    schedule, anchor = TileSchedule.expect(group.schedule), group.anchor
    if math.prod(schedule.thread_counts) == 1 or schedule.rows_ahead:
        return False
    bounds = anchor.bounds.data if anchor.bounds is not None else (None,) * anchor.rank
    sizes = schedule.tile_sizes
    deep = {d for d in range(2, anchor.rank) if (b := bounds[d]) is None or b[1] > sizes[d]}
    if not deep:
        return False
    follow = follow_of(group, model)
    alike: dict[int, bool] = {}
    for id, dims in follow.items():
        for access in model.nodes[id].accesses:
            if access.producer not in follow:
                along = {dims[i.var].dim for i in access.indices if isinstance(i, Index) and i.var is not None}
                alike[access.producer] = alike.get(access.producer, True) and along.isdisjoint(deep)
    size = {id: model.nodes[id].bytes for id in alike}
    return sum(size[id] for id, same in alike.items() if same) * 2 >= max(1, sum(size.values()))
