"""Constant folding of integer operations: casts, sums, comparisons."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation

from tilefuse.dialects.img.elements import FLOATS

_BINARY: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.AndIOp: operator.and_,
    arith.OrIOp: operator.or_,
    arith.XOrIOp: operator.xor,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def as_signed(number: int, type: Attribute) -> int:
    """Read a number's bits, as `type` stores them, as a signed integer; an index holds any number."""
    if not isinstance(type, IntegerType):
        return number
    half: int = 1 << (type.width.data - 1)
    return (number + half) % (2 * half) - half


def folded(op: Operation, of: Sequence[int]) -> Attribute | None:
    """Return the constant result of an operation on these (signed) operands; None if it is not known."""
    if len(op.results) != 1:
        return None
    type = op.results[0].type
    number = _number(op, of)
    if number is not None and isinstance(type, IntegerType | IndexType):
        return IntegerAttr(as_signed(number, type), type)
    if isinstance(op, arith.SIToFPOp) and isinstance(type, AnyFloat) and type in FLOATS:
        return FloatAttr(float(of[0]), type) if abs(of[0]) <= 1 << FLOATS[type].significand else None
    return None


def _number(op: Operation, of: Sequence[int]) -> int | None:
    match op:
        case arith.IndexCastOp() | arith.ExtSIOp() | arith.TruncIOp():
            return of[0]
        case arith.ExtUIOp():
            assert isinstance(op.input.type, IntegerType)
            return int(of[0] % (1 << op.input.type.width.data))
        case arith.CmpiOp():
            name: str = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
            compare = _COMPARE.get(name.removeprefix("s"))  # one of unsigned numbers is not there
            return None if compare is None else int(compare(of[0], of[1]))
    combine = _BINARY.get(type(op))
    return None if combine is None else combine(of[0], of[1])
