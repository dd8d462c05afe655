"""Constant folding in bodies, with the evaluator's semantics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import Definition, ReadOp, StageOp, YieldOp


def fold(definition: Definition) -> None:
    """Fold operations on constants, selects by constants, and constant indices of reads in a body."""
    for op in list(definition.body.block.ops):
        if isinstance(op, ReadOp):
            _fold_indices(op)
        elif isinstance(op, arith.SelectOp) and (chosen := integer_constant(op.cond)) is not None:
            op.result.replace_all_uses_with(op.lhs if chosen else op.rhs)
        elif len(op.results) == 1 and op.operands and _is_arithmetic(op):
            if all(isinstance(v.owner, arith.ConstantOp) for v in op.operands):
                _fold_result(op)
    for op in reversed(list(definition.body.block.ops)):
        if op.results and not any(r.first_use for r in op.results) and (_is_arithmetic(op) or isinstance(op, ReadOp)):
            op.detach()
            op.erase()


def has_foldable(definition: Definition) -> bool:
    """Whether a body has operations on constants alone."""
    return any(
        op.operands and _is_arithmetic(op) and all(isinstance(v.owner, arith.ConstantOp) for v in op.operands)
        for op in definition.body.block.ops
    )


def _is_arithmetic(op: Operation) -> bool:
    return op.dialect_name() in ("arith", "math")


def _fold_result(op: Operation) -> None:
    """Replace an operation on constants by its result, unless it is no finite number."""
    operands = [_compute(v.owner, [])[0] for v in op.operands if isinstance(v.owner, Operation)]
    found = _attribute(_compute(op, operands)[0], op.results[0].type)
    if found is None:
        return
    constant = arith.ConstantOp(found)
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(constant, op)
    op.results[0].replace_all_uses_with(constant.result)


def constants_at(stage: StageOp, points: Sequence[Sequence[int]]) -> list[list[IntegerAttr | FloatAttr]] | None:
    """Evaluate some points of a stage that reads nothing; None unless all values are finite."""
    import numpy as np

    known: dict[SSAValue, Any] = {
        argument: np.array(numbers, np.int64)
        for argument, numbers in zip(stage.body.block.args, zip(*points, strict=True), strict=True)
    }
    for op in stage.body.block.ops:
        if isinstance(op, YieldOp):
            break
        if not _is_arithmetic(op) or any(v not in known for v in op.operands):
            return None
        known |= zip(op.results, _compute(op, [known[v] for v in op.operands]), strict=True)
    if any(v not in known for v in stage.yield_op.values):
        return None
    columns = [(np.broadcast_to(known[v], len(points)), v.type) for v in stage.yield_op.values]
    found = [[_attribute(values[n], type) for values, type in columns] for n in range(len(points))]
    return None if any(None in row for row in found) else found  # type: ignore[return-value]


def _compute(op: Operation, operands: list[Any]) -> list[Any]:
    """Compute the results of an operation as the evaluator does."""
    from tilefuse.evaluator.table import compute  # late: NumPy takes long to import

    return compute(op, operands)


def _attribute(value: Any, type: Attribute) -> IntegerAttr | FloatAttr | None:
    """Return the attribute of a constant; None unless the value is finite."""
    if isinstance(type, IntegerType | IndexType):
        bits = type.width.data if isinstance(type, IntegerType) else 64
        number = int(value) % 2**bits
        return IntegerAttr(number - 2**bits if number >> (bits - 1) and bits > 1 else number, type)
    return FloatAttr(float(value), type) if math.isfinite(value) else None  # type: ignore[call-overload]


def _fold_indices(read: ReadOp) -> None:
    """Move constants among the operands of a read's indices into its map."""
    numbers = [integer_constant(v) for v in read.indices]
    if all(n is None for n in numbers):
        return
    kept = [v for v, n in zip(read.indices, numbers, strict=True) if n is None]
    dims = [
        AffineExpr.dimension(kept.index(v)) if n is None else AffineExpr.constant(n)
        for v, n in zip(read.indices, numbers, strict=True)
    ]
    results = []
    for expr in read.map.data.results:
        replaced = expr.replace_dims_and_symbols(dims, [])
        results.append(replaced if replaced.used_dims() else AffineExpr.constant(replaced.eval([0] * len(kept), [])))
    new = ReadOp(read.source, kept, AffineMap(len(kept), 0, tuple(results)))
    new.location = read.location
    new.value.name_hint = read.value.name_hint
    block = read.parent_block()
    assert block is not None
    block.insert_op_before(new, read)
    read.value.replace_all_uses_with(new.value)
    read.detach()
    read.erase()
