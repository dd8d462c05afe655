"""`promote-memory`: say where every stage of a scheduled group lives.

Shared memory for what a block computes together, registers for what each thread computes around its own
points; stages whose lifetimes do not overlap share a slot; rows are padded against bank conflicts.
With `stage_inputs`, inputs become stages of the group too (`passes/input_staging.py`).
A place written by hand is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.model import extract
from tilefuse.analysis.regions import NotFusable, follow_chain, regions
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level, Memory, PlaceAttr, Shape
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.execution.block_tile.placement import Placement, bank_padding, place_stages, row_step, shared_row
from tilefuse.passes.input_staging import stage_input, stageable


@dataclass(frozen=True)
class PromoteMemory(ModulePass):
    """Place every stage of a group in shared memory or registers."""

    name = "promote-memory"

    stage_inputs: bool = False
    """Read pictures that a block-tiled group needs at several places once per tile, into a stage of their own."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in op.body.block.ops:
            if not isinstance(pipeline, PipelineOp):
                continue
            groups = [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]
            model = extract(pipeline) if groups else None
            for group in groups:
                if group.schedule is None:
                    raise PipelineError(
                        f"group '{group.sym_name.data}' has no schedule; run tile before promote-memory",
                        group,
                    )
                assert model is not None
                block = group.schedule.execution is Shape.BlockTile
                if self.stage_inputs and block and all(s.place is None for s in group.stages):
                    try:
                        sources = stageable(model, group)
                    except NotFusable as error:
                        raise PipelineError(f"group '{group.sym_name.data}': {error}", group) from error
                    for source in sources:
                        stage_input(group, source)
                    model = extract(pipeline) if sources else model
                if len(group.stages) == 1:
                    continue
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
                    of_thread = regions(model, list(ids), output, group.schedule.micro_tile, follow)
                    places = place_stages(model, list(ids), output, follow, of_thread)
                    region = regions(model, list(ids), output, group.schedule.tile_sizes, follow)
                    threads_x = group.schedule.thread_counts[0] if group.schedule.thread_counts else 1
                    micro = group.schedule.micro_tile
                    for id, place in places.items():
                        if place.memory is Memory.Shared and math.prod(group.schedule.thread_counts) > 1:
                            piece, bytes = group.schedule.piece, model.nodes[id].element_bytes[0]
                            # a stage may have more dimensions than the output
                            rows = micro[1] if min(len(micro), len(region[id].extents)) > 1 else 1
                            step = row_step(ids[id], group.schedule)
                            row = shared_row(region[id], 0, step)[1]
                            pad = bank_padding(row, bytes, threads_x, rows, piece, step)
                            places[id] = replace(place, pad=pad)
                for id, place in places.items():
                    if ids[id].place is None:
                        ids[id].place = PlaceAttr(place.level, place.memory, place.slot, place.pad)
