"""`chain-kernels`: a kernel may start while what was launched before it still ends.

    func.func @a(...) attributes {kernel.threads = ...}
      =>
    func.func @a(...) attributes {kernel.chained, kernel.threads = ...}

A chained kernel begins by letting the next one start and then waits until the one before is done, before it
touches memory. (One that asks for lines ahead of time waits where it has an `nvvm.griddepcontrol wait`.) Started by
a launch that allows it (programmatic dependent launch, from sm_90 on), its blocks are in place when the last wave of
the kernel before ends, be that of the same call or of the one before; started by any other, the two instructions do
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class ChainKernels(ModulePass):
    """Mark the kernels of a lowered pipeline as chained."""

    name = "chain-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Add the attributes."""
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and "kernel.threads" in function.attributes:
                function.attributes["kernel.chained"] = UnitAttr()
