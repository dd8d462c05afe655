"""From scheduled groups to kernel-level IR, and from that to CUDA and C text."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

if __name__ != "tilefuse.lowering":
    raise ImportError("import this package as tilefuse.lowering")


def lowering_passes(*, warps: bool) -> list[ModulePass]:
    """From a scheduled module (level 3) to what the printers take (level 5).

    `warps`: whether the machine has warps; on a CPU, which has none, warp tiles are arrays.
    """
    from tilefuse.execution.registry import models
    from tilefuse.passes.expand_division import ExpandDivision
    from tilefuse.passes.expand_shifts import ExpandShifts
    from tilefuse.passes.lower_groups import LowerGroups

    of_models = [p for m in models() for p in m.lowering_passes(warps=warps)]
    return [LowerGroups(), *of_models, ExpandDivision(), ExpandShifts()]


def lower(module: ModuleOp, *, warps: bool = True) -> ModuleOp:
    """A lowered copy of a scheduled module."""
    from tilefuse.passes.pipeline import run_passes

    return run_passes(module, lowering_passes(warps=warps))
