"""The execution model `block_tile`: overlapped tiles in shared memory, several points per thread.

The modules behind it are imported at their first use: checking a schedule loads neither the search nor the emission.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.attrs import Level, Memory, PlaceAttr
from tilefuse.dialects.img.schedule import ScheduleAttr
from tilefuse.execution.base import ByHand, Code, Needs, Spill, group_error
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.execution.tile_schedule import TileSchedule
from tilefuse.execution.tiled import TiledModel

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from tilefuse.analysis.machine import Machine
    from tilefuse.analysis.model import PipelineModel
    from tilefuse.dialects.img.ops import GroupOp, StageOp
    from tilefuse.execution.candidate import Candidate, SearchOptions
    from tilefuse.execution.facts import GroupFacts
    from tilefuse.execution.plan import KernelPlan


class BlockTile(TiledModel):
    """A block keeps its tiles in shared memory; each thread computes several points."""

    name = "block_tile"
    schedule = BlockSchedule
    places: ClassVar = ((Level.Block, Memory.Shared), (Level.Thread, Memory.Register))
    multiple_outputs: ClassVar = True
    fuses_lookups: ClassVar = True
    fuses_steps: ClassVar = True
    tile_parameters: ClassVar = {
        "unroll": "unroll factors of a thread's loops per dimension, x first; the others are fully unrolled",
    }

    def legal(self, facts: GroupFacts) -> str | None:
        return None

    def candidates(self, facts: GroupFacts, machine: Machine, options: SearchOptions) -> Iterator[Candidate]:
        from tilefuse.execution.block_tile.cost import block_candidates

        return block_candidates(facts, machine, options.thorough)

    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> TileSchedule:
        found, rank = super().by_hand(group, facts, given), len(given.sizes)
        unroll = given.parameters.get("unroll", ())
        if isinstance(unroll, int):
            raise VerifyException(f"unroll is a list, one factor per dimension; write unroll = [{unroll}, 1]")
        if unroll:
            rounds = [size // count for size, count in zip(given.sizes, given.threads, strict=True)]
            found = found.changed(unroll=[*unroll, *rounds[len(unroll) :]][:rank])
        return found

    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        from tilefuse.execution.block_tile.candidate import BlockCandidate

        super().apply(group, candidate, members)
        if isinstance(candidate, BlockCandidate) and candidate.caches_inputs and group.schedule is not None:
            group.schedule = group.schedule.changed(cache_inputs=1)

    def place(self, group: GroupOp, model: PipelineModel) -> Mapping[StageOp, PlaceAttr]:
        from tilefuse.execution.block_tile.placement import group_places

        return group_places(group, model)

    def check_places(self, group: GroupOp, model: PipelineModel) -> None:
        from tilefuse.execution.block_tile.placement import check_stored
        from tilefuse.execution.block_tile.slots import check_slots

        super().check_places(group, model)
        check_slots(group, model)
        check_stored(group, model)

    def check(self, group: GroupOp, model: PipelineModel) -> None:
        from tilefuse.analysis.regions import alignment, fixed_span
        from tilefuse.execution.facts import GroupFacts

        super().check(group, model)
        schedule, facts = BlockSchedule.expect(group.schedule), GroupFacts.of(group, model)
        ends = group.epilogue.bounds if group.steps and group.epilogue is not None else None
        for d, declared in enumerate(ends.data if ends is not None else ()):
            if declared is not None and schedule.micro_tile[d] != schedule.tile_sizes[d]:
                raise group_error(
                    group,
                    f"the epilogue has few points in dimension {d}; unroll them fully there",
                )
        if schedule.caches_inputs and not group.steps:
            raise group_error(group, "cache_inputs needs stages for the steps of an update; write cache_inputs = 0")
        steps = alignment(facts.follow, facts.rank)
        for d, (tile, threads) in enumerate(zip(schedule.tile_sizes, schedule.thread_counts, strict=True)):
            fixed = fixed_span(model, facts.output, d)
            if fixed is not None and tile != (points := fixed[1] - fixed[0] + 1):
                raise group_error(group, f"dimension {d} has {points} points and is not tiled by {tile}")
            if tile % threads or (d == 0 and (tile // threads) % schedule.vector_width and not schedule.one_thread):
                points_each = f" with {schedule.vector_width} points each" if d == 0 else ""
                raise group_error(
                    group,
                    f"a tile of {tile} in dimension {d} is not divisible by {threads} threads{points_each}",
                )
            if d > 2 and threads > 1:
                raise group_error(group, f"threads must be in the first three dimensions; dimension {d} has {threads}")
        for d, (tile, step) in enumerate(zip(schedule.tile_sizes, steps, strict=True)):
            if tile % step:
                raise group_error(
                    group, f"scaled accesses need a tile of a multiple of {step} in dimension {d}, not {tile}"
                )

    def shared_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        from tilefuse.execution.block_tile.cached_inputs import cached_bytes, cached_of
        from tilefuse.execution.block_tile.placement import group_shared_memory

        needs = group_shared_memory(group, model)
        cached = sum(cached_bytes(source, of) for source, of in cached_of(group, model).items())
        return Needs(needs.bytes + cached, needs.largest, self.dynamic_shared(group))

    def dynamic_shared(self, group: GroupOp) -> int:
        from tilefuse.analysis.model import extract, pipeline_of
        from tilefuse.execution.block_tile.cached_inputs import cached_dynamic

        if not group.steps or not BlockSchedule.expect(group.schedule).caches_inputs:
            return 0
        return cached_dynamic(group, extract(pipeline_of(group)))

    def code(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> Code:
        from tilefuse.execution.block_tile.code import code_per_thread

        return code_per_thread(group, model)

    def fewer_registers(self, group: GroupOp, spill: Spill) -> ScheduleAttr | None:
        from tilefuse.execution.block_tile.registers import fewer_points

        if group.steps:
            return None  # values that are kept over all steps are in registers only where all is written out
        return fewer_points(BlockSchedule.expect(group.schedule), spill)

    def smaller(self, group: GroupOp, model: PipelineModel) -> ScheduleAttr | None:
        """Halve the rows of a block, else the columns."""
        from tilefuse.analysis.regions import fixed_span

        schedule = BlockSchedule.expect(group.schedule)
        output = model.node_of[group.anchor.funcs[0]]
        tile, threads = list(schedule.tile_sizes), list(schedule.thread_counts)
        for d in (1, 0):
            if d >= len(tile) or fixed_span(model, output, d) is not None or tile[d] % 2:
                continue
            minimum = schedule.vector_width if d == 0 else 1
            if (tile[d] // 2) % threads[d] == 0 and tile[d] // 2 // threads[d] >= minimum:
                tile[d] //= 2
            elif threads[d] % 2 == 0:
                tile[d] //= 2
                threads[d] //= 2
            else:
                continue
            return schedule.changed(tile=tile, threads=threads)
        return None

    def plan(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> KernelPlan:
        from tilefuse.execution.block_tile.plan import BlockPlan

        return BlockPlan(group, model)
