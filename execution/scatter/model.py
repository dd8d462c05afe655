"""The execution model `scatter`: blocks share the domain of an update with data-dependent or few places.

For integers and combiners that take terms in any order, so that results are those of the order of the domain. Threads
with tables of their own take them in order, whatever they are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from tilefuse.analysis.regions import NotFusable
from tilefuse.dialects.img.ops import UpdateOp
from tilefuse.execution.base import ByHand, Code, ExecutionModel, Needs, group_error
from tilefuse.execution.scatter.attribute import ScatterSchedule
from tilefuse.execution.scatter.legality import (
    WARP_THREADS,
    why_not_ordered,
    why_not_shared,
    why_not_thread_tables,
    why_not_thread_tables_of,
)
from tilefuse.execution.scatter.table import STATIC_TABLES, table_bytes, window

if TYPE_CHECKING:
    from xdsl.dialects import func
    from xdsl.ir import SSAValue

    from tilefuse.analysis.bounds import Box
    from tilefuse.analysis.machine import Machine
    from tilefuse.analysis.model import PipelineModel
    from tilefuse.dialects.img.ops import GroupOp
    from tilefuse.execution.candidate import Candidate, SearchOptions
    from tilefuse.execution.facts import GroupFacts
    from tilefuse.lowering.workspaces import Workspace


class Scatter(ExecutionModel):
    """Parallel over the domain of an update."""

    name = "scatter"
    schedule = ScatterSchedule
    runs: ClassVar = UpdateOp
    computes_places_first = True
    fuses_stages = True  # initial values, by threads with tables of their own
    smaller_schedule = "fewer copies, threads or blocks"
    no_smaller_schedule = "No fewer copies, threads or blocks are left"

    def legal(self, facts: GroupFacts) -> str | None:
        ways = (why_not_ordered(facts), why_not_thread_tables(facts), why_not_shared(facts))
        return None if None in ways else ways[-1]

    def fits_initial_values(self, update: UpdateOp) -> bool:
        return why_not_thread_tables_of(update) is None

    def candidates(self, facts: GroupFacts, machine: Machine, options: SearchOptions) -> Iterator[Candidate]:
        from tilefuse.analysis.updates import Axis
        from tilefuse.execution.scatter.search import fold_candidates, own_candidates, shared_candidates

        if why_not_shared(facts) is None:
            yield from shared_candidates(facts, machine)
        # places that data decide: of others each has a thread, or is a reduction's
        elif (
            Axis.Scatter in facts.update.axes
            and why_not_ordered(facts) is None
            and (facts.update.is_exact or not options.float_order)
        ):
            yield from fold_candidates(facts, machine)
        if machine.is_gpu and why_not_thread_tables(facts) is None:
            yield from own_candidates(facts, machine)

    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> ScatterSchedule:
        if (reason := why_not_shared(facts)) is not None:
            raise NotFusable(reason)
        update = facts.update.update
        threads = math.prod(given.threads)
        copies = WARP_THREADS if window(update) is not None else 0
        return ScatterSchedule(threads=[threads], copies=copies, points=given.vector)

    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        from tilefuse.execution.scatter.search import ScatterCandidate

        assert isinstance(candidate, ScatterCandidate)
        group.schedule = candidate.schedule

    def check(self, group: GroupOp, model: PipelineModel) -> None:
        super().check(group, model)
        from tilefuse.execution.facts import GroupFacts

        assert group.update is not None
        facts, schedule = GroupFacts.of(group, model), ScatterSchedule.expect(group.schedule)
        own, ways = schedule.has_thread_tables, {True: why_not_ordered, False: why_not_shared}
        reason = why_not_thread_tables(facts) if own else ways[schedule.is_ordered](facts)
        if reason is not None:
            can_fold = not own and not schedule.is_ordered and why_not_ordered(facts) is None
            raise group_error(group, f"{reason}; write ordered = 1, for a table per thread" if can_fold else reason)
        if own and len(schedule.thread_counts) != len(group.update.pure):
            raise group_error(
                group, f"it has {len(group.update.pure)} pure coordinates, so threads needs as many numbers"
            )
        if ScatterSchedule.expect(group.schedule).number("copies") and window(group.update) is None:
            raise group_error(
                group, "the size of its table is not known, as written places have no known range; write copies = 0"
            )

    def shared_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        size = _bytes(group) + 4 * ScatterSchedule.expect(group.schedule).is_ordered
        return Needs(size, group.sym_name.data, self.dynamic_shared(group))

    def stack_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        return Needs(_bytes(group) - self.dynamic_shared(group), group.sym_name.data)

    def dynamic_shared(self, group: GroupOp) -> int:
        size = _bytes(group)
        own = ScatterSchedule.expect(group.schedule).has_thread_tables
        return size if size > STATIC_TABLES and not own else 0

    def workspaces(self, group: GroupOp) -> Sequence[Workspace]:
        from tilefuse.execution.scatter.folding import fold_workspaces

        return fold_workspaces(group) if ScatterSchedule.expect(group.schedule).is_ordered else ()

    def code(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> Code:
        schedule = ScatterSchedule.expect(group.schedule)
        points = 1 if schedule.threads_per_block == 1 else schedule.number("points")
        return Code(len(group.output.body.block.ops) * (points + 1), group.sym_name.data, points)

    def smaller(self, group: GroupOp, model: PipelineModel) -> ScatterSchedule | None:
        schedule = ScatterSchedule.expect(group.schedule)
        if schedule.has_thread_tables:
            largest = max(schedule.thread_counts)
            if largest == 1:
                return schedule.changed(points=1) if schedule.number("points") > 1 else None
            return schedule.changed(threads=[n // 2 if n == largest else n for n in schedule.thread_counts])
        if schedule.is_ordered:
            threads, blocks = schedule.threads_per_block, schedule.number("split")
            if blocks > 1 and (_bytes(group) <= STATIC_TABLES or threads == 1):
                return schedule.changed(split=blocks // 2)
            return schedule.changed(threads=[threads // 2]) if threads > 1 else None
        if (copies := schedule.number("copies")) > 1:
            return schedule.changed(copies=copies // 2)
        if (points := schedule.number("points")) > 1:
            return schedule.changed(points=points // 2)
        return schedule.changed(copies=0) if copies else None

    def grid(self, group: GroupOp, boxes: Sequence[Box]) -> tuple[int, int, int]:
        from tilefuse.execution.tile_grid import blocks_along

        assert group.update is not None
        schedule, extents = ScatterSchedule.expect(group.schedule), [boxes[0][d][1] for d in group.update.pure_dims]
        if schedule.has_thread_tables:
            extents[-1:] = [-(-n // schedule.number("points")) for n in extents[-1:]]
            return blocks_along([-(-n // t) for n, t in zip(extents, schedule.thread_counts, strict=True)])
        pure = math.prod(extents)
        return (pure * ScatterSchedule.expect(group.schedule).number("split"), 1, 1)

    def reorders(self, group: GroupOp) -> bool:
        from tilefuse.analysis.updates import UpdateFacts

        assert group.update is not None
        return ScatterSchedule.expect(group.schedule).is_ordered and not UpdateFacts(group.update).is_exact

    def emit(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> list[func.FuncOp]:
        from tilefuse.execution.scatter.emission import scatter_kernel
        from tilefuse.execution.scatter.folding import folding_kernel
        from tilefuse.execution.scatter.thread_tables import thread_tables_kernel

        if ScatterSchedule.expect(group.schedule).has_thread_tables:
            return [thread_tables_kernel(group)]
        aligned = {f for f, id in model.node_of.items() if model.nodes[id].aligned} - set(differing)
        folds = ScatterSchedule.expect(group.schedule).is_ordered
        return [folding_kernel(group, aligned) if folds else scatter_kernel(group, aligned)]


def _bytes(group: GroupOp) -> int:
    """Return the bytes of a block's tables."""
    schedule = ScatterSchedule.expect(group.schedule)
    own = schedule.threads_per_block * schedule.number("points")
    copies = own if schedule.has_thread_tables else schedule.copies
    assert group.update is not None
    box = window(group.update) if copies else None
    return table_bytes(group.update, box.size, copies) if box is not None else 0
