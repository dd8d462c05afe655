"""Printing of vectors: one load or store each, split into scalars; in C, + - * on vectors, too."""

from __future__ import annotations

from typing import cast as as_type

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

import tilefuse.lowering.printers.expr as expr
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.lowering.printers.c_types import lanes
from tilefuse.lowering.printers.expr import CExpr
from tilefuse.lowering.printers.function_text import FunctionText, Row
from tilefuse.lowering.printers.vector_types import Vector


def _lane_index(op: vector.ExtractOp | vector.InsertOp) -> int:
    position = op.get_mixed_position()
    if len(position) != 1 or not isinstance(position[0], int):
        raise PipelineError(f"{op.name}: only one constant position is printed", op)
    count = lanes((op.vector if isinstance(op, vector.ExtractOp) else op.dest).type, op)
    if not 0 <= position[0] < count:
        raise PipelineError(f"{op.name}: element {position[0]} of a vector of {count}", op)
    return position[0]


def _extract(p: FunctionText, op: Operation) -> CExpr:
    op = as_type(vector.ExtractOp, op)
    if isinstance(op.result.type, VectorType):
        raise PipelineError("vector.extract: only scalars are taken out of a vector", op)
    index = _lane_index(op)
    a = p.atom(p.use(op.vector), op.vector)
    return p.vector(op.vector.type, op).lane(p.prelude, a, index, op)


def _insert(p: FunctionText, op: Operation) -> CExpr:
    """Print a chain of insertions that fills all lanes as the construction of a vector."""
    op = as_type(vector.InsertOp, op)
    v = p.vector(op.result.type, op)
    sources: dict[int, SSAValue] = {}
    base: SSAValue = op.result
    while isinstance(insert := base.owner, vector.InsertOp) and (insert is op or p.uses[insert.result] == 1):
        sources.setdefault(_lane_index(insert), insert.source)
        base = insert.dest
    if len(sources) == len(v.lane_texts):
        return v.make(p.prelude, [v.into(p.prelude, p.converted(sources[i]), op) for i in range(len(sources))])
    raise PipelineError("vector.insert: is printed as the last of a chain that fills all lanes", op)


def is_mask(value: SSAValue) -> bool:
    """Whether a vector of bools is one condition repeated for all lanes, and used by stores alone."""
    stores = (use.operation for use in value.uses)
    return isinstance(value.owner, vector.BroadcastOp) and all(
        isinstance(s, vector.MaskedStoreOp) and s.value_to_store is not value for s in stores
    )


def _broadcast(p: FunctionText, op: Operation) -> CExpr:
    op = as_type(vector.BroadcastOp, op)
    if isinstance(op.source.type, VectorType):
        raise PipelineError("vector.broadcast: only scalars are broadcast", op)
    if is_mask(op.vector):
        return p.use(op.source)  # masks are printed as the one condition of all lanes
    v = p.vector(op.vector.type, op)
    if v.lane_texts == ("{}",):
        return v.into(p.prelude, p.converted(op.source), op)
    return v.splat(p.prelude, v.into(p.prelude, p.converted(op.source), op))


def lanes_computed(p: FunctionText, op: Operation, symbol: str, prec: int, v: Vector) -> CExpr:
    """Print `a + b` on vectors. Integer elements are unsigned, so that they wrap."""
    a, b = (p.use(operand) for operand in op.operands)
    return expr.c_binary(a, symbol, b, prec, v.ctype, cheap=False)


VECTOR_ROWS: dict[str, Row] = {
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.broadcast": _broadcast,
}
