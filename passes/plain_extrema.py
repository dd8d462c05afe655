"""`plain-extrema`: mark minima and maxima of which no operand is NaN.

    %edges = img.stage "edges" (%x, %y) -> f32 { ... the select of 1.0 and 0.5 ... }
    %f = img.stage "f" (%x, %y) -> f32 {
      %a = img.read %edges[%x - 1, %y]                     %a = img.read %edges[%x - 1, %y]
      %b = img.read %edges[%x, %y]                 =>      %b = img.read %edges[%x, %y]
      %m = arith.maxnumf %a, %b : f32                      %m = arith.maxnumf %a, %b fastmath<nnan> : f32

The maximum that prefers a number to NaN takes three instructions on CPUs, a plain one takes one. Ranges of floats are
followed through the stages of a pipeline: a value in a range of numbers is no NaN. For CPUs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.access import reads
from tilefuse.analysis.value_range import value_range, value_ranges
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.float_ranges import ANY_FLOAT, FloatSpan
from tilefuse.dialects.img.ops import BoundaryOp, PipelineOp, StageOp

NO_NANS = FastMathFlagsAttr([FastMathFlag.NO_NANS])


@dataclass(frozen=True)
class PlainExtrema(ModulePass):
    """Mark minima and maxima of floats whose operands are provably numbers."""

    name = "plain-extrema"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                _mark_in(pipeline)


def _mark_in(pipeline: PipelineOp) -> None:
    """Mark the operations of all stages in order, and find the range of each function."""
    known: dict[SSAValue, FloatSpan] = {}
    for op in pipeline.body.block.ops:
        match op:
            case BoundaryOp():
                known[op.func] = _of_boundary(op, known.get(op.source, ANY_FLOAT))
            case StageOp():
                known |= _mark(op, known)


def _of_boundary(op: BoundaryOp, inside: FloatSpan) -> FloatSpan:
    if op.kind.data is not BoundaryKind.ConstantExterior or inside == ANY_FLOAT:
        return inside
    assert op.exterior is not None
    outside: Any = value_range(op.exterior, {})
    return ANY_FLOAT if outside == ANY_FLOAT else (min(inside[0], outside[0]), max(inside[1], outside[1]))


def _mark(stage: StageOp, known: Mapping[SSAValue, FloatSpan]) -> dict[SSAValue, FloatSpan]:
    """Mark the operations of a stage; return the ranges of its functions of floats."""
    extrema = [op for op in stage.body.block.ops if isinstance(op, arith.MaxnumfOp | arith.MinnumfOp)]
    floats = [v for v in stage.yield_op.values if isinstance(v.type, AnyFloat)]
    if not extrema and not floats:
        return {}
    of_floats = (r for r in reads(stage) if isinstance(r.value.type, AnyFloat))
    given: dict[SSAValue, Any] = {r.value: known.get(r.source, ANY_FLOAT) for r in of_floats}
    found: Mapping[SSAValue, Any] = value_ranges([*floats, *(v for op in extrema for v in op.operands)], given)
    for op in extrema:
        if all(math.isfinite(end) for v in op.operands for end in found[v]):
            op.fastmath = NO_NANS
    values = zip(stage.funcs, stage.yield_op.values, strict=True)
    return {f: found[v] for f, v in values if isinstance(v.type, AnyFloat)}
