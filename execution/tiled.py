"""Execution models whose blocks each compute a tile of the output."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, ClassVar

from tilefuse.execution.base import ByHand, ExecutionModel
from tilefuse.execution.tile_schedule import TileSchedule

if TYPE_CHECKING:
    from xdsl.dialects import func
    from xdsl.ir import SSAValue

    from tilefuse.analysis.bounds import Box
    from tilefuse.analysis.model import PipelineModel
    from tilefuse.dialects.img.ops import GroupOp
    from tilefuse.execution.candidate import Candidate
    from tilefuse.execution.facts import GroupFacts
    from tilefuse.execution.plan import KernelPlan


class TiledModel(ExecutionModel):
    """A model with kernels from `execution/kernel.py`; the model gives the body of a tile."""

    schedule: ClassVar[type[TileSchedule]]

    def by_hand(self, group: GroupOp, facts: GroupFacts, given: ByHand) -> TileSchedule:
        return self.schedule(tile=given.sizes, threads=given.threads, vector=given.vector, blocks=given.blocks)

    def apply(self, group: GroupOp, candidate: Candidate, members: Sequence[int]) -> None:
        group.schedule = self.schedule(
            tile=candidate.tile, threads=candidate.threads, vector=candidate.vector, blocks=candidate.blocks
        )

    def grid(self, group: GroupOp, boxes: Sequence[Box]) -> tuple[int, int, int]:
        from tilefuse.execution.tile_grid import grid

        return grid(group, boxes)

    @abstractmethod
    def plan(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> KernelPlan:
        """Return the plan of the kernel, from which its text is emitted; see `emit` for `differing`."""

    def emit(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> list[func.FuncOp]:
        from tilefuse.execution.kernel import emit_functions

        return emit_functions(self.plan(group, model, differing))
