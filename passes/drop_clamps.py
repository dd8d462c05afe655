"""`drop-clamps`: convert floats to integers without a clamp that the conversion makes itself.

    %low = arith.maximumf %a, 0.0
    %both = arith.minimumf %low, 255.0
    %i = arith.fptoui %both : f32 to i8        =>        %i = arith.fptoui %a : f32 to i8

A conversion gives the nearest end of the integer's range, and 0 for NaN. For GPUs, whose instruction does so; a CPU's
does not, so that it converts clamped floats faster (`plain-conversions`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerType, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

_UPPER = (arith.MinimumfOp, arith.MinnumfOp)
_LOWER = (arith.MaximumfOp, arith.MaxnumfOp)
_NUMBER = (arith.MinnumfOp, arith.MaxnumfOp)


@dataclass(frozen=True)
class DropClamps(ModulePass):
    """Drop clamps of floats to at least the range of the integer that they are converted to."""

    name = "drop-clamps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for cast in list(op.walk()):
            if isinstance(cast, arith.FPToUIOp | arith.FPToSIOp) and isinstance(cast.result.type, IntegerType):
                _drop_clamps(cast, cast.result.type.width.data)


def _drop_clamps(cast: arith.FPToUIOp | arith.FPToSIOp, width: int) -> None:
    """Convert the float within the clamps that a conversion to `width` bits does not need."""
    lowest = -(1 << (width - 1)) if isinstance(cast, arith.FPToSIOp) else 0
    clamped, inner = cast.input, _unclamped(cast.input, lowest, lowest + (1 << width) - 1)
    cast.operands[0] = inner
    while clamped is not inner and not clamped.uses:
        clamp = clamped.owner
        assert isinstance(clamp, (*_UPPER, *_LOWER))
        clamped = next(v for v in clamp.operands if _float_constant(v) is None)
        Rewriter.erase_op(clamp)


def _unclamped(value: SSAValue, lowest: int, highest: int) -> SSAValue:
    """Return the operand of the clamps around a value that a conversion to integers of this range does not need."""
    op = value.owner
    if not isinstance(op, (*_UPPER, *_LOWER)):
        return value
    for other, bound in (op.operands, reversed(op.operands)):
        known = _float_constant(bound)
        if known is None or not (known >= highest if isinstance(op, _UPPER) else known <= lowest):
            continue
        # a number takes the place of NaN, which becomes 0
        end = highest if isinstance(op, _UPPER) else lowest
        if isinstance(op, _NUMBER) and end != 0 and not _is_number(other):
            continue
        return _unclamped(other, lowest, highest)
    return value


def _is_number(value: SSAValue) -> bool:
    """Whether a value is never NaN, as one of its operands is a number."""
    return isinstance(value.owner, _NUMBER) and any(_float_constant(v) is not None for v in value.owner.operands)


def _float_constant(value: SSAValue) -> float | None:
    """Return a constant that is a number; None for any other value."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, FloatAttr):
        return None
    number: float = op.value.value.data
    return number if number == number else None
