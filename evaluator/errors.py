"""Errors that the evaluator raises."""

from __future__ import annotations

from tilefuse.dialects.diagnostics import PipelineError


class EvaluationError(PipelineError):
    """A pipeline has no value for these inputs; the message names the stage, the place and the fix."""
