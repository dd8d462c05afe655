"""Launch order of a grid's blocks: tiles that load the same points start one after the other, for cache reuse."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from tilefuse.analysis.index import GeneralIndex, Index
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.tile_schedule import TileSchedule
from tilefuse.lowering.stored import follow_of


def deep_first(group: GroupOp, model: PipelineModel) -> bool:
    """Whether tiles adjacent in dimension 2 or higher start before tiles adjacent in x or y.

    So where they load the same points: at least half of the bytes that a point reads are of functions whose coordinates
    do not follow those dimensions. Elsewhere tiles beside one another come first, which share what lies between them.
    """
    schedule, anchor = TileSchedule.expect(group.schedule), group.anchor
    if math.prod(schedule.thread_counts) == 1 or schedule.few_waves:
        return False
    bounds = anchor.bounds.data if anchor.bounds is not None else (None,) * anchor.rank
    # an update's domain is no part of the grid
    tiled = schedule.tile_sizes if group.update is None else schedule.tile_sizes[: group.update.rank]
    return bool(loaded_alike(model, follow_of(group, model), deep_dimensions(bounds, tiled)))


def deep_dimensions(bounds: Sequence[tuple[int, int] | None], tile: Sequence[int]) -> set[int]:
    """Return the dimensions from the third on that a tile does not cover wholly."""
    return {d for d in range(2, len(tile)) if (b := bounds[d]) is None or b[1] > tile[d]}


def loaded_alike(model: PipelineModel, follow: Mapping[int, Sequence[Follow]], deep: Collection[int]) -> set[int]:
    """Return the functions whose loads tiles adjacent in dimension 2 share; none if they are too few of all.

    What follows x alone, or y alone, is so small that caches keep it in any order.
    """
    if not deep:
        return set()
    alike: dict[int, bool] = {}
    for id, dims in follow.items():
        for access in model.nodes[id].accesses:
            if access.producer not in follow:
                along = {dims[i.var].dim for i in access.indices if isinstance(i, Index) and i.var is not None}
                is_large = any(isinstance(i, GeneralIndex) for i in access.indices) or {0, 1} <= along
                same = is_large and along.isdisjoint(deep)
                alike[access.producer] = alike.get(access.producer, True) and same
    found = {id for id, is_alike in alike.items() if is_alike}
    bytes_of = sum(model.nodes[id].bytes for id in found)
    return found if bytes_of * 2 >= sum(model.nodes[id].bytes for id in alike) else set()
