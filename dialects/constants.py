"""Constants of `arith` as Python numbers."""

from __future__ import annotations

import struct

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, IntegerType, VectorType, f32
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


def f32_constant(value: SSAValue) -> float | None:
    """Return the value of a constant of f32, or of a vector's elements if they are equal; None for any other value."""
    op = value.owner
    type_ = value.type.element_type if isinstance(value.type, VectorType) else value.type
    if type_ != f32 or not isinstance(op, arith.ConstantOp):
        return None
    if isinstance(op.value, DenseIntOrFPElementsAttr):
        return float(op.value.get_values()[0]) if op.value.is_splat() else None
    assert isinstance(op.value, FloatAttr)
    number: float = op.value.value.data
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return None
    return rounded


def log2_exact(value: int) -> int | None:
    """Return k if `value` is 2**k, else None."""
    return value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else None
