"""The execution model `warp_tile`: a tile in the registers of a block's warps.

The modules behind it are imported at their first use: checking a schedule loads neither the search nor the emission.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from tilefuse.dialects.img.attrs import Level, Memory, PlaceAttr
from tilefuse.dialects.img.schedule import ScheduleAttr
from tilefuse.execution.base import ByHand, Code, Needs, Spill
from tilefuse.execution.tile_schedule import TileSchedule
from tilefuse.execution.tiled import TiledModel
from tilefuse.execution.warp_tile.attribute import EXCHANGE, ROWS_OF_WARP, WarpSchedule

if TYPE_CHECKING:
    from xdsl.ir import SSAValue
    from xdsl.passes import ModulePass

    from tilefuse.analysis.machine import Machine
    from tilefuse.analysis.model import PipelineModel
    from tilefuse.dialects.img.ops import GroupOp, StageOp
    from tilefuse.execution.candidate import Candidate, SearchOptions
    from tilefuse.execution.facts import GroupFacts
    from tilefuse.execution.plan import KernelPlan


class WarpTile(TiledModel):
    """Lanes run along x with several points each; every warp holds its rows in registers."""

    name = "warp_tile"
    schedule = WarpSchedule
    places: ClassVar = ((Level.Warp, Memory.Register), (Level.Block, Memory.Register))
    multiple_outputs: ClassVar = True
    uses_measured_registers: ClassVar = True
    tile_parameters: ClassVar = {
        ROWS_OF_WARP: "rows of a warp, with a size of 0 in y; 4 if it is not given",
        EXCHANGE: "1 if warps exchange rows of stages through shared memory, 0 if they compute halo rows redundantly",
    }
    search_parameters: ClassVar = (EXCHANGE,)

    def legal(self, facts: GroupFacts) -> str | None:
        from tilefuse.analysis.regions import NotFusable
        from tilefuse.execution.warp_tile.legality import check_warp_group

        try:
            check_warp_group(facts.model, facts.members, facts.follow)
        except NotFusable as error:
            return str(error)
        return None

    def candidates(self, facts: GroupFacts, machine: Machine, options: SearchOptions) -> Iterator[Candidate]:
        from tilefuse.execution.warp_tile.cost import warp_candidates

        return warp_candidates(facts, machine, options)

    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> TileSchedule:
        """Complete a manual tile: size 0 is all points of the lanes or warps; exchanged stages get a place."""
        from tilefuse.execution.warp_tile.by_hand import complete_tile

        return super().by_hand(group, facts, complete_tile(group, facts, given))

    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        from xdsl.dialects.builtin import UnitAttr

        from tilefuse.dialects.img.ops import SINGLE_WAVE
        from tilefuse.execution.kernel import REGISTER_BOUNDED
        from tilefuse.execution.warp_tile.candidate import WarpCandidate

        assert isinstance(candidate, WarpCandidate)
        super().apply(group, candidate, members)
        if candidate.prefetch_rows:
            assert group.schedule is not None
            group.schedule = group.schedule.changed(prefetch_rows=candidate.prefetch_rows)
        if candidate.single_wave:
            group.attributes[SINGLE_WAVE] = UnitAttr()
        if candidate.bounded:
            group.attributes[REGISTER_BOUNDED] = UnitAttr()
        for stage, member in zip(group.stages, members, strict=True):
            place = candidate.places.get(member)
            if place is not None and place.level is Level.Block:
                # the tile's height follows from it
                stage.place = PlaceAttr(place.level, place.memory)

    def place(self, group: GroupOp, model: PipelineModel) -> Mapping[StageOp, PlaceAttr]:
        from tilefuse.execution.facts import GroupFacts

        _ = GroupFacts.of(group, model).follow  # raises for a group that no tile can follow
        return {s: PlaceAttr(Level.Warp, Memory.Register) for s in group.stages if s is not group.anchor}

    def check(self, group: GroupOp, model: PipelineModel) -> None:
        from tilefuse.execution.warp_tile.layout import group_layout

        super().check(group, model)
        group_layout(group, model)

    def shared_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        from tilefuse.execution.warp_tile.layout import exchange_bytes, group_layout

        return Needs(exchange_bytes(model, group_layout(group, model)), group.sym_name.data)

    def stack_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        from tilefuse.execution.warp_tile.arrays import array_bytes
        from tilefuse.execution.warp_tile.layout import group_layout

        sizes = array_bytes(model, group_layout(group, model))
        return Needs(sum(size for size, _ in sizes), max(sizes)[1])

    def code(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> Code:
        from tilefuse.execution.warp_tile.code import code_per_lane

        # without warps tiles are arrays and loops
        return code_per_lane(group, model) if warps else Code(0, group.sym_name.data)

    def smaller(self, group: GroupOp, model: PipelineModel) -> ScheduleAttr | None:
        from tilefuse.execution.warp_tile.smaller import smaller

        return smaller(group, model)

    def fewer_registers(self, group: GroupOp, spill: Spill) -> ScheduleAttr | None:
        from tilefuse.execution.warp_tile.smaller import fewer_blocks

        return fewer_blocks(group, spill)

    def plan(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> KernelPlan:
        from tilefuse.execution.warp_tile.plan import WarpPlan

        return WarpPlan(group, model, differing)

    def lowering_passes(self, *, warps: bool) -> list[ModulePass]:
        from tilefuse.execution.warp_tile.convert_early import ConvertEarly
        from tilefuse.execution.warp_tile.lower_warp_tiles import LowerWarpTiles
        from tilefuse.execution.warp_tile.pack_subwords import PackSubwords
        from tilefuse.execution.warp_tile.roll_stages import RollStages

        return [PackSubwords(), ConvertEarly(), RollStages(), LowerWarpTiles(warps=warps)]
