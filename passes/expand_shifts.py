"""`expand-shifts`: define shifts whose count may reach the width of their type.

    %r = arith.shrui %a, %b : i32
      =>
    %k = arith.minui %b, %c31 : i32
    %s = arith.shrui %a, %k : i32
    %f = arith.cmpi ult, %b, %c32 : i32
    %r = arith.select %f, %s, %c0 : i32

A shift by the width or more leaves only the sign: 0 for `shli` and `shrui`; for `shrsi` the minui suffices. MLIR and C
leave such shifts undefined. Shifts by a constant or masked count below the width, and shifts of vectors, are not
changed. An index is shifted as i64, since kernels compute it in 32 bits or in 64.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.dialects.constants import integer_constant
from tilefuse.passes.expansion import Constants, Expansion, expand_ops

_SHIFTS = (arith.ShLIOp, arith.ShRUIOp, arith.ShRSIOp)
_INDEX_BITS = 32


class _Shift(Expansion):
    """Emit the operations that replace one shift."""

    def by_constant(self, op: Operation, a: SSAValue, count: int, width: int) -> SSAValue | None:
        if count < width:
            return None
        if isinstance(op, arith.ShRSIOp):
            return self.emit(arith.ShRSIOp(a, self.constant(width - 1, a.type)))
        return self.constant(0, a.type)

    def of_bool(self, op: Operation, a: SSAValue, count: SSAValue) -> SSAValue:
        if isinstance(op, arith.ShRSIOp):
            return a
        # By nothing, or away.
        return self.emit(arith.AndIOp(a, self.emit(arith.XOrIOp(count, self.constant(-1)))))

    def guarded(self, op: Operation, a: SSAValue, count: SSAValue, width: int) -> SSAValue:
        kind = next(k for k in _SHIFTS if isinstance(op, k))
        clamped = self.emit(arith.MinUIOp(count, self.constant(width - 1, count.type)))
        shifted = self.emit(kind(a, clamped))
        if isinstance(op, arith.ShRSIOp):
            return shifted
        return self.select(self.compare("ult", count, width), shifted, self.constant(0, a.type))


def _is_below(count: SSAValue, width: int) -> bool:
    """Whether the op that defines `count` proves it less than `width`, unsigned."""
    op = count.owner
    if not isinstance(op, arith.AndIOp | arith.MinUIOp | arith.RemUIOp):
        return False
    bounds = [op.rhs] if isinstance(op, arith.RemUIOp) else op.operands
    most = width if isinstance(op, arith.RemUIOp) else width - 1
    return any(number is not None and 0 <= number <= most for number in map(integer_constant, bounds))


def _expanded(op: Operation, constants: Constants) -> SSAValue | None:
    e = _Shift(op, constants)
    a, count = op.operands
    if isinstance(e.type, IntegerType):
        width = e.type.width.data
        if width == 1:
            return e.of_bool(op, a, count)
        number = integer_constant(count)
        if number is not None:
            return e.by_constant(op, a, number & ((1 << width) - 1), width)
        return None if _is_below(count, width) else e.guarded(op, a, count, width)
    number = integer_constant(count)
    if (number is not None and 0 <= number < _INDEX_BITS) or _is_below(count, _INDEX_BITS):
        return None
    wide, wide_count = (e.emit(arith.IndexCastOp(v, i64)) for v in (a, count))
    return e.emit(arith.IndexCastOp(e.guarded(op, wide, wide_count, 64), IndexType()))


@dataclass(frozen=True)
class ExpandShifts(ModulePass):
    """Expand shifts such that shifts by the bit width or more are defined: only the sign is left."""

    name = "expand-shifts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_ops(op, _SHIFTS, _expanded)
