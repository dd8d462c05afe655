"""Integer constants of `arith` as Python numbers."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import SSAValue


def integer_constant(value: SSAValue) -> int | None:
    """Return the integer value of a constant, read as signed; None for any other value."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        return None
    number: int = op.value.value.data
    if not isinstance(value.type, IntegerType):
        return number
    half: int = 1 << (value.type.width.data - 1)
    return ((number + half) & (2 * half - 1)) - half


def log2_exact(value: int) -> int | None:
    """Return k if `value` is 2**k, else None."""
    return value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else None
