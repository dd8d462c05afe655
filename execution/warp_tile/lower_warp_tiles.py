"""`lower-warp-tiles`: lower tiles of the warp dialect to registers and shuffles, or to arrays (level 4)."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.dialects.warp import WarpPrefetchOp
from tilefuse.execution.warp_tile.arrays import ArrayBody
from tilefuse.execution.warp_tile.body import has_warp_ops
from tilefuse.execution.warp_tile.register_body import RegisterBody
from tilefuse.execution.warp_tile.schedule import is_tile_op


@dataclass(frozen=True)
class LowerWarpTiles(ModulePass):
    """Lower all operations of the warp dialect to standard dialects."""

    name = "lower-warp-tiles"

    warps: bool = True
    """Whether the target has warps; otherwise tiles become arrays, and lanes loops."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.body.block.ops):
            if isinstance(function, func.FuncOp) and has_warp_ops(function):
                if not self.warps and _only_prefetches(function):
                    _erase(function, op)
                    continue
                (RegisterBody if self.warps else ArrayBody)(function).lower()


def _only_prefetches(function: func.FuncOp) -> bool:
    """Whether a function only prefetches, so that arrays make it unnecessary."""
    return all(isinstance(op, WarpPrefetchOp) for op in function.body.block.ops if is_tile_op(op))


def _erase(function: func.FuncOp, module: ModuleOp) -> None:
    """Erase a function, its calls, and branches that become empty."""
    for call in [o for o in module.walk() if isinstance(o, func.CallOp)]:
        if call.callee.root_reference != function.sym_name:
            continue
        branch = call.parent_op()
        call.detach()
        call.erase()
        if isinstance(branch, scf.IfOp) and all(len(list(b.ops)) <= 1 for r in branch.regions for b in r.blocks):
            branch.detach()
            branch.erase()
    function.detach()
    function.erase()
