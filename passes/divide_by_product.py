"""`divide-by-product`: replace a 16-bit division of a small number by a constant with the upper half of a product.

    %s = arith.addi %ab, %c : i16      (three bytes: at most 765)
    %q = arith.divui %s, 3 : i16                                =>    %p, %q = arith.mului_extended %s, 21846 : i16

For arbitrary 16-bit numbers compilers use such a product and a shift. For sums of pixels the product alone is exact,
and vectors have an instruction for it: the error of `65536 / 3` rounded up, times the largest number, must be less than
65536. For CPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.dialects.constants import integer_constant
from tilefuse.passes.expansion import Constants, Expansion, expand_ops
from tilefuse.passes.widen_accesses import greatest_unsigned

BITS = 16
"""Width of the divisions: vectors have an upper half of a product for few other widths."""


@dataclass(frozen=True)
class DivideByProduct(ModulePass):
    """Replace divisions of provably small numbers by the upper half of a product."""

    name = "divide-by-product"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_ops(op, (arith.DivUIOp,), _divided)


def _divided(op: Operation, constants: Constants) -> SSAValue | None:
    assert isinstance(op, arith.DivUIOp)
    number, divisor = op.result.type, integer_constant(op.rhs)
    if number != IntegerType(BITS) or divisor is None or divisor < 2 or divisor & (divisor - 1) == 0:
        return None
    factor = (1 << BITS) // divisor + 1
    if (factor * divisor - (1 << BITS)) * greatest_unsigned(op.lhs, IntegerType(BITS)) >= 1 << BITS:
        return None
    e = Expansion(op, constants)
    product = arith.MulUIExtendedOp(op.lhs, e.constant(factor))
    e.emit(product)
    return product.high
