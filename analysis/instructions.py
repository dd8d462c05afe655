"""Estimates of the instructions that a thread executes per operation."""

from __future__ import annotations

import math as numbers

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IndexType
from xdsl.ir import Operation

from tilefuse.dialects.img.float_operations import FLOAT_OPERATIONS
from tilefuse.dialects.img.integer_operations import INTEGER_OPERATIONS
from tilefuse.dialects.img.ops import PrintOp

# Instructions that one op costs a thread, about, on an NVIDIA SM. Sources: the throughput table of the CUDA
# C++ programming guide (results per clock per SM against 128 for FADD) and the SASS of sample kernels.
_OP_COST: dict[type[Operation], float] = {
    **{row.op: row.instructions for row in FLOAT_OPERATIONS},
    **{row.op: row.instructions for row in INTEGER_OPERATIONS if row.instructions is not None},
    arith.ConstantOp: 0,
    math.FmaOp: 1,
    PrintOp: 100,
}

_BY_CONSTANT = {row.op: row.by_constant for row in INTEGER_OPERATIONS if row.by_constant is not None}
"""Divisions by a constant are a multiplication and a shift."""
_PRODUCTS = (arith.MulfOp, arith.MuliOp)
_SUMS = (arith.AddfOp, arith.SubfOp, arith.AddiOp, arith.SubiOp)


def instruction_cost(op: Operation) -> float:
    """Estimate the thread instructions of one op. A product that only feeds sums is free: they fuse."""
    if _is_product(op):
        return 0.0 if all(_absorbs(u.operation, u.index) for u in op.results[0].uses) else 1.0
    if type(op) in _BY_CONSTANT and isinstance(op.operands[1].owner, arith.ConstantOp):
        return _BY_CONSTANT[type(op)]
    cost = _OP_COST.get(type(op))
    if cost is not None:
        return cost
    if op.results and isinstance(op.results[0].type, IndexType):
        return 0.5
    return 10.0 if op.name.startswith("math.") else 1.0


def _is_product(op: object) -> bool:
    """Whether an op is a product; compilers also make products of divisions by a power of two."""
    if isinstance(op, arith.DivfOp) and isinstance(by := op.rhs.owner, arith.ConstantOp):
        return isinstance(by.value, FloatAttr) and abs(numbers.frexp(by.value.value.data)[0]) == 0.5
    return type(op) in _PRODUCTS


def _absorbs(op: Operation, operand: int) -> bool:
    """Whether a sum fuses with the product at this operand; if both operands are products, only the second fuses."""
    return type(op) in _SUMS and (operand == 1 or not _is_product(op.operands[1].owner))
