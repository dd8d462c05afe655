"""`compare-selects`: move a comparison into a select's operands where one operand is constant.

    %s = arith.select %c, %one, %v : f32                    %r = arith.cmpf oeq, %v, %one : f32
    %r = arith.cmpf oeq, %s, %one : f32             =>      %r_1 = arith.ori %c, %r : i1

GCC compiles such a pair (a threshold of a threshold) to jumps, and does not vectorise loops with jumps. For CPUs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, i1
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.passes.expansion import Constants, Expansion, expand_ops

_OF_NUMBERS: tuple[Callable[[float, float], bool], ...] = (
    operator.eq, operator.gt, operator.ge, operator.lt, operator.le, operator.ne,
)  # fmt: skip
"""Predicates 1 to 6 of arith.cmpf, and 8 to 13, which differ in NaN alone."""


def _number(value: SSAValue) -> float | None:
    """Return a constant as a number."""
    if not isinstance(value.owner, arith.ConstantOp) or not isinstance(attr := value.owner.value, FloatAttr):
        return None
    return None if math.isnan(attr.value.data) else float(attr.value.data)


def _compared(op: Operation, constants: Constants) -> SSAValue | None:
    assert isinstance(op, arith.CmpfOp)
    number, chosen = op.predicate.value.data, op.lhs.owner
    limit = _number(op.rhs)
    if limit is None or number % 7 == 0 or number > 13 or not isinstance(chosen, arith.SelectOp):
        return None
    yes, no = _number(chosen.lhs), _number(chosen.rhs)
    if chosen.cond.type != i1 or (yes is None) == (no is None):
        return None
    e = _Select(op, constants)
    if yes is not None:
        return e.one_of(chosen.cond, _OF_NUMBERS[number % 7 - 1](yes, limit), chosen.rhs)
    assert no is not None
    return e.one_of(e.negated(chosen.cond), _OF_NUMBERS[number % 7 - 1](no, limit), chosen.lhs)


class _Select(Expansion):
    """Emit the replacement of one comparison."""

    def negated(self, condition: SSAValue) -> SSAValue:
        return self.emit(arith.XOrIOp(condition, self._true()))

    def one_of(self, condition: SSAValue, result: bool, other: SSAValue) -> SSAValue:
        """Return `result` under the condition, else the comparison of `other`."""
        assert isinstance(self.anchor, arith.CmpfOp)
        compared = self.emit(
            arith.CmpfOp(other, self.anchor.rhs, self.anchor.predicate.value.data, self.anchor.fastmath)
        )
        if result:
            return self.emit(arith.OrIOp(condition, compared))
        return self.emit(arith.AndIOp(self.negated(condition), compared))

    def _true(self) -> SSAValue:
        return self.emit(arith.ConstantOp(IntegerAttr(-1, i1)))


@dataclass(frozen=True)
class CompareSelects(ModulePass):
    """Move a comparison into the operands of a select, if one operand is constant."""

    name = "compare-selects"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_ops(op, (arith.CmpfOp,), _compared)
