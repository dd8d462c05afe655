"""The kernel plan of a block tile."""

from __future__ import annotations

from collections.abc import Sequence

from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.ops import GroupOp, PrintOp
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.execution.block_tile.emission import BlockTileBody
from tilefuse.execution.block_tile.steps import StepsBody
from tilefuse.execution.plan import KernelPlan, TileOfBlock
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import TileContext


class BlockPlan(KernelPlan):
    """Kernel plan of a block tile: the tile body tests row alignment, so the kernel does not."""

    def __init__(self, group: GroupOp, model: PipelineModel):
        super().__init__(group, model)
        # without lanes, points beyond the picture are worth no branch at each point: the last tiles begin where they
        # lie in it, and two tiles compute some points both; but what prints is computed once
        self.moves_inside = BlockSchedule.expect(group.schedule).one_thread and not any(
            isinstance(op, PrintOp) for op in group.walk()
        )

    def body(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        kind = StepsBody if self.group.steps else BlockTileBody
        kind(self.group, self.model, e, tile, outputs).emit()

    def moved_origin(self, block: TileOfBlock, origin: Sequence[Num]) -> Sequence[Num]:
        if not self.moves_inside:
            return origin
        return [block.e.min(x, block.last_origin(d)) if self.align[d] == 1 else x for d, x in enumerate(origin)]
