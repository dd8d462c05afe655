"""`shift-inwards`: run a column loop in full vectors, the last of which is shifted left to end with the row.

    scf.for %x = %a to %b {                 %full = (%b - %a) / 16 * 16, and none if there are fewer
      ...                                   scf.for %part = 0 to 2 {
      memref.store %v, %out[%x]      =>       scf.for %x = %part == 0 ? %a : max(%b - 16, %a), or %b if none are left
    } {kernel.simd,                             to %part == 0 ? %a + %full : %b { ... } {kernel.simd}
       kernel.shift_inwards = 16}           }

Compilers run the remaining columns one by one, or by vectors of half the size: up to 63 columns of a row of bytes. Here
the last vector ends with the row, so that some columns are computed twice (Halide's `TailStrategy::ShiftInwards`); the
loop must not read its own stores. Rows of less than a vector are left to the compiler. For CPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.passes.row_parts import stores_at_end

REQUEST = "kernel.shift_inwards"


@dataclass(frozen=True)
class ShiftInwards(ModulePass):
    """Split loops marked `kernel.shift_inwards` into full vectors and a last one that overlaps them."""

    name = "shift-inwards"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [o for o in op.walk() if isinstance(o, scf.ForOp) and REQUEST in o.attributes]:
            lanes = loop.attributes.pop(REQUEST)
            assert isinstance(lanes, IntegerAttr)
            if stores_at_end(loop):
                _FullAndLast(loop, lanes.value.data).emit()


class _FullAndLast:
    """Emit the loop over full vectors around a loop, then the last vector."""

    def __init__(self, loop: scf.ForOp, lanes: int):
        outside = loop.parent
        assert outside is not None
        self.loop, self.lanes, self.outside = loop, lanes, outside

    def emit(self) -> None:
        """Emit both loops."""
        loop, add = self.loop, self._add
        zero, one, two, lanes = (add(arith.ConstantOp(IntegerAttr(n, IndexType()))) for n in (0, 1, 2, self.lanes))
        a, b = loop.lb, loop.ub
        columns = add(arith.MaxSIOp(add(arith.SubiOp(b, a)), zero))
        left = add(arith.RemUIOp(columns, lanes))
        end_of_full = add(arith.SubiOp(add(arith.AddiOp(a, columns)), left))
        some = add(arith.CmpiOp(left, zero, "ne"))
        last = add(arith.SelectOp(some, add(arith.MaxSIOp(add(arith.SubiOp(b, lanes)), a)), b))
        body = Block(arg_types=[IndexType()])
        part = body.args[0]
        part.name_hint = "part"
        around = scf.ForOp(zero, two, one, [], body)
        around.location = loop.location
        self.outside.insert_op_before(around, loop)
        loop.detach()
        second = arith.CmpiOp(part, zero, "ne")
        start, end = arith.SelectOp(second.result, last, a), arith.SelectOp(second.result, b, end_of_full)
        for op in (second, start, end):
            op.location = loop.location
        loop.operands[0], loop.operands[1] = start.result, end.result
        body.add_ops([second, start, end, loop, scf.YieldOp()])

    def _add(self, op: Operation) -> SSAValue:
        op.location = self.loop.location
        self.outside.insert_op_before(op, self.loop)
        return op.results[0]
