"""`mask-selects`: choose between two booleans by operations on bits.

    %r = arith.select %c, %a, %b : i1        =>        %d = arith.xori %a, %b : i1
                                                       %m = arith.andi %c, %d : i1
                                                       %r = arith.xori %m, %b : i1

GCC has masks for all of these, but none that a mask chooses: a loop with such a select is not vectorised. For CPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.passes.expansion import Constants, Expansion, expand_ops


def _chosen(op: Operation, constants: Constants) -> SSAValue | None:
    assert isinstance(op, arith.SelectOp)
    if op.result.type != i1 or op.cond.type != i1:
        return None
    e = Expansion(op, constants)
    differ = e.emit(arith.XOrIOp(op.lhs, op.rhs))
    return e.emit(arith.XOrIOp(e.emit(arith.AndIOp(op.cond, differ)), op.rhs))


@dataclass(frozen=True)
class MaskSelects(ModulePass):
    """Choose between two booleans by operations on bits."""

    name = "mask-selects"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_ops(op, (arith.SelectOp,), _chosen)
