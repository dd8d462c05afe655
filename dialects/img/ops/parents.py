"""Parents that an op of the img dialect may have."""

from __future__ import annotations

from tilefuse.dialects.parents import HasParentNamed


def in_pipeline() -> HasParentNamed:
    """Require the parent img.pipeline."""
    return HasParentNamed("img.pipeline")


def in_pipeline_or_group() -> HasParentNamed:
    """Require the parent img.pipeline or img.group."""
    return HasParentNamed("img.pipeline", "img.group")


def in_stage_or_group() -> HasParentNamed:
    """Require the parent img.stage or img.group."""
    return HasParentNamed("img.stage", "img.group")


def in_definition() -> HasParentNamed:
    """Require the parent img.stage or img.update."""
    return HasParentNamed("img.stage", "img.update")
