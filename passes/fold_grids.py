"""`fold-grids`: launch the blocks of a kernel along x alone (level 4).

    scf.for %by = %c0 to %rows step %c1 {
      scf.for %bx = %c0 to %columns step %c1 {
        ...
      } {kernel.level = "block_x"}
    } {kernel.level = "block_y"}
    =>
    %blocks = arith.muli %rows, %columns : index
    scf.for %block = %c0 to %blocks step %c1 {
      %bx = arith.remui %block, %columns : index
      %by = arith.divui %block, %columns : index
      ...
    } {kernel.level = "block_x"}

A GPU launches at most 65535 blocks along y and z, and 2^31 - 1 along x. The runtime runs this pass for calls that need
more blocks along y or z; kernels of other calls have no divisions. The order of blocks does not change.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.diagnostics import PipelineError

_LEVELS = ("block_x", "block_y", "block_z")


@dataclass(frozen=True)
class FoldGrids(ModulePass):
    """Collapse the block loops of every kernel into one along x."""

    name = "fold-grids"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                outermost = _loop_over_blocks(function.body.block)
                if outermost is not None:
                    _fold(outermost)


def _level(op: Operation) -> str | None:
    level = op.attributes.get("kernel.level")
    return level.data if isinstance(op, scf.ForOp) and isinstance(level, StringAttr) else None


def _loop_over_blocks(block: Block) -> scf.ForOp | None:
    return next((op for op in block.ops if isinstance(op, scf.ForOp) and _level(op) in _LEVELS), None)


def _fold(outermost: scf.ForOp) -> None:
    """Collapse a nest of block loops, unless it is a single one along x.

    Raises PipelineError for loops that do not count blocks from 0.
    """
    nest = [outermost]
    while (inner := _loop_over_blocks(nest[-1].body.block)) is not None:
        nest.append(inner)
    if len(nest) == 1 and _level(outermost) == "block_x":
        return
    for loop in nest:
        if (integer_constant(loop.lb), integer_constant(loop.step)) != (0, 1):
            raise PipelineError("scf.for: a loop over blocks must run from 0 with step 1", loop)
    # what stands between the loops are their bounds
    for loop in nest[:-1]:
        for op in list(loop.body.block.ops):
            if op not in nest and not isinstance(op, scf.YieldOp):
                op.detach()
                Rewriter.insert_op(op, InsertPoint.before(outermost))

    before = InsertPoint.before(outermost)

    def add(op: Operation, at: InsertPoint) -> SSAValue:
        Rewriter.insert_op(op, at)
        return op.results[0]

    counts = [loop.ub for loop in reversed(nest)]  # along x first
    total = counts[0]
    for count in counts[1:]:
        total = add(arith.MuliOp(total, count), before)
    zero, one = (add(arith.ConstantOp(IntegerAttr(n, IndexType())), before) for n in (0, 1))
    block = Block(arg_types=[IndexType()])
    rest: SSAValue = block.args[0]
    rest.name_hint = "block"
    end = InsertPoint.at_end(block)
    for number, loop in enumerate(reversed(nest)):
        place = rest
        if number < len(nest) - 1:
            place = add(arith.RemUIOp(rest, loop.ub), end)
            rest = add(arith.DivUIOp(rest, loop.ub), end)
        if place is not block.args[0]:
            place.name_hint = loop.body.block.args[0].name_hint
        loop.body.block.args[0].replace_all_uses_with(place)
    for op in list(nest[-1].body.block.ops):
        op.detach()
        block.add_op(op)
    folded = scf.ForOp(zero, total, one, [], block)
    folded.attributes["kernel.level"] = StringAttr("block_x")
    Rewriter.insert_op(folded, before)
    outermost.detach()
    outermost.erase()
