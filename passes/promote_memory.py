"""`promote-memory`: decide in which memory every stage of a scheduled group is kept.

Stages that a block computes together are in shared memory, stages that each thread computes around its own points in
registers; stages with disjoint lifetimes share a slot; rows are padded against bank conflicts. Places written by hand
are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.model import extract
from tilefuse.analysis.regions import NotFusable
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.execution.base import group_error
from tilefuse.execution.registry import model_of


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
                        f"group '{group.sym_name.data}' has no schedule; run tile before promote-memory",
                        group,
                    )
                assert model is not None
                execution = model_of(group)
                try:
                    places = execution.place(group, model) if len(group.tiled) > 1 else {}
                except NotFusable as error:
                    raise group_error(group, error) from error
                for stage, place in places.items():
                    if stage.place is None:
                        stage.place = place
