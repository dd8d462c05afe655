"""Smaller warp tiles: with fewer registers, or with less of every resource."""

from __future__ import annotations

import math

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import NotFusable, follow_chain, regions
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.base import Spill
from tilefuse.execution.warp_tile.attribute import WarpSchedule
from tilefuse.execution.warp_tile.layout import LANES, TilePartition, group_layout, warp_layout


def fewer_blocks(group: GroupOp, spill: Spill) -> WarpSchedule | None:
    """Return the schedule with fewer resident blocks per register file; None if a block has it alone."""
    schedule = WarpSchedule.expect(group.schedule)
    blocks = schedule.resident_blocks
    if blocks == 1:
        return None
    # what was given, and what was missing, at 4 bytes each
    need = spill.registers + spill.bytes // 4
    enough = spill.registers_per_sm // (need * math.prod(schedule.thread_counts))
    # left to itself (0), a compiler may spill to make room for more blocks than are requested
    return schedule.changed(blocks=max(1, min(enough, blocks - 1) if blocks else enough))


def smaller(group: GroupOp, model: PipelineModel) -> WarpSchedule | None:
    """Halve the rows per warp; at one row halve the columns per lane, and begin again with four rows."""
    schedule = WarpSchedule.expect(group.schedule)
    ids = [model.node_of[s.funcs[0]] for s in group.stages]
    output = model.node_of[group.anchor.funcs[0]]
    old = group_layout(group, model)
    exchanged = [id for id, footprint in old.stages.items() if footprint.exchanged]
    pitch, vector = old.pitch // 2, old.vector
    while vector:
        width = LANES * vector
        try:
            follow = follow_chain(model, ids, output)
            region = regions(model, ids, output, [width, *schedule.tile_sizes[1:]], follow)
            layout = warp_layout(model, ids, region, width, TilePartition(vector, old.warps, max(1, pitch)), exchanged)
        except NotFusable:
            layout = None
        if pitch and layout is not None:
            tile = [layout.width, layout.height, *schedule.tile_sizes[2:]]
            return schedule.changed(tile=tile, vector=vector)
        vector, pitch = vector // 2, 4
    return None
