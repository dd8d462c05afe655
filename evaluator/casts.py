"""Rules of constants, conversions and select. Most only say how an integer is read: the rounding to the
result's type, and the wrap, are the same for all ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Operation

from tilefuse.evaluator.carriers import CARRIERS, signed, unsigned, width_of
from tilefuse.evaluator.errors import EvaluationError
from tilefuse.evaluator.narrow_floats import NARROW_FLOATS

Array = np.ndarray
Rule = Callable[..., Any]


def _constant(op: arith.ConstantOp) -> Array:
    type = op.result.type
    match op.value:
        case IntegerAttr(value=number) if isinstance(type, IndexType):
            return np.array(number.data, np.int64)
        case IntegerAttr(value=number) if isinstance(type, IntegerType):
            bits = np.array(number.data % 2 ** width_of(type), np.uint64)
            return bits.astype(CARRIERS[type])
        case FloatAttr(value=value):
            return np.array(value.data, np.float64)
    raise EvaluationError(f"a constant of type {type} is no scalar; stages compute on scalars", op)


def _saturating(op: Operation, a: Array, low: int, high: int, dtype: type[np.integer[Any]]) -> Array:
    """Towards zero, held in [low, high]; NaN gives 0."""
    whole = np.trunc(a.astype(np.float64))
    # high + 1 is a power of two, so it is exact; high may not be.
    above, below = whole >= float(high + 1), whole <= float(low)
    inside = np.where(above | below | np.isnan(whole), 0.0, whole).astype(dtype)
    return np.where(above, dtype(high), np.where(below, dtype(low), inside))


def _to_signed(op: Operation, a: Array) -> Array:
    half = 2 ** (width_of(op.results[0].type) - 1)
    return _saturating(op, a, -half, half - 1, np.int64)


def _to_unsigned(op: Operation, a: Array) -> Array:
    return _saturating(op, a, 0, 2 ** width_of(op.results[0].type) - 1, np.uint64)


def _bitcast(op: arith.BitcastOp, a: Array) -> Array:
    source, result = op.operands[0].type, op.results[0].type
    if source == result:
        return a
    bits = NARROW_FLOATS[source].bits(a) if source in NARROW_FLOATS else a
    if result in NARROW_FLOATS:
        return NARROW_FLOATS[result].values(bits.view(f"u{bits.itemsize}"))
    return bits.view(CARRIERS[result])


CAST_RULES: dict[type[Operation], Rule] = {
    arith.ConstantOp: _constant,
    arith.SelectOp: lambda op, condition, a, b: np.where(condition, a, b),
    arith.BitcastOp: _bitcast,
    arith.ExtFOp: lambda op, a: a,
    arith.TruncFOp: lambda op, a: a,
    arith.ExtSIOp: lambda op, a: signed(a),
    arith.ExtUIOp: lambda op, a: unsigned(a),
    arith.TruncIOp: lambda op, a: unsigned(a),
    arith.IndexCastOp: lambda op, a: signed(a),
    arith.SIToFPOp: lambda op, a: signed(a),
    arith.UIToFPOp: lambda op, a: unsigned(a),
    arith.FPToSIOp: _to_signed,
    arith.FPToUIOp: _to_unsigned,
}
