"""Rules of integer, index and i1 ops, and of conversions: rows of `dialects/img`, on carried values."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation

from tilefuse.dialects.img.comparisons import OF_INTEGERS
from tilefuse.dialects.img.elements import Array
from tilefuse.dialects.img.integer_operations import INTEGER_OPERATIONS, IntegerOperation, Reading
from tilefuse.evaluator.carriers import Rule, carried_signed, carried_unsigned, carried_width

"""(op, *operands) -> the result, or a tuple of the results."""


def _rule(row: IntegerOperation) -> Rule:
    def rule(op: Operation, *operands: Array) -> Any:
        is_signed = row.reading is Reading.SIGNED or (row.reading is Reading.OF_OP and op.signed)  # type: ignore[attr-defined]
        read = carried_signed if is_signed else carried_unsigned
        values = [
            read(a) if isinstance(o.type, IntegerType | IndexType) else a
            for a, o in zip(operands, op.operands, strict=True)
        ]
        if row.takes_width:
            return row.meaning(carried_width(op.results[0].type), *values)
        return row.meaning(*values)

    return rule


def _compare(op: arith.CmpiOp, a: Array, b: Array) -> Array:
    row = OF_INTEGERS[op.predicate.value.data]
    read = carried_signed if row.signed else carried_unsigned
    return row.meaning(read(a), read(b))


INTEGER_RULES: dict[type[Operation], Rule] = {
    **{row.op: _rule(row) for row in INTEGER_OPERATIONS},
    arith.CmpiOp: _compare,
}
