"""Hoisting of row invariants: operations independent of x are computed before the loop over columns.

Compilers do that themselves, but for divisions: they keep them where they are, in case nothing runs that would divide,
and a loop with a division of integers is not vectorised. Divisors of indices are extents of pictures here, which have
a point. GCC hoists selects after it has looked for vectors, and takes no loop with one whose condition is the same for
all columns: saturating casts are such. So all that cannot fail is moved.
"""

from __future__ import annotations

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation

from tilefuse.dialects.img.ops import ReadOp, YieldOp

_ARITHMETIC = (
    arith.ConstantOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp, arith.RemSIOp,
    arith.RemUIOp, arith.DivUIOp, arith.FloorDivSIOp, arith.SelectOp, memref.DimOp,
)  # fmt: skip
_MAY_FAIL = (
    arith.DivSIOp, arith.DivUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp, arith.RemSIOp,
    arith.RemUIOp,
)  # fmt: skip


def hoist_invariants(block: Block) -> None:
    """Move arithmetic that does not depend on the column in front of each loop marked `kernel.simd`."""
    for loop in [op for op in block.walk() if isinstance(op, scf.ForOp) and "kernel.simd" in op.attributes]:
        outside = loop.parent_block()
        assert outside is not None
        for op in list(loop.body.block.ops):
            if _may_move(op) and not any(_inside(value.owner, loop) for value in op.operands):
                op.detach()
                outside.insert_op_before(op, loop)


def _may_move(op: Operation) -> bool:
    if isinstance(op, _ARITHMETIC) and isinstance(op.results[0].type, IndexType):
        return True
    return op.name.startswith(("arith.", "math.")) and not isinstance(op, _MAY_FAIL)


def may_fail(op: Operation) -> bool:
    """Whether an operation of a stage has an effect, or no result for some operands."""
    plain = op.name.startswith(("arith.", "math.")) or isinstance(op, ReadOp | YieldOp)
    return not plain or isinstance(op, _MAY_FAIL)


def _inside(owner: Operation | Block, loop: scf.ForOp) -> bool:
    return owner is loop.body.block or (isinstance(owner, Operation) and owner.parent_block() is loop.body.block)
