"""The boxes of all functions that a kernel stores, also of those that a call does not need."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from tilefuse.analysis.bounds import Box
from tilefuse.analysis.model import extract, pipeline_of
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.lowering.stored import a_point, anchor_box, follow_of, stored_stages


def boxes_of_all(group: GroupOp, needed: Mapping[SSAValue, Box]) -> dict[SSAValue, Box]:
    """Find a box for each function of a group: those of a stage have one; of a stage that is not needed it is a point.

    `needed`: the boxes of those that are needed, at least one.
    """
    if group.update is not None:
        box = next(needed[f] for f in group.funcs if f in needed)
        return dict.fromkeys(group.funcs, box)
    model = extract(pipeline_of(group))
    stored = stored_stages(group, model, follow_of(group, model))
    boxes = [needed.get(f) for f in group.funcs]
    tiled = anchor_box(stored, boxes)
    found: dict[SSAValue, Box] = {}
    for s in stored:
        of_stage = [group.funcs[n] for _, n in s.results]
        there = [needed[f] for f in of_stage if f in needed]
        found |= dict.fromkeys(of_stage, there[0] if there else a_point(s, tiled))
    return found
