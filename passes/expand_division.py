"""`expand-division`: expand rounding divisions to plain arith ops that are defined for every operand.

`img.div` and `img.mod` are Halide's: `0 <= a % b < |b|` and `a == a / b * b + a % b`; division and mod by
zero give 0 and `INT_MIN / -1` wraps. `arith.floordivsi` and `arith.ceildivsi` get the same answers in those
two corners. No `divsi` or `remsi` that this pass writes has a zero divisor, nor -1 where that could overflow.

    %q = arith.floordivsi %a, %c3 : index
      =>
    %t = arith.divsi %a, %c3 : index
    %r = arith.remsi %a, %c3 : index
    %n = arith.cmpi slt, %r, %c0 : index
    %d = arith.addi %t, %cm1 : index
    %q = arith.select %n, %d, %t : index

A constant power of two becomes a shift or a mask. Divisions of vectors stay: arith compares no vectors here.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.dialects.constants import integer_constant, log2_exact
from tilefuse.dialects.img.ops import DivOp, ModOp
from tilefuse.passes.expansion import Constants, Expansion, expand_ops


class _Division(Expansion):
    """Emit the operations that replace one division."""

    def shifted_if(self, condition: SSAValue, value: SSAValue, by: int) -> SSAValue:
        """Return `value + by` where `condition`, else `value`."""
        return self.select(condition, self.emit(arith.AddiOp(value, self.constant(by))), value)

    def negated(self, a: SSAValue) -> SSAValue:
        return self.emit(arith.SubiOp(self.constant(0), a))

    # --- constant divisors

    def floor_by_constant(self, a: SSAValue, c: int) -> SSAValue:
        """Return floor(a / c)."""
        if (simple := self._by_zero_or_one(a, c)) is not None:
            return simple
        if (k := log2_exact(c)) is not None:
            return self.emit(arith.ShRSIOp(a, self.constant(k)))
        # Truncation rounds up where the exact quotient is negative, that is, where the signs differ.
        wrong = self.compare("slt" if c > 0 else "sgt", self.emit(arith.RemSIOp(a, self.constant(c))), 0)
        return self.shifted_if(wrong, self.emit(arith.DivSIOp(a, self.constant(c))), -1)

    def ceil_by_constant(self, a: SSAValue, c: int) -> SSAValue:
        """Return ceil(a / c)."""
        if (simple := self._by_zero_or_one(a, c)) is not None:
            return simple
        wrong = self.compare("sgt" if c > 0 else "slt", self.emit(arith.RemSIOp(a, self.constant(c))), 0)
        return self.shifted_if(wrong, self.emit(arith.DivSIOp(a, self.constant(c))), 1)

    def _by_zero_or_one(self, a: SSAValue, c: int) -> SSAValue | None:
        match c:
            case 0:
                return self.constant(0)
            case 1:
                return a
            case -1:
                return self.negated(a)
        return None

    def euclid_by_constant(self, a: SSAValue, c: int) -> SSAValue:
        """Return a / c with a remainder that is never negative."""
        if c >= 0:
            return self.floor_by_constant(a, c)
        # c = INT_MIN has no negation, but its magnitude is a power of two.
        if (k := log2_exact(-c)) is not None and k > 0:
            return self.negated(self.emit(arith.ShRSIOp(a, self.constant(k))))
        return self.negated(self.floor_by_constant(a, -c))

    def euclid_mod_by_constant(self, a: SSAValue, c: int) -> SSAValue:
        """Return the remainder that is never negative."""
        if c in (0, 1, -1):
            return self.constant(0)
        if log2_exact(abs(c)) is not None:
            return self.emit(arith.AndIOp(a, self.constant(abs(c) - 1)))
        rest = self.emit(arith.RemSIOp(a, self.constant(abs(c))))
        return self.shifted_if(self.compare("slt", rest, 0), rest, abs(c))

    def unsigned_by_constant(self, a: SSAValue, c: int, mod: bool) -> SSAValue:
        """Return a / c or a % c of unsigned integers."""
        assert isinstance(self.type, IntegerType)
        magnitude = c & ((1 << self.type.width.data) - 1)
        if magnitude == 0 or (magnitude == 1 and mod):
            return self.constant(0)
        if magnitude == 1:
            return a
        if (k := log2_exact(magnitude)) is not None:
            # The mask of the highest power is the largest signed integer, so it needs no wrapping.
            return self.emit(
                arith.AndIOp(a, self.constant(magnitude - 1)) if mod else arith.ShRUIOp(a, self.constant(k))
            )
        return self.emit((arith.RemUIOp if mod else arith.DivUIOp)(a, self.constant(c)))

    # --- divisors known only at run time

    def safe_signed(self, b: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Return (b is 0, b is -1, b with 1 in place of both)."""
        zero, minus = self.compare("eq", b, 0), self.compare("eq", b, -1)
        either = self.emit(arith.OrIOp(zero, minus))
        return zero, minus, self.select(either, self.constant(1), b)

    def corners(self, a: SSAValue, zero: SSAValue, minus: SSAValue, quotient: SSAValue) -> SSAValue:
        """Return `quotient`, but 0 where the divisor is 0 and the wrapped -a where it is -1."""
        return self.select(zero, self.constant(0), self.select(minus, self.negated(a), quotient))

    def euclid(self, a: SSAValue, b: SSAValue) -> SSAValue:
        zero, minus, safe = self.safe_signed(b)
        quotient = self.emit(arith.DivSIOp(a, safe))
        negative = self.compare("slt", self.emit(arith.RemSIOp(a, safe)), 0)
        step = self.select(self.compare("sgt", safe, 0), self.constant(-1), self.constant(1))
        away = self.emit(arith.AddiOp(quotient, step))
        return self.corners(a, zero, minus, self.select(negative, away, quotient))

    def euclid_mod(self, a: SSAValue, b: SSAValue) -> SSAValue:
        # The remainder by 1 is 0, which is also the answer for 0 and -1.
        _, _, safe = self.safe_signed(b)
        rest = self.emit(arith.RemSIOp(a, safe))
        # |INT_MIN| wraps to INT_MIN, and the sum wraps back.
        size = self.select(self.compare("slt", safe, 0), self.negated(safe), safe)
        return self.select(self.compare("slt", rest, 0), self.emit(arith.AddiOp(rest, size)), rest)

    def rounded(self, a: SSAValue, b: SSAValue, up: bool) -> SSAValue:
        """Return floor(a / b), or with `up` ceil(a / b)."""
        zero, minus, safe = self.safe_signed(b)
        quotient = self.emit(arith.DivSIOp(a, safe))
        rest = self.emit(arith.RemSIOp(a, safe))
        inexact = self.compare("ne", rest, 0)
        signs = self.compare("sge" if up else "slt", self.emit(arith.XOrIOp(rest, safe)), 0)
        wrong = self.emit(arith.AndIOp(inexact, signs))
        return self.corners(a, zero, minus, self.shifted_if(wrong, quotient, 1 if up else -1))

    def unsigned(self, a: SSAValue, b: SSAValue, mod: bool) -> SSAValue:
        zero = self.compare("eq", b, 0)
        safe = self.select(zero, self.constant(1), b)
        if mod:
            return self.emit(arith.RemUIOp(a, safe))
        return self.select(zero, self.constant(0), self.emit(arith.DivUIOp(a, safe)))


