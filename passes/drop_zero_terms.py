"""`drop-zero-terms`: remove an initial +0 from sums of floats.

    %a = arith.addf %zero, %p : f32            %b = arith.addf %p, %q : f32
    %b = arith.addf %a, %q : f32         =>    %c = math.fma %b, %third, %zero : f32
    %c = arith.mulf %b, %third : f32

The initial +0 changes a sum only if all other terms are -0: the result is then +0 instead of -0. So the zero is removed
if a term is never -0, such as pixels converted from integers, or if the sign of a zero has no effect. If the sum is
multiplied by a positive number, the zero moves into this product by `fma`: the result is +0 again, and is rounded once,
as the product was. Sums over windows start with 0 in most pipelines. Results are equal bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

_BLIND = (arith.CmpfOp, arith.FPToSIOp, arith.FPToUIOp, math.AbsFOp)
"""Operations to which -0 is +0."""
_INTEGERS = (arith.SIToFPOp, arith.UIToFPOp)
_DEEPEST = 8
"""Operations above a value that are looked at."""


@dataclass(frozen=True)
class DropZeroTerms(ModulePass):
    """Drop +0 from sums of floats if no bit of a result changes."""

    name = "drop-zero-terms"

    fma: bool = False
    """Whether the target computes a product and a sum in one instruction."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for add in [o for o in op.walk() if isinstance(o, arith.AddfOp)]:
            if (first := _beside_zero(add)) is not None and (self._is_blind(add) or self._moves_zero(add)):
                block = add.parent
                assert block is not None
                add.result.replace_all_uses_with(first)
                block.erase_op(add)

    @staticmethod
    def _is_blind(add: arith.AddfOp) -> bool:
        """Whether no user can distinguish a sum of +0 from one of -0."""
        if _never_minus_zero(_beside_zero(add)):
            return True
        while (user := _only_user(add.result)) is not None and isinstance(user, arith.AddfOp):
            if _never_minus_zero(user.rhs if user.lhs is add.result else user.lhs):
                return True
            add = user
        return all(_sees_no_sign(use.operation) for use in add.result.uses)

    def _moves_zero(self, add: arith.AddfOp) -> bool:
        """Move the zero to the product of the sum and a positive number, if the product is the sum's only use."""
        zero = add.lhs if _is_zero(add.lhs) else add.rhs
        last: SSAValue = add.result
        while isinstance(user := _only_user(last), arith.AddfOp):
            last = user.result
        if not self.fma or not isinstance(user, arith.MulfOp) or not isinstance(last.type, Float32Type | Float64Type):
            return False
        # a product that goes into a sum is one instruction with it already
        if any(isinstance(use.operation, arith.AddfOp | arith.SubfOp) for use in user.result.uses):
            return False
        factor = user.rhs if user.lhs is last else user.lhs
        number = _number(factor)
        block = user.parent
        if number is None or not number > 0 or block is None:
            return False
        product = math.FmaOp(last, factor, zero)
        product.location = user.location
        product.result.name_hint = user.result.name_hint
        block.insert_op_before(product, user)
        user.result.replace_all_uses_with(product.result)
        block.erase_op(user)
        return True


def _beside_zero(add: arith.AddfOp) -> SSAValue | None:
    """Return the other operand of a sum with +0; None for any other sum."""
    if _is_zero(add.lhs):
        return add.rhs
    return add.lhs if _is_zero(add.rhs) else None


def _number(value: SSAValue | None) -> float | None:
    op = value.owner if value is not None else None
    return op.value.value.data if isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr) else None


def _is_zero(value: SSAValue) -> bool:
    return str(_number(value)) == "0.0"


def _only_user(value: SSAValue) -> Operation | None:
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


def _sees_no_sign(op: Operation) -> bool:
    return isinstance(op, _BLIND) or (isinstance(op, arith.MulfOp) and op.lhs is op.rhs)


def _never_minus_zero(value: SSAValue | None, deep: int = _DEEPEST) -> bool:
    """Whether a value is provably not -0."""
    op = value.owner if value is not None else None
    if deep == 0 or op is None:
        return False
    number = _number(value)
    if number is not None:
        return str(number) != "-0.0"
    if isinstance(op, arith.AddfOp):  # x + -x is +0
        return _never_minus_zero(op.lhs, deep - 1) or _never_minus_zero(op.rhs, deep - 1)
    if isinstance(op, arith.SelectOp):
        return _never_minus_zero(op.lhs, deep - 1) and _never_minus_zero(op.rhs, deep - 1)
    if isinstance(op, arith.ExtFOp | math.SqrtOp):
        return _never_minus_zero(op.operands[0], deep - 1)
    return isinstance(op, (*_INTEGERS, math.AbsFOp)) or (isinstance(op, arith.MulfOp) and op.lhs is op.rhs)
