"""Where an op may stand. The parents are looked up late, since they know their children, too."""

from __future__ import annotations

from xdsl.traits import HasParent


def in_pipeline() -> HasParent:
    """Directly in an img.pipeline."""
    from tilefuse.dialects.img.ops.pipeline import PipelineOp

    return HasParent(PipelineOp)


def in_pipeline_or_group() -> HasParent:
    """Directly in an img.pipeline or an img.group."""
    from tilefuse.dialects.img.ops.group import GroupOp
    from tilefuse.dialects.img.ops.pipeline import PipelineOp

    return HasParent(PipelineOp, GroupOp)


def in_stage_or_group() -> HasParent:
    """Directly in an img.stage or an img.group."""
    from tilefuse.dialects.img.ops.group import GroupOp
    from tilefuse.dialects.img.ops.stage import StageOp

    return HasParent(StageOp, GroupOp)


def in_definition() -> HasParent:
    """Directly in an img.stage or an img.update."""
    from tilefuse.dialects.img.ops.stage import StageOp
    from tilefuse.dialects.img.ops.update import UpdateOp

    return HasParent(StageOp, UpdateOp)
