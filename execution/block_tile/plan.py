"""The kernel plan of a block tile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.ops import GroupOp, PrintOp
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.execution.block_tile.emission import BlockTileBody, prefetch_arrays
from tilefuse.execution.block_tile.steps import StepsBody
from tilefuse.execution.block_tile.stream import emit_stream
from tilefuse.execution.plan import KernelPlan, TileFunction, TilesOfBlock
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import INDEX, SHARED, Emitter, Num
from tilefuse.lowering.reads import TileContext


class BlockPlan(KernelPlan):
    """Kernel plan of a block tile: the tile body tests row alignment, so the kernel does not."""

    def __init__(self, group: GroupOp, model: PipelineModel):
        super().__init__(group, model)
        self.staging = prefetch_arrays(group, model)
        """Name and type of the arrays in shared memory with two halves, for the inputs of a tile and of the next."""
        self.tile_arguments = [*self.staging, ("parity", INDEX)] if self.staging else []
        # without lanes, points beyond the picture are worth no branch at each point: the last tiles begin where they
        # lie in it, and two tiles compute some points both; but what prints is computed once
        self.moves_inside = BlockSchedule.expect(group.schedule).one_thread and not any(
            isinstance(op, PrintOp) for op in group.walk()
        )

    def body(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        kind = StepsBody if self.group.steps else BlockTileBody
        kind(self.group, self.model, e, tile, outputs).emit()

    def functions(self) -> Sequence[TileFunction]:
        return [TileFunction("fetch", self._fetch)] if self.staging else []

    def _fetch(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        """Emit the copies of a later tile's inputs into `staging`."""
        BlockTileBody(self.group, self.model, e, tile, outputs).emit_fetch()

    def compute_tiles(self, block: TilesOfBlock, row: Num) -> None:
        e, tiles = block.e, self.schedule.tiles_per_block
        if tiles == 1:
            block.call("tile", row)
            return
        first = e.mul(row, tiles)
        arrays = [e.alloca(t.get_shape(), t.element_type, SHARED, name) for name, t in self.staging]
        count = block.rows_from(first)
        emit_stream(e, first, count, arrays, partial(block.call, "fetch"), partial(block.call, "tile"))

    def moved_origin(self, block: TilesOfBlock, origin: Sequence[Num]) -> Sequence[Num]:
        if not self.moves_inside:
            return origin
        return [block.e.min(x, block.last_origin(d)) if self.align[d] == 1 else x for d, x in enumerate(origin)]
