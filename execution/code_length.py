"""Limit on unrolled code: schedules that would take a compiler too long are refused."""

from __future__ import annotations

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import NotFusable
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.base import Code, group_error
from tilefuse.execution.registry import model_of
from tilefuse.execution.written_out import MOST_WRITTEN_OUT


def too_long(group: GroupOp, model: PipelineModel, *, warps: bool) -> str | None:
    """Explain that a schedule unrolls more code than compiles in reasonable time; None if it does not.

    `warps`: whether the machine has warps.
    """
    code = model_of(group).code(group, model, warps=warps)
    return _problem(code) if code.operations > MOST_WRITTEN_OUT else None


def _problem(code: Code) -> str:
    return (
        f"about {code.operations} operations are written out for a thread, most of them of '{code.longest}', where "
        f"{MOST_WRITTEN_OUT} are the most; a smaller tile, more threads or less unroll have fewer"
    )


def check_length(group: GroupOp, model: PipelineModel, *, warps: bool) -> None:
    """Raise PipelineError for a schedule of too much code that bypassed `validate-occupancy`."""
    if group.schedule is None or "occupancy" in group.attributes:
        return
    try:
        code = model_of(group).code(group, model, warps=warps)
    except NotFusable:  # lowering says so
        return
    if code.operations > MOST_WRITTEN_OUT and code.points > 1:
        raise group_error(group, _problem(code))
