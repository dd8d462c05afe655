"""How long the code of a kernel becomes: the operations that a schedule has written out for a thread, about.

A warp tile holds rows and columns in registers, which only unrolled code can name; a block tile writes out the rounds
of a thread's loops. So code grows with what a thread computes, and a compiler takes time and memory for all of it.
"""

from __future__ import annotations

import math
from collections import Counter

from xdsl.dialects import arith

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import regions
from tilefuse.dialects.img.attrs import Memory, Shape
from tilefuse.dialects.img.ops import GroupOp, StageOp, YieldOp
from tilefuse.execution.warp_tile.layout import group_layout

MOST_WRITTEN_OUT = 12000
"""Operations of a thread. A compiler takes ten to twenty seconds for so many, and longer than in proportion for more;
schedules that `tile` chooses have about half as many at most."""

_HELD_WELL = 128
"""Points of a stage that a thread's registers hold together. A compiler takes longer for each of more: it spills."""

_LIKE_STAGES = 3
"""So many of the stages with the same operations count: `roll-stages` makes loops of more."""

_ROWS_TOGETHER = 4
"""Rows of a stage in shared memory that a thread computes together."""


def written_out(group: GroupOp, model: PipelineModel) -> tuple[int, str]:
    """Operations that are written out for a thread of the group's kernel, about, and the stage that has most."""
    assert group.schedule is not None
    parts = _in_warp_tile(group, model) if group.schedule.execution is Shape.WarpTile else _in_block_tile(group, model)
    return sum(n for n, _ in parts), max(parts)[1]


def _operations(stage: StageOp) -> tuple[str, ...]:
    """Names of the operations of a stage that become code."""
    return tuple(op.name for op in stage.body.block.ops if not isinstance(op, arith.ConstantOp | YieldOp))


def _written(operations: int, points: int) -> int:
    return operations * points * max(_HELD_WELL, points) // _HELD_WELL


def _in_warp_tile(group: GroupOp, model: PipelineModel) -> list[tuple[int, str]]:
    layout = group_layout(group, model)
    parts = []
    alike: Counter[tuple[str, ...]] = Counter()
    for stage in group.stages:
        held = layout.stages[model.node_of[stage.funcs[0]]]
        points = max(1, held.rows(layout.pitch)) * layout.vector * held.deep
        operations = _operations(stage)
        alike[operations] += 1
        if alike[operations] <= _LIKE_STAGES:
            parts.append((_written(len(operations), points), stage.sym_name.data))
    for (id, _), held in layout.sources.items():
        rows = layout.pitch + sum(held.wide)
        parts.append((max(1, rows) * (layout.vector + sum(held.reach)) * held.deep, model.nodes[id].name))
    return parts


def _in_block_tile(group: GroupOp, model: PipelineModel) -> list[tuple[int, str]]:
    schedule = group.schedule
    assert schedule is not None
    ids = {model.node_of[s.funcs[0]]: s for s in group.stages}
    output = model.node_of[group.output_stage.funcs[0]]
    rounds = schedule.unroll_factors or ((1,) * len(schedule.tile_sizes) if schedule.one_thread else schedule.rounds)
    micro = [n * (1 if d else schedule.piece) for d, n in enumerate(rounds)]
    together = regions(model, list(ids), output, micro)
    parts = []
    for id, stage in ids.items():
        points = together[id].points if id != output else math.prod(micro)
        if stage.place is not None and stage.place.where[1] is Memory.Shared:
            points = schedule.piece * (rounds[1] if schedule.unroll_factors and len(rounds) > 1 else _ROWS_TOGETHER)
        parts.append((_written(len(_operations(stage)), points), stage.sym_name.data))
    return parts
