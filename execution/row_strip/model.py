"""The execution model `row_strip`: strips of rows on a CPU, in which each row of a stage is computed once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.attrs import Level, Memory, PlaceAttr
from tilefuse.dialects.img.schedule import ScheduleAttr
from tilefuse.execution.base import ByHand, Code, Needs, group_error
from tilefuse.execution.row_strip.attribute import StripSchedule
from tilefuse.execution.tiled import TiledModel

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from tilefuse.analysis.machine import Machine
    from tilefuse.analysis.model import PipelineModel
    from tilefuse.dialects.img.ops import GroupOp, StageOp
    from tilefuse.execution.candidate import Candidate, SearchOptions
    from tilefuse.execution.facts import GroupFacts
    from tilefuse.execution.plan import KernelPlan


class RowStrip(TiledModel):
    """A thread computes a strip of the output row by row; stages keep rolling rows."""

    name = "row_strip"
    schedule = StripSchedule
    places: ClassVar = ((Level.Block, Memory.Shared),)
    shares_rows: ClassVar = True
    fuses_lookups: ClassVar = True
    tables_follow_tile: ClassVar = True

    def legal(self, facts: GroupFacts) -> str | None:
        from tilefuse.execution.row_strip.rows import why_not_rolling

        return why_not_rolling(facts)

    def candidates(self, facts: GroupFacts, machine: Machine, options: SearchOptions) -> Iterator[Candidate]:
        from tilefuse.execution.row_strip.cost import strip_candidates

        if machine.is_gpu or self.why_not(facts) is not None:
            return
        yield from strip_candidates(facts, machine)

    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> StripSchedule:
        if any(n != 1 for n in given.threads) or given.vector != 1:
            raise VerifyException("a strip has one thread; remove threads= and vector=")
        if reason := self.why_not(facts):
            raise group_error(group, reason)
        return StripSchedule(tile=given.sizes)

    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        from tilefuse.execution.row_strip.features import StripFeatures

        features = candidate.features
        assert isinstance(features, StripFeatures)
        group.schedule = StripSchedule(
            tile=candidate.tile,
            rows_per_loop=candidate.vector,
            streaming_stores=int(features.streaming_stores),
            vector_bytes=features.vector_bytes,
            static=int(features.is_static),
            by_planes=int(features.by_planes),
        )

    def place(self, group: GroupOp, model: PipelineModel) -> Mapping[StageOp, PlaceAttr]:
        return {s: PlaceAttr(Level.Block, Memory.Shared) for s in group.stages if s is not group.anchor}

    def check(self, group: GroupOp, model: PipelineModel) -> None:
        from tilefuse.analysis.regions import fixed_span
        from tilefuse.execution.facts import GroupFacts
        from tilefuse.execution.row_strip.planes import outer_planes

        super().check(group, model)
        facts, tile = GroupFacts.of(group, model), StripSchedule.expect(group.schedule).tile_sizes
        if reason := self.why_not(facts):
            raise group_error(group, reason)
        if StripSchedule.expect(group.schedule).by_planes and isinstance(shared := outer_planes(facts), str):
            raise group_error(group, f"by_planes must be 0: {shared}")
        for d, size in enumerate(tile):
            fixed = fixed_span(model, facts.output, d)
            if fixed is not None and size != (points := fixed[1] - fixed[0] + 1):
                raise group_error(group, f"dimension {d} has {points} points and is not tiled by {size}")

    def shared_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        from tilefuse.execution.facts import GroupFacts
        from tilefuse.execution.row_strip.rows import rolling_rows

        schedule = StripSchedule.expect(group.schedule)
        tile = schedule.tile_sizes
        rows = rolling_rows(GroupFacts.of(group, model), tile[2:], schedule.rows_per_loop, schedule.vector_bytes)
        bytes = {id: r.elements(tile[0]) * model.nodes[id].bytes for id, r in rows.items()}
        return Needs(sum(bytes.values()), model.nodes[max(bytes, key=lambda id: bytes[id])].name)

    def code(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> Code:
        from tilefuse.execution.written_out import operations

        parts = [(2 * len(operations(s)), s.sym_name.data) for s in group.stages]
        return Code(sum(n for n, _ in parts), max(parts)[1])

    def smaller(self, group: GroupOp, model: PipelineModel) -> ScheduleAttr | None:
        """Halve the columns."""
        schedule = StripSchedule.expect(group.schedule)
        columns, *rest = schedule.tile_sizes
        return schedule.changed(tile=[columns // 2, *rest]) if columns > 1 else None

    def plan(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> KernelPlan:
        from tilefuse.execution.row_strip.plan import StripPlan

        return StripPlan(group, model)
