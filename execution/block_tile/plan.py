"""The plan of a block tile's kernel."""

from __future__ import annotations

from collections.abc import Sequence

from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.ops import GroupOp, PrintOp
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.execution.block_tile.emission import BlockTileBody, prefetch_arrays
from tilefuse.execution.plan import KernelPlan
from tilefuse.lowering.emit import Emitter
from tilefuse.lowering.reads import KernelBuffer, TileContext


class BlockPlan(KernelPlan):
    """Plan of a block tile: how rows lie is asked in the tile body, so the kernel asks nothing."""

    def __init__(self, group: GroupOp, model: PipelineModel):
        super().__init__(group, model)
        self.shared_arrays = prefetch_arrays(group, model)
        # without lanes, what lies beyond the picture is worth no branch at each point; but what prints is computed once
        self.inside = BlockSchedule.expect(group.schedule).one_thread and not any(
            isinstance(op, PrintOp) for op in group.walk()
        )

    def body(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        BlockTileBody(self.group, self.model, e, tile, outputs).emit()

    def fetch(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        BlockTileBody(self.group, self.model, e, tile, outputs).emit_fetch()
