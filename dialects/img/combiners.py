"""Combiners of an `img.update`: one operation of arith each."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, Operation, SSAValue

OperationOfTwo = Callable[[SSAValue, SSAValue], Operation]
"""Constructor of an operation on two values."""

_FLOAT: dict[str, OperationOfTwo] = {
    "add": arith.AddfOp,
    "mul": arith.MulfOp,
    "min": arith.MinnumfOp,
    "max": arith.MaxnumfOp,
}
_INTEGER: dict[str, OperationOfTwo] = {
    "add": arith.AddiOp,
    "mul": arith.MuliOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
}
_SIGNED: dict[str, OperationOfTwo] = {"min": arith.MinSIOp, "max": arith.MaxSIOp}
_UNSIGNED: dict[str, OperationOfTwo] = {"min": arith.MinUIOp, "max": arith.MaxUIOp}


def combined(combiner: str, element: Attribute, old: SSAValue, term: SSAValue) -> Operation:
    """Make the operation that combines `term` with the old value, in a function of `element`."""
    if not isinstance(element, IntegerType):
        return _FLOAT[combiner](old, term)
    by_sign = _SIGNED if element.signedness.data is Signedness.SIGNED else _UNSIGNED
    return {**_INTEGER, **by_sign}[combiner](old, term)


def combiner_of(op: Operation, element: Attribute) -> str | None:
    """Return the combiner implemented by `op` in a function of `element`; None if there is none."""
    rows = _FLOAT
    if isinstance(element, IntegerType):
        rows = {**_INTEGER, **(_SIGNED if element.signedness.data is Signedness.SIGNED else _UNSIGNED)}
    return next((way for way, made in rows.items() if made is type(op)), None)


_ATOMIC = {"add": "addi", "and": "andi", "or": "ori", "xor": "xori"}


def atomic_kind(combiner: str, element: Attribute) -> str:
    """Return the kind of `memref.atomic_rmw` that combines a term with an integer of a function of `element`."""
    assert isinstance(element, IntegerType)
    if combiner in _ATOMIC:
        return _ATOMIC[combiner]
    return f"{combiner}{'s' if element.signedness.data is Signedness.SIGNED else 'u'}"
