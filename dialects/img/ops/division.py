"""Integer division as Halide defines it, and its canonical form: constants folded, arith ops where they are equal.

    img.div signed %a, %c3 : i32    =>  arith.floordivsi %a, %c3 : i32
    img.div signed %a, %c4 : i32    =>  arith.shrsi %a, %c2 : i32
    img.mod signed %a, %c4 : i32    =>  arith.andi %a, %c3 : i32
    img.mod %a, %c3 : i32           =>  arith.remui %a, %c3 : i32

`img.mod signed` by a positive constant that is no power of two stays: no arith op is it.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, UnitAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.traits import (
    HasCanonicalizationPatternsTrait,
    Pure,
)

from tilefuse.dialects.constants import integer_constant, log2_exact


class _CanonicalizeDivision(HasCanonicalizationPatternsTrait):
    @classmethod
    def get_canonicalization_patterns(cls):  # type: ignore[no-untyped-def]
        return DIVISION_PATTERNS


class _DivisionOp(IRDLOperation):
    """Common part of `img.div` and `img.mod`."""

    T: ClassVar = VarConstraint("T", base(IntegerType))

    lhs = operand_def(T)
    rhs = operand_def(T)
    signed = opt_prop_def(UnitAttr)
    result = result_def(T)

    traits = traits_def(Pure(), _CanonicalizeDivision())
    assembly_format = "(`signed` $signed^)? $lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, signed: bool):
        super().__init__(
            operands=[lhs, rhs],
            properties={"signed": UnitAttr() if signed else None},
            result_types=[lhs.type],
        )


@irdl_op_definition
class DivOp(_DivisionOp):
    """Halide's integer division: `a == a / b * b + a % b` with `0 <= a % b < |b|`; by zero it gives 0."""

    name = "img.div"


@irdl_op_definition
class ModOp(_DivisionOp):
    """Halide's integer remainder: never negative; by zero it gives 0."""

    name = "img.mod"


def halide_divmod(a: int, b: int) -> tuple[int, int]:
    """Compute quotient and remainder of exact integers: `0 <= a % b < |b|`, and (0, 0) for b = 0."""
    if b == 0:
        return 0, 0
    rest = a % abs(b)
    return (a - rest) // b, rest


def _width(op: DivOp | ModOp) -> int:
    assert isinstance(op.result.type, IntegerType)
    return int(op.result.type.width.data)


def _number(value: SSAValue, op: DivOp | ModOp) -> int | None:
    """Return the constant as `op` sees it, signed or unsigned."""
    number = integer_constant(value)
    if number is not None and op.signed is None:
        number &= (1 << _width(op)) - 1
    return number


def _constant(number: int, op: DivOp | ModOp) -> arith.ConstantOp:
    """Return `number`, wrapped to the type of `op`."""
    half = 1 << (_width(op) - 1)
    wrapped = ((number + half) & (2 * half - 1)) - half
    return arith.ConstantOp(IntegerAttr(wrapped, op.result.type))


class FoldConstants(RewritePattern):
    """Both operands are constants, or the dividend is 0, or the divisor is 0, 1 or -1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DivOp | ModOp, rewriter: PatternRewriter) -> None:
        dividend, divisor = _number(op.lhs, op), _number(op.rhs, op)
        mod = isinstance(op, ModOp)
        if dividend is not None and divisor is not None:
            rewriter.replace(op, _constant(halide_divmod(dividend, divisor)[mod], op))
        elif dividend == 0 or divisor == 0 or (mod and divisor in (1, -1)):
            rewriter.replace(op, _constant(0, op))
        elif divisor == 1:
            rewriter.replace(op, (), (op.lhs,))
        elif divisor == -1:
            zero = _constant(0, op)
            rewriter.replace(op, [zero, arith.SubiOp(zero.result, op.lhs)])


class DivideByPositiveConstant(RewritePattern):
    """A division or mod by a constant above 1 that an arith op says exactly."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DivOp | ModOp, rewriter: PatternRewriter) -> None:
        divisor = _number(op.rhs, op)
        if divisor is None or divisor <= 1:
            return
        mod, signed = isinstance(op, ModOp), op.signed is not None
        if (k := log2_exact(divisor)) is not None:
            amount = _constant(divisor - 1 if mod else k, op)
            amount.result.name_hint = f"c{divisor - 1 if mod else k}"
            kind = arith.AndIOp if mod else arith.ShRSIOp if signed else arith.ShRUIOp
            rewriter.replace(op, [amount, kind(op.lhs, amount.result)])
        elif not signed:
            rewriter.replace(op, (arith.RemUIOp if mod else arith.DivUIOp)(op.lhs, op.rhs))
        elif not mod:
            rewriter.replace(op, arith.FloorDivSIOp(op.lhs, op.rhs))


DIVISION_PATTERNS: tuple[RewritePattern, ...] = (FoldConstants(), DivideByPositiveConstant())
