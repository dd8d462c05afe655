"""Parents that an op of the img dialect may have."""

from __future__ import annotations

from tilefuse.dialects.parents import HasParentNamed


def in_pipeline() -> HasParentNamed:
    """Directly in an img.pipeline."""
    return HasParentNamed("img.pipeline")


def in_pipeline_or_group() -> HasParentNamed:
    """Directly in an img.pipeline or an img.group."""
    return HasParentNamed("img.pipeline", "img.group")


def in_stage_or_group() -> HasParentNamed:
    """Directly in an img.stage or an img.group."""
    return HasParentNamed("img.stage", "img.group")


def in_definition() -> HasParentNamed:
    """Directly in an img.stage or an img.update."""
    return HasParentNamed("img.stage", "img.update")