def _expanded(op: Operation, constants: Constants) -> SSAValue:
    e = _Division(op, constants)
    a, b = op.operands
    c = integer_constant(b)
    match op:
        case DivOp() | ModOp():
            mod = isinstance(op, ModOp)
            assert isinstance(e.type, IntegerType)
            if e.type.width.data == 1:
                # Both signednesses agree on bools: 1 / 1 wraps to 1, all else gives 0.
                return e.constant(0) if mod else e.emit(arith.AndIOp(a, b))
            if op.signed is None:
                return e.unsigned(a, b, mod) if c is None else e.unsigned_by_constant(a, c, mod)
            if mod:
                return e.euclid_mod(a, b) if c is None else e.euclid_mod_by_constant(a, c)
            return e.euclid(a, b) if c is None else e.euclid_by_constant(a, c)
        case arith.FloorDivSIOp():
            return e.rounded(a, b, up=False) if c is None else e.floor_by_constant(a, c)
    return e.rounded(a, b, up=True) if c is None else e.ceil_by_constant(a, c)


_DIVISIONS = (DivOp, ModOp, arith.FloorDivSIOp, arith.CeilDivSIOp)


@dataclass(frozen=True)
class ExpandDivision(ModulePass):
    """Expand Halide's integer divisions and rounding divisions to arith ops that are never undefined."""

    name = "expand-division"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_ops(op, _DIVISIONS, _expanded)
