"""From scheduled groups to kernel-level IR, and from that to CUDA and C text."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

if __name__ != "tilefuse.lowering":
    raise ImportError("import this package as tilefuse.lowering")


def lowering_passes(*, warps: bool) -> list[ModulePass]:
    """From a scheduled module (level 3) to what the printers take (level 5).

    `warps`: whether the machine has warps; on a CPU, which has none, warp tiles are arrays.
    """
    from tilefuse.lowering.groups import LowerGroups
    from tilefuse.lowering.pack_subwords import PackSubwords
    from tilefuse.lowering.roll_stages import RollStages
    from tilefuse.lowering.warp_tiles import LowerWarpTiles
    from tilefuse.passes.expand_division import ExpandDivision
    from tilefuse.passes.expand_shifts import ExpandShifts

    tiles: list[ModulePass] = [PackSubwords(), RollStages(), LowerWarpTiles(warps=warps)]
    return [LowerGroups(warps=warps), *tiles, ExpandDivision(), ExpandShifts()]


def lower(module: ModuleOp, *, warps: bool = True) -> ModuleOp:
    """A lowered copy of a scheduled module."""
    from tilefuse.passes.pipeline import run_passes

    return run_passes(module, lowering_passes(warps=warps))
