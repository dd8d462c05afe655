"""The door of `scan`: a thread per line of a recurrence, which keeps what the last steps gave.

Running sums, summed-area tables, recursive filters either way: whatever reads itself a number of steps before.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from tilefuse.dialects.img.ops import UpdateOp
from tilefuse.execution.base import ByHand, Code, ExecutionModel
from tilefuse.execution.scan.attribute import ScanSchedule

if TYPE_CHECKING:
    from xdsl.dialects import func
    from xdsl.ir import SSAValue

    from tilefuse.analysis.bounds import Box
    from tilefuse.analysis.machine import Machine
    from tilefuse.analysis.model import PipelineModel
    from tilefuse.analysis.recurrence import Recurrence
    from tilefuse.dialects.img.ops import GroupOp
    from tilefuse.execution.candidate import Candidate, Wishes
    from tilefuse.execution.facts import GroupFacts

UNROLL = (1, 4, 8, 16, 32)
LANES = 32
CPU_WIDTH, CPU_ROWS = 64, 4
"""Lines side by side that are one loop, and lines along x that are written out: a step takes four cycles."""
MOST_WRITTEN = 600
"""Operations that are written out, at most."""


class Scan(ExecutionModel):
    """Parallel over the lines of a recurrence, in order along them, with the last values in registers."""

    name = "scan"
    schedule = ScanSchedule
    runs: ClassVar = UpdateOp

    def legal(self, facts: GroupFacts) -> str | None:
        from tilefuse.analysis.recurrence import recurrence

        found = recurrence(facts.update)
        return found if isinstance(found, str) else None

    def candidates(self, facts: GroupFacts, machine: Machine, wishes: Wishes) -> Iterator[Candidate]:
        from tilefuse.analysis.recurrence import recurrence

        found = recurrence(facts.update)
        if isinstance(found, str):
            return
        rank = len(found.lines)
        if not machine.is_gpu:
            for width in (CPU_ROWS if found.dim == 0 else CPU_WIDTH, 1) if self._lie_well(found) else (1,):
                yield self._candidate(facts, machine, found, (1,) * rank, width, 1)
            return
        operations = len(facts.update.update.body.block.ops)
        for unroll in UNROLL:
            if unroll == 1 or unroll * operations <= MOST_WRITTEN:
                threads = (LANES, *[1] * (rank - 1))[:rank]
                yield self._candidate(facts, machine, found, threads, 1, unroll)

    def _lie_well(self, found: Recurrence) -> bool:
        """Whether several lines of a thread are rows, or lie side by side."""
        return bool(found.lines) and (found.dim == 0 or found.lines[0].dim == 0)

    def _candidate(
        self, facts: GroupFacts, machine: Machine, found: Recurrence, threads: tuple[int, ...], width: int, unroll: int
    ) -> Candidate:
        from tilefuse.analysis.access import reads
        from tilefuse.execution.candidate import Candidate
        from tilefuse.execution.features import predict
        from tilefuse.execution.scan.features import ScanFeatures

        work, update = facts.update_work, facts.update.update
        extents: dict[SSAValue, int] = dict(zip(update.coordinates, (*work.pure, *work.domain), strict=True))
        lines, steps = [extents[line.coordinate] for line in found.lines], extents[found.along]
        nodes, own = facts.model.nodes, set(update.currents)
        each = sum(nodes[facts.model.node_of[r.source]].bytes for r in reads(update) if r.source not in own)
        count = math.prod(lines) * steps
        tile = (threads[0] * width, *threads[1:]) if threads else ()
        features = ScanFeatures(
            blocks=math.prod(-(-n // t) for n, t in zip(lines, tile, strict=True)),
            bytes=float(count * (each + 2 * nodes[facts.output].bytes * len(update.olds))),
            instructions=work.instructions, steps=float(steps), chain=float(len(update.body.block.ops)),
            lines=float(math.prod(lines)), unroll=unroll, width=width, is_along_rows=found.dim == 0,
        )  # fmt: skip
        return Candidate(self.name, tile, threads, unroll, {}, features, predict(features, machine))

    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> ScanSchedule:
        from tilefuse.analysis.recurrence import recurrence
        from tilefuse.analysis.regions import NotFusable

        found = recurrence(facts.update)
        if isinstance(found, str):
            raise NotFusable(found)
        rank = len(found.lines)
        threads = [*given.threads, *[1] * rank][:rank]
        width = given.sizes[0] // given.threads[0] if rank and given.threads else 1
        return ScanSchedule(threads=threads, width=width, unroll=given.vector)

    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        width = candidate.tile[0] // candidate.threads[0] if candidate.threads else 1
        group.schedule = ScanSchedule(threads=candidate.threads, width=width, unroll=candidate.vector)

    def check(self, group: GroupOp, model: PipelineModel) -> None:
        from tilefuse.analysis.recurrence import recurrence
        from tilefuse.analysis.regions import NotFusable
        from tilefuse.execution.facts import GroupFacts

        super().check(group, model)
        found = recurrence(GroupFacts.of(group, model).update)
        if isinstance(found, str):
            raise NotFusable(found)
        threads = ScanSchedule.expect(group.schedule).thread_counts
        if len(threads) != len(found.lines):
            raise NotFusable(f"there are {len(found.lines)} line coordinates, but threads along {len(threads)}")

    def code(self, group: GroupOp, model: PipelineModel, *, warps: bool) -> Code:
        assert group.update is not None
        unroll = ScanSchedule.expect(group.schedule).unroll
        return Code(len(group.update.body.block.ops) * unroll, group.update.sym_name.data, unroll)

    def smaller(self, group: GroupOp, model: PipelineModel) -> ScanSchedule | None:
        schedule = ScanSchedule.expect(group.schedule)
        return schedule.changed(unroll=schedule.unroll // 2) if schedule.unroll > 1 else None

    def grid(self, group: GroupOp, boxes: Sequence[Box]) -> tuple[int, int, int]:
        from tilefuse.analysis.recurrence import Recurrence, recurrence
        from tilefuse.analysis.updates import UpdateFacts
        from tilefuse.execution.tile_grid import blocks_along

        assert group.update is not None
        found = recurrence(UpdateFacts(group.update))
        assert isinstance(found, Recurrence)
        sizes = ScanSchedule.expect(group.schedule).tile_sizes
        return blocks_along([-(-boxes[0][line.dim][1] // size) for line, size in zip(found.lines, sizes, strict=True)])

    def emit(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> list[func.FuncOp]:
        from tilefuse.execution.scan.emission import scan_kernel

        return [scan_kernel(group)]
