"""Warp tiles set by options of `tile`."""

from __future__ import annotations

from dataclasses import replace

from tilefuse.analysis.regions import regions
from tilefuse.dialects.img.attrs import Level, Memory, PlaceAttr
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.base import ByHand
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.warp_tile.attribute import EXCHANGE, ROWS_OF_WARP
from tilefuse.execution.warp_tile.footprints import row_readers
from tilefuse.execution.warp_tile.layout import LANES, TilePartition, warp_layout
from tilefuse.execution.warp_tile.legality import check_warp_group


def complete_tile(group: GroupOp, facts: GroupFacts, given: ByHand) -> ByHand:
    """Complete a tile: sizes of 0 become the points that the lanes and warps cover.

    Marks the stages whose rows go from warp to warp. Raises NotFusable where there is no such layout.
    """
    model, members, output = facts.model, facts.members, facts.output
    check_warp_group(model, members, facts.follow)
    sizes = list(given.sizes)
    width = LANES * given.vector
    exchanged = row_readers(model, members) if given.number(EXCHANGE, 0) else []
    region = regions(model, members, output, [width, *sizes[1:]], facts.follow)
    partition = TilePartition(given.vector, given.threads[1], given.number(ROWS_OF_WARP, 4), sizes[1] or None)
    layout = warp_layout(model, members, region, width, partition, exchanged)
    for id, stage in zip(members, group.stages, strict=True):
        if id in exchanged:
            stage.place = PlaceAttr(Level.Block, Memory.Register)
    return replace(given, sizes=[sizes[0] or layout.width, sizes[1] or layout.height, *sizes[2:]])
