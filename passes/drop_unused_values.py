"""`drop-unused-values`: remove the values of stages that nothing reads, and operations that only those need.

    %f, %g = img.stage "f" (%x) -> (ui8, f32) { ...; img.yield %a, %b : i8, f32 }    // nothing reads %g
      =>
    %f = img.stage "f" (%x) -> ui8 { ...; img.yield %a : i8 }

Of a tuple-valued function that is stored, each value is a function in memory: an unused one costs its arithmetic, its
loads and a store per point. A stage that prints stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilefuse.dialects.img.ops import BoundaryOp, PipelineOp, StageOp, YieldOp
from tilefuse.dialects.img.ops.print import prints
from tilefuse.dialects.img.ops.stage import computes_values_only


@dataclass(frozen=True)
class DropUnusedValues(ModulePass):
    """Drop the values of stages that nothing reads, and their operations."""

    name = "drop-unused-values"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                _drop_in(pipeline.body.block)


def _drop_in(block: Block) -> None:
    # the last first: what a dropped value reads is then unused, too
    for op in reversed(list(block.ops)):
        if not isinstance(op, StageOp | BoundaryOp) or (isinstance(op, StageOp) and prints(op)):
            continue
        if not any(result.uses for result in op.results):
            Rewriter.erase_op(op)
        elif not all(result.uses for result in op.results):
            assert isinstance(op, StageOp)
            _keep_used(op)


def _keep_used(stage: StageOp) -> None:
    """Replace a stage by one with its used values alone."""
    kept = [number for number, func in enumerate(stage.funcs) if func.uses]
    end = stage.yield_op
    Rewriter.replace_op(end, YieldOp([end.values[number] for number in kept]))
    body = stage.detach_region(stage.body)
    for op in reversed(list(body.block.ops)):
        if op.results and computes_values_only(op) and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)
    old = [stage.funcs[number] for number in kept]
    new = StageOp(stage.sym_name.data, [func.type.element for func in old], body, stage.bounds, stage.place)
    new.attributes |= stage.attributes
    new.location = stage.location
    Rewriter.insert_op(new, InsertPoint.before(stage))
    for before, after in zip(old, new.funcs, strict=True):
        before.replace_all_uses_with(after)
    Rewriter.erase_op(stage)
