"""The execution model `in_order`: a thread per pure point of an update, which loops over the reduction domain.

Right for every update, whatever it reads and writes: pure points never see one another.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects import arith
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.ops import UpdateOp, prints
from tilefuse.execution.base import ByHand, Code, ExecutionModel, group_error
from tilefuse.execution.in_order.attribute import InOrderSchedule

if TYPE_CHECKING:
    from xdsl.dialects import func
    from xdsl.ir import SSAValue

    from tilefuse.analysis.bounds import Box
    from tilefuse.analysis.machine import Machine
    from tilefuse.analysis.model import PipelineModel
    from tilefuse.dialects.img.ops import GroupOp
    from tilefuse.execution.candidate import Candidate, SearchOptions
    from tilefuse.execution.facts import GroupFacts

THREADS_BY_RANK: tuple[tuple[int, ...], ...] = ((), (64,), (32, 4))
"""Threads of a block, for none, one and two pure dimensions; more dimensions have one each."""
CORE_POINTS = 128
"""Points that a core has side by side, if the first pure dimension is x: vectors that stay in the first cache."""


class InOrder(ExecutionModel):
    """Parallel over the pure points of an update, serial over its domain."""

    name = "in_order"
    schedule = InOrderSchedule
    runs: ClassVar = UpdateOp
    fuses_stages = True

    def legal(self, facts: GroupFacts) -> str | None:
        return facts.why_not_by_points

    def candidates(self, facts: GroupFacts, machine: Machine, options: SearchOptions) -> Iterator[Candidate]:
        from tilefuse.execution.candidate import Candidate

        if self.legal(facts) is not None:
            return
        from tilefuse.execution.features import predict
        from tilefuse.execution.in_order.features import InOrderFeatures

        work, rank = facts.update_work, len(facts.update.update.pure)
        threads = (*THREADS_BY_RANK[min(rank, 2)], *(1,) * (rank - 2))
        planes = 0
        if not machine.is_gpu and _moves_along_x(facts.update.update):
            planes = _planes(facts)
            threads = (CORE_POINTS, *(1,) * (rank - 2), *((max(1, planes),) if rank > 1 else ()))
        shared = (1 + planes) / (2 * planes) if planes else 1.0
        features = InOrderFeatures(
            blocks=math.prod(-(-n // t) for n, t in zip(work.pure, threads, strict=True)),
            bytes=work.bytes / max(1, planes) + _written(facts, machine), instructions=work.instructions * shared,
            steps=work.steps, threads=math.prod(work.pure),
            is_far=_is_far(facts.update.update), planes=planes,
        )  # fmt: skip
        own = threads if threads[:1] != (CORE_POINTS,) else (1,) * rank
        yield Candidate(self.name, threads, own, 1, {}, features, predict(features, machine))

    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> InOrderSchedule:
        if tuple(given.sizes) != tuple(given.threads):
            raise VerifyException(f"a thread has one pure point, so threads= must be {list(given.sizes)} as the sizes")
        return InOrderSchedule(threads=given.threads)

    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        from tilefuse.execution.in_order.features import InOrderFeatures
        from tilefuse.lowering.prefetch import STEPS_AHEAD

        points = candidate.tile[0] // candidate.threads[0] if candidate.tile else 1
        ahead = STEPS_AHEAD if points > 1 and not group.fused_stages and writes_rows(group.update) else 0
        assert isinstance(candidate.features, InOrderFeatures)
        group.schedule = InOrderSchedule(
            threads=candidate.threads, points=points, prefetch=ahead, planes=candidate.features.planes
        )

    def check(self, group: GroupOp, model: PipelineModel) -> None:
        from tilefuse.execution.facts import GroupFacts

        super().check(group, model)
        if (reason := self.legal(GroupFacts.of(group, model))) is not None:
            raise group_error(group, reason)
        if (reason := _why_not_two_loops(group)) is not None:
            raise group_error(group, reason)
        if InOrderSchedule.expect(group.schedule).prefetch and (group.fused_stages or not writes_rows(group.update)):
            raise group_error(group, "its steps do not write row after row, so nothing can be prefetched")

    def code(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> Code:
        return Code(len(group.output.body.block.ops), group.sym_name.data)

    def grid(self, group: GroupOp, boxes: Sequence[Box]) -> tuple[int, int, int]:
        from tilefuse.execution.tile_grid import blocks_along
        from tilefuse.lowering.abi import update_box

        assert group.update is not None
        box = update_box(group, boxes[0])
        pure = (box[d] for d in group.update.pure_dims)
        tile = InOrderSchedule.expect(group.schedule).tile_sizes
        return blocks_along([-(-extent // count) for (_, extent), count in zip(pure, tile, strict=True)])

    def emit(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> list[func.FuncOp]:
        from tilefuse.execution.in_order.emission import update_kernel

        return [update_kernel(group)]


def _planes(facts: GroupFacts) -> int:
    """Return the planes whose places and terms a thread computes in a loop before their writes; 0 for a single loop."""
    from tilefuse.execution.in_order.two_loops import can_split_writes, planes_together

    if facts.fused_nodes or not can_split_writes(facts.update.update):
        return 0
    return planes_together(facts.update.update, facts.update_work.pure[-1])


def _written(facts: GroupFacts, machine: Machine) -> float:
    """Return the bytes that a recurrence writes on a CPU, each step to its own place.

    On a GPU the constants of time hold them.
    """
    from tilefuse.analysis.recurrence import recurrence

    if machine.is_gpu or isinstance(recurrence(facts.update), str):
        return 0.0
    work = facts.update_work
    return float(math.prod(work.pure) * work.steps * facts.model.nodes[facts.output].bytes)


def _why_not_two_loops(group: GroupOp) -> str | None:
    """Explain in one sentence why the planes of a schedule cannot have two loops; None if they can."""
    from tilefuse.execution.in_order.two_loops import can_split_writes, planes_together

    planes, update = InOrderSchedule.expect(group.schedule).planes, group.update
    assert update is not None
    if planes and (group.fused_stages or not can_split_writes(update) or not _moves_along_x(update)):
        return "planes= needs an update alone whose places data decide, without a predicate"
    if planes > 1 and planes_together(update, planes) != planes:
        return "planes= needs reads and places that do not depend on the last pure coordinate"
    return None


def _moves_along_x(update: UpdateOp) -> bool:
    """Whether pure points are contiguous in memory, and may take the steps of a domain together."""
    return bool(update.domain) and update.pure_dims[:1] == [0] and not prints(update)


def writes_rows(update: UpdateOp | None) -> bool:
    """Whether each step along the innermost dimension of an update's domain writes a row beside the one before."""
    from tilefuse.analysis.access import coordinates, indices_of
    from tilefuse.analysis.index import Index

    if update is None or not update.domain:
        return False
    write, of = update.write_op, coordinates(update)
    computed = [value.owner for value in write.indices if value.owner in set(update.body.block.ops)]
    inner = of[update.domain[0].coordinate]
    rows = indices_of(write, of)[1:]
    moves = any(isinstance(i, Index) and i.var == inner and (abs(i.num), i.den) == (1, 1) for i in rows)
    return moves and all(isinstance(op, arith.ConstantOp) for op in computed)


def _is_far(update: UpdateOp) -> bool:
    """Whether a read moves from row to row along the innermost dimension of the domain."""
    from tilefuse.analysis.access import accesses, coordinates
    from tilefuse.analysis.index import Index

    if not update.domain:
        return False
    inner = coordinates(update)[update.domain[0].coordinate]
    return any(isinstance(i, Index) and i.var == inner for a in accesses(update) for i in a.indices[1:])
