"""`mask-selects`: select between booleans by bit operations, in loops that compilers vectorise.

    %r = arith.select %c, %a, %b : i1        =>        %d = arith.xori %a, %b : i1
                                                       %m = arith.andi %c, %d : i1
                                                       %r = arith.xori %m, %b : i1

GCC has masks for all of these operations, but no select between masks: it does not vectorise a loop with such a select.
A condition that is equal for all columns is no mask, so its select is kept. For CPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.passes import ModulePass

from tilefuse.analysis.dependence import depending
from tilefuse.passes.expansion import Expansion
from tilefuse.passes.row_parts import vector_loops


@dataclass(frozen=True)
class MaskSelects(ModulePass):
    """Replace selects between booleans by bit operations, in vectorised loops."""

    name = "mask-selects"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop, _ in vector_loops(op):
            _mask_selects(loop)


def _mask_selects(loop: scf.ForOp) -> None:
    ops = list(loop.body.block.ops)
    if not (selects := [op for op in ops if isinstance(op, arith.SelectOp) and op.result.type == i1 == op.cond.type]):
        return
    of_columns = depending(ops, [loop.body.block.args[0]])
    for select in selects:
        if select.cond in of_columns:
            e = Expansion(select, {})
            differ = e.emit(arith.XOrIOp(select.lhs, select.rhs))
            result = e.emit(arith.XOrIOp(e.emit(arith.AndIOp(select.cond, differ)), select.rhs))
            result.name_hint = select.result.name_hint
            select.result.replace_all_uses_with(result)
            select.detach()
            select.erase()
