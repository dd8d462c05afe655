"""Boxes of all functions that a kernel stores, functions included that the call does not need."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.ir import SSAValue

from tilefuse.analysis.bounds import Box
from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.lowering.stored import a_point, anchor_box, follow_of, stored_stages
from tilefuse.runtime.errors import CallError

MOST_IDLE = 8
"""Points that the tiles of a kernel may go over for each one that is stored, in a call of many points."""
FEW_POINTS = 1 << 20


class SparseBoxesError(CallError):
    """Error: the boxes of a kernel's stored functions are so far apart that nearly all of its tiles would be empty."""


def boxes_of_all(group: GroupOp, model: PipelineModel, needed: Mapping[SSAValue, Box]) -> dict[SSAValue, Box]:
    """Find the box of each function of a group, one per stage; a single point for stages that are not needed.

    `needed`: the boxes of those that are needed, at least one.
    """
    if group.update is not None:
        box = next(needed[f] for f in group.funcs if f in needed)
        return dict.fromkeys(group.funcs, box)
    stored = stored_stages(group, model, follow_of(group, model))
    boxes = [needed.get(f) for f in group.funcs]
    tiled = anchor_box(stored, boxes)
    found: dict[SSAValue, Box] = {}
    for s in stored:
        of_stage = [group.funcs[n] for _, n in s.results]
        there = [needed[f] for f in of_stage if f in needed]
        found |= dict.fromkeys(of_stage, there[0] if there else a_point(s, tiled))
    return found


def check_spread(group: GroupOp, model: PipelineModel, needed: Mapping[SSAValue, Box]) -> None:
    """Raise SparseBoxesError for a group whose tiles would cover many points and store few.

    `needed`: the boxes of all its functions.
    """
    if group.update is not None or len(group.stored) < 2:
        return
    stored = stored_stages(group, model, follow_of(group, model))
    boxes = [needed[f] for f in group.funcs]
    covered = prod(n for _, n in anchor_box(stored, boxes))
    stored_points = sum(prod(n for _, n in boxes[s.first]) for s in stored)
    if covered > max(FEW_POINTS, MOST_IDLE * stored_points):
        names = ", ".join(f"'{s.stage.sym_name.data}'" for s in stored)
        raise SparseBoxesError(
            f"{names} are stored by one kernel, group '{group.sym_name.data}', and in this call their boxes lie so far "
            f"apart that its tiles would go over {covered} points to store {stored_points}; ask for them in calls of "
            "their own, or group the stages apart"
        )
