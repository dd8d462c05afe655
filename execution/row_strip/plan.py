"""The kernel plan of a strip."""

from __future__ import annotations

from collections.abc import Sequence

from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.plan import KernelPlan
from tilefuse.execution.row_strip.attribute import StripSchedule
from tilefuse.execution.row_strip.emission import StripBody
from tilefuse.execution.row_strip.invariants import hoist_invariants
from tilefuse.execution.row_strip.order import order_for_registers
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Emitter
from tilefuse.lowering.reads import TileContext


class StripPlan(KernelPlan):
    """Kernel plan of a strip: its loops end with the picture, so all strips share one body."""

    def __init__(self, group: GroupOp, model: PipelineModel):
        super().__init__(group, model)
        self.one_version = True
        self.is_dynamic = not StripSchedule.expect(group.schedule).is_static

    def body(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        StripBody(self.group, self.model, e, tile, outputs).emit()
        hoist_invariants(e.block)
        order_for_registers(e.block)
