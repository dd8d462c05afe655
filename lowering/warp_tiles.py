"""`lower-warp-tiles`: tiles of the warp dialect become registers and shuffles, or arrays (level 4)."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.lowering.warp_arrays import ArrayBody
from tilefuse.lowering.warp_body import has_warp_ops
from tilefuse.lowering.warp_registers import RegisterBody


@dataclass(frozen=True)
class LowerWarpTiles(ModulePass):
    """Lower all operations of the warp dialect to standard dialects."""

    name = "lower-warp-tiles"

    warps: bool = True
    """Whether the machine has warps; without, tiles are arrays and lanes are loops."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.body.block.ops):
            if isinstance(function, func.FuncOp) and has_warp_ops(function):
                (RegisterBody if self.warps else ArrayBody)(function).lower()
