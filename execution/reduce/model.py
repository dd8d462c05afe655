"""The execution model `reduce`: points of a domain that are combined at one place, in any order.

For combiners that are associative and commutative (of floats: up to rounding) and bodies that do not read what is
written; and for those that keep the first best point, as argmin does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects import arith
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.ops import UpdateOp
from tilefuse.execution.base import ByHand, Code, ExecutionModel, Needs, group_error
from tilefuse.execution.reduce.attribute import ReduceSchedule

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

_LOOP = 40
"""Operations that a loop counts for which a C compiler makes vectors of, beside those of its body."""


class Reduce(ExecutionModel):
    """Lanes, warps and blocks share the domain, and combine their sums in a fixed order."""

    name = "reduce"
    schedule = ReduceSchedule
    runs: ClassVar = UpdateOp
    smaller_schedule = "fewer warps, or a smaller split"
    no_smaller_schedule = "No fewer warps and no smaller split are left"
    fuses_stages = True

    def legal(self, facts: GroupFacts) -> str | None:
        from tilefuse.analysis.updates import Axis, WriteMap

        update, op = facts.update, facts.update.update
        if not op.mins:
            return "there is no domain to reduce"
        if not update.commutes and update.first_best is None and update.joined_tuple is None:
            return "its terms are not combined by one combiner or one rule, so their order matters"
        if update.write_map is not WriteMap.Identity or set(update.domain_axes) != {Axis.Reduce}:
            return "its steps write several points"
        if any(isinstance(n.owner, arith.ConstantOp) and n.owner.value.value.data <= 0 for n in op.extents):  # type: ignore[union-attr]
            return "its domain has no points"
        return facts.why_not_by_points

    def candidates(self, facts: GroupFacts, machine: Machine, options: SearchOptions) -> Iterator[Candidate]:
        from tilefuse.execution.reduce.choice import reduce_candidates

        if self.legal(facts) is None and (facts.update.is_exact or not options.float_order):
            yield from reduce_candidates(facts, machine)

    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> ReduceSchedule:
        raise VerifyException("tile has no options for a reduce; write its schedule on the group")

    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        from tilefuse.execution.reduce.choice import Reduction

        assert isinstance(candidate, Reduction)
        group.schedule = candidate.schedule

    def check(self, group: GroupOp, model: PipelineModel) -> None:
        from tilefuse.execution.facts import GroupFacts

        if (reason := self.legal(GroupFacts.of(group, model))) is not None:
            raise group_error(group, reason)

    def shared_memory(self, group: GroupOp, model: PipelineModel) -> Needs:
        from tilefuse.execution.reduce.memory import partials_bytes

        return Needs(partials_bytes(group), group.sym_name.data)

    def code(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> Code:
        schedule = ReduceSchedule.expect(group.schedule)
        operations, points = len(group.output.body.block.ops), schedule.number("unroll")
        if schedule.lanes == 1:  # without warps the points side by side are a loop
            operations += _LOOP
        else:  # with the vectors that memory allows, and without
            operations, points = 2 * operations, points * schedule.vector_width
        return Code(operations * points, group.sym_name.data, points)

    def grid(self, group: GroupOp, boxes: Sequence[Box]) -> tuple[int, int, int]:
        from tilefuse.execution.tile_grid import blocks_along
        from tilefuse.lowering.abi import update_box

        schedule, update = ReduceSchedule.expect(group.schedule), group.update
        assert update is not None
        box = update_box(group, boxes[0])
        pure = (box[d][1] for d in update.pure_dims)
        x, y, z = blocks_along([-(-n // size) for n, size in zip(pure, schedule.tile_sizes, strict=True)])
        return x, y, z * schedule.split

    def workspaces(self, group: GroupOp) -> Sequence[Workspace]:
        from tilefuse.execution.reduce.memory import workspaces

        return workspaces(group)

    def reorders(self, group: GroupOp) -> bool:
        from tilefuse.analysis.updates import UpdateFacts

        assert group.update is not None
        return not UpdateFacts(group.update).is_exact

    def emit(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> list[func.FuncOp]:
        from tilefuse.execution.reduce.emission import reduce_kernel

        self.check(group, model)
        return [reduce_kernel(group)]
