"""Code size of a warp tile: rows and columns are registers, so all their code is unrolled."""

from __future__ import annotations

from collections import Counter

from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.base import Code
from tilefuse.execution.warp_tile.layout import group_layout
from tilefuse.execution.written_out import operations, written

_LIKE_STAGES = 3
"""So many of the stages with the same operations count: `roll-stages` makes loops of more."""


def code_per_lane(group: GroupOp, model: PipelineModel) -> Code:
    """Estimate the unrolled operations per lane."""
    layout = group_layout(group, model)
    parts = []
    alike: Counter[tuple[str, ...]] = Counter()
    for stage in group.stages:
        footprint = layout.stages[model.node_of[stage.funcs[0]]]
        points = max(1, footprint.rows(layout.pitch)) * layout.vector * footprint.deep
        kinds = operations(stage)
        alike[kinds] += 1
        if alike[kinds] <= _LIKE_STAGES:
            parts.append((written(len(kinds), points), stage.sym_name.data))
    for (id, _), footprint in layout.sources.items():
        rows = layout.pitch + sum(footprint.wide)
        parts.append((max(1, rows) * (layout.vector + sum(footprint.reach)) * footprint.deep, model.nodes[id].name))
    return Code(sum(n for n, _ in parts), max(parts)[1], layout.pitch * layout.vector)
