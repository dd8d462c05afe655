"""Workspaces and shared memory of a reduction: partial sums of warps and blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, i32

from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.execution.reduce.attribute import ReduceSchedule
from tilefuse.execution.reduce.folding import carried_types
from tilefuse.lowering.abi import update_box
from tilefuse.lowering.workspaces import Call, Workspace

TILE_TICKETS = "tickets"
"""The workspace that counts the blocks of each tile that are done."""


def partial_name(number: int) -> str:
    """Return the name of the workspace with the block sums of a function."""
    return f"partial{number}"


def workspaces(group: GroupOp) -> Sequence[Workspace]:
    """Return the workspaces: partial results per block and point, and tickets; none if a tile has one block."""
    schedule, update = ReduceSchedule.expect(group.schedule), group.update
    assert update is not None
    if schedule.split == 1:
        return ()

    def tiles(call: Call) -> Sequence[int]:
        box = update_box(group, call.boxes[group.funcs[0]])
        pure = (box[d][1] for d in update.pure_dims)
        return (math.prod(-(-n // size) for n, size in zip(pure, schedule.tile_sizes, strict=True)),)

    found = []
    for number, carried in enumerate(carried_types(update, schedule)):
        type = MemRefType(carried, [schedule.split, DYNAMIC_INDEX, schedule.points])
        found.append(Workspace(partial_name(number), type, tiles))
    return (*found, Workspace(TILE_TICKETS, MemRefType(i32, [DYNAMIC_INDEX]), tiles, clear=0))


def partials_bytes(group: GroupOp) -> int:
    """Return the shared memory through which warps exchange partial results."""
    schedule = ReduceSchedule.expect(group.schedule)
    if schedule.team == schedule.split == 1:
        return 0
    update = group.update
    assert update is not None
    bytes = sum(map(element_bytes, carried_types(update, schedule)))
    return schedule.team * schedule.points * bytes + (4 if schedule.split > 1 else 0)
