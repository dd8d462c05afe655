"""Vectorised square roots of f32, and divisions by constants, at several points of a thread.

A correctly rounded root is a short sequence for most numbers and a long one for the rest, and so is a quotient. Several
at a time need one branch between the two, and their sequences overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, UnitAttr, VectorType, f32
from xdsl.ir import Block, Operation, SSAValue

from tilefuse.analysis.reciprocals import reciprocal
from tilefuse.dialects.constants import f32_constant
from tilefuse.execution.warp_tile.vectors import together
from tilefuse.lowering.emit import Emitter

WIDEST_VECTOR = 4
"""Lanes of the largest vector of f32."""


def is_vector_root(op: Operation) -> bool:
    """Whether a root, or a quotient, is cheaper in a vector."""
    if isinstance(op, arith.DivfOp):
        return (divisor := f32_constant(op.rhs)) is not None and reciprocal(divisor) is not None
    return isinstance(op, math.SqrtOp) and op.result.type == f32


def has_vector_roots(block: Block) -> bool:
    """Whether a straight-line body has vectorisable roots."""
    return any(is_vector_root(op) for op in block.ops)


def vector_roots(e: Emitter, op: Operation, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """Compute a vectorisable operation for f32 scalars, in vectors of two or four; for a left-over scalar alone."""
    found: list[SSAValue] = []
    while rest := arguments[len(found) :]:
        lanes = max(n for n in (1, 2, WIDEST_VECTOR) if n <= len(rest))
        if lanes == 1:
            found.append(_computed(e, op, rest[0]))
            continue
        results = _computed(e, op, together(e, rest[:lanes]))
        found += [e.op(vector.ExtractOp(results, [v], f32)) for v in range(lanes)]
    return found


def _computed(e: Emitter, op: Operation, argument: SSAValue) -> SSAValue:
    """Emit a copy of `op` for a scalar or a vector."""
    copy: Operation
    if isinstance(op, arith.DivfOp):
        number = f32_constant(op.rhs)
        assert number is not None
        divisor: FloatAttr | DenseIntOrFPElementsAttr = FloatAttr(number, f32)
        if isinstance(type_ := argument.type, VectorType):
            divisor = DenseIntOrFPElementsAttr.from_list(type_, [number] * type_.get_shape()[0])
        copy = arith.DivfOp(argument, e.op(arith.ConstantOp(divisor)))
    else:
        copy = math.SqrtOp(argument)
    if isinstance(argument.type, VectorType):
        copy.attributes["kernel.converged"] = UnitAttr()
    return e.op(copy)
