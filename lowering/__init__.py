"""From scheduled groups to kernel-level IR, and from that to CUDA and C text."""

from xdsl.dialects.builtin import ModuleOp

if __name__ != "tilefuse.lowering":
    raise ImportError("import this package as tilefuse.lowering")


def lower(module: ModuleOp) -> ModuleOp:
    """A copy of a scheduled module (level 3) with a kernel for every group (level 4)."""
    from tilefuse.lowering.groups import LowerGroups
    from tilefuse.passes.expand_division import ExpandDivision
    from tilefuse.passes.pipeline import new_context

    module = module.clone()
    ctx = new_context()
    LowerGroups().apply(ctx, module)
    ExpandDivision().apply(ctx, module)
    return module
