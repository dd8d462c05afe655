"""`promote-memory`: say where every stage of a scheduled group lives.

Shared memory for what a block computes together, registers for what each thread computes around its own
points; stages whose lifetimes do not overlap share a slot; rows are padded against bank conflicts.
A place written by hand is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.model import extract
from tilefuse.analysis.placement import Placement, place_stages
from tilefuse.analysis.regions import NotFusable, follow_chain
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level, Memory, PlaceAttr, ScheduleAttr, Shape
from tilefuse.dialects.img.ops import GroupOp, PipelineOp


def micro_tile(schedule: ScheduleAttr) -> list[int]:
    """Points that one thread computes around one another, x first."""
    points = [s // t for s, t in zip(schedule.tile_sizes, schedule.thread_counts, strict=True)]
    if all(t == 1 for t in schedule.thread_counts):
        return [1] * len(points)
    return [min(schedule.vector_width, points[0]), *points[1:]]


@dataclass(frozen=True)
class PromoteMemory(ModulePass):
    """Place every stage of a group in shared memory or registers."""

    name = "promote-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in op.body.block.ops:
            if not isinstance(pipeline, PipelineOp):
                continue
            groups = [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]
            model = extract(pipeline) if groups else None
            for group in groups:
                if group.schedule is None:
                    raise PipelineError(
                        f"group '{group.sym_name.data}' has no schedule; run tile before promote-memory", group
                    )
                if len(group.stages) == 1:
                    continue
                assert model is not None
                ids = {model.node_of[s.funcs[0]]: s for s in group.stages}
                output = model.node_of[group.output_stage.funcs[0]]
                try:
                    follow = follow_chain(model, ids, output)
                except NotFusable as error:
                    raise PipelineError(f"group '{group.sym_name.data}': {error}", group) from error
                if group.schedule.execution is Shape.WarpTile:
                    warp = Placement(Level.Warp, Memory.Register)
                    places = {id: warp for id in ids if id != output}
                else:
                    places = place_stages(model, list(ids), output, follow, micro_tile(group.schedule))
                for id, place in places.items():
                    if ids[id].place is None:
                        ids[id].place = PlaceAttr(place.level, place.memory, place.slot, place.pad)
