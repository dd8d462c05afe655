"""`chain-kernels`: a kernel may start while what was launched before it still ends.

    func.func @a(...) attributes {kernel.threads = ...} {
      =>
    func.func @a(...) attributes {kernel.threads = ...} {
      nvvm.griddepcontrol launch_dependents
      nvvm.griddepcontrol wait

A kernel begins by letting the next one start and then waits until the one before is done, before it touches memory.
One that asks for lines ahead of time has its wait already, further down. Started by a launch that allows it
(programmatic dependent launch, from sm_90 on), its blocks are in place when the last wave of the kernel before ends,
be that of the same call or of the one before; started by any other, the two instructions do nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.dialects.nvvm import GridDepAction, GriddepcontrolOp

_ACTIONS = (GridDepAction.LaunchDependents, GridDepAction.Wait)


@dataclass(frozen=True)
class ChainKernels(ModulePass):
    """Let the kernels of a lowered pipeline overlap."""

    name = "chain-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Add what stands first in each kernel."""
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and "kernel.threads" in function.attributes:
                there = [o.kind.data for o in function.walk() if isinstance(o, GriddepcontrolOp)]
                missing = [GriddepcontrolOp(a) for a in _ACTIONS if a not in there]
                block = function.body.block
                assert block.first_op is not None
                block.insert_ops_before(missing, block.first_op)
