"""`propagate-constants`: compute operations on constants, and replace reads of functions that are constant everywhere.

    %f = img.stage "f" (%x) -> si8 { %c = arith.subi 0, 2; img.yield %c : i8 }
    ... %v = img.read %f[%x - 1] ...        =>        %v = arith.constant -2 : i8

Such a function would be stored, and its readers would wait for it. A boundary of a constant function is that constant,
unless its exterior is another one. Functions that nothing reads any more are left to `drop-unused-values`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilefuse.dialects.img.ops import BoundaryOp, PipelineOp, ReadOp, StageOp
from tilefuse.passes.constants import fold, has_foldable


@dataclass(frozen=True)
class PropagateConstants(ModulePass):
    """Compute operations on constants, and replace reads of constant functions."""

    name = "propagate-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                _fold_in(pipeline)


def _fold_in(pipeline: PipelineOp) -> None:
    """Fold the stages of a pipeline in program order: readers of constant functions may be constant too."""
    known: dict[SSAValue, IntegerAttr | FloatAttr] = {}
    for op in pipeline.body.block.ops:
        if isinstance(op, BoundaryOp):
            value = known.get(op.source)
            if value is not None and (op.exterior is None or _constant(op.exterior) == value):
                known[op.func] = value
        elif isinstance(op, StageOp):
            for read in [r for r in op.body.block.ops if isinstance(r, ReadOp) and r.source in known]:
                Rewriter.replace_op(read, arith.ConstantOp(known[read.source]))
            if has_foldable(op):
                fold(op)
            for func, value in zip(op.funcs, map(_constant, op.yield_op.values), strict=True):
                if value is not None:
                    known[func] = value


def _constant(value: SSAValue) -> IntegerAttr | FloatAttr | None:
    """Return the attribute of a constant; None for any other value."""
    found = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return found if isinstance(found, IntegerAttr | FloatAttr) else None
