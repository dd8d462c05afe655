"""Rules of constants, select, bitcasts, and conversions between floats."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Operation

from tilefuse.dialects.img.elements import Array
from tilefuse.evaluator.carriers import CARRIERS, Rule, carried_width
from tilefuse.evaluator.errors import EvaluationError
from tilefuse.evaluator.narrow_floats import NARROW_FLOATS


def _constant(op: arith.ConstantOp) -> Array:
    type = op.result.type
    match op.value:
        case IntegerAttr(value=number) if isinstance(type, IndexType):
            return np.array(number.data, np.int64)
        case IntegerAttr(value=number) if isinstance(type, IntegerType):
            bits = np.array(number.data % 2 ** carried_width(type), np.uint64)
            return bits.astype(CARRIERS[type])
        case FloatAttr(value=value):
            return np.array(value.data, np.float64)
    raise EvaluationError(f"a constant of type {type} is no scalar; stages compute on scalars", op)


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
}
