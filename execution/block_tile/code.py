"""Code size of a block tile, from the unrolled iterations of a thread's loops."""

from __future__ import annotations

import math

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import regions
from tilefuse.dialects.img.attrs import Memory
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.base import Code
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.execution.written_out import operations, written

_ROWS_TOGETHER = 4
"""Rows of a stage in shared memory that a thread computes together."""


def code_per_thread(group: GroupOp, model: PipelineModel) -> Code:
    """Estimate the unrolled operations per thread."""
    schedule = BlockSchedule.expect(group.schedule)
    ids = {model.node_of[s.funcs[0]]: s for s in group.tiled}
    output = model.node_of[group.anchor.funcs[0]]
    rounds = schedule.unroll_factors or ((1,) * len(schedule.tile_sizes) if schedule.one_thread else schedule.rounds)
    micro = [n * (1 if d else schedule.piece) for d, n in enumerate(rounds)]
    together = regions(model, list(ids), output, micro)
    parts = []
    for id, stage in ids.items():
        points = together[id].points if id != output else math.prod(micro)
        if stage.place is not None and stage.place.where[1] is Memory.Shared:
            points = schedule.piece * (rounds[1] if schedule.unroll_factors and len(rounds) > 1 else _ROWS_TOGETHER)
        parts.append((written(len(operations(stage)), points), stage.sym_name.data))
    return Code(sum(n for n, _ in parts), max(parts)[1], math.prod(micro))
