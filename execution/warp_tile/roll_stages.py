"""`roll-stages`: roll repeated stages into a loop over tiles (level 4).

Steps in time, say, are the same operations again and again, each reading the tile that the one before made. Written
out they are long code, which does not stay in the instruction cache; so

    %a1 = warp.neighbours %a0    %b1 = warp.map { ... warp.at %a1 ... }
    %a2 = warp.neighbours %b1    %b2 = warp.map { ... warp.at %a2 ... }
    %a3 = ...
      =>
    %b = scf.for %k = %c0 to %c3 step %c1 iter_args(%t = %a0) -> (!warp.tile<...>) {
      %a = warp.neighbours %t
      %b = warp.map { ... warp.at %a ... }
      scf.yield %b
    }

Any number of operations may repeat, and any number of tiles be carried, also over several iterations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i1
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.dialects.options import check_numbers
from tilefuse.dialects.warp import AtOp, MapOp, NeighboursOp, WarpYieldOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.execution.warp_tile.cost import ROLLED_FROM
from tilefuse.execution.warp_tile.repeats import Carried, Repeat, find_repeat, repeat_of, tile_uses
from tilefuse.execution.warp_tile.schedule import is_tile_op, layout_of


@dataclass(frozen=True)
class RollStages(ModulePass):
    """Roll repeated sequences of tile operations into loops."""

    name = "roll-stages"

    min_repetitions: int = 3
    """Least number of repetitions for a loop."""
    min_instructions: int = ROLLED_FROM
    """Least number of instructions per lane in the unrolled repetitions; shorter code is faster unrolled."""
    unroll: int = 2
    """Unroll factor of the loop, if there are at least twice as many repetitions; the rest follows the loop."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_numbers(self, min_repetitions=2, min_instructions=0, unroll=1)
        for function in list(op.body.block.ops):
            if isinstance(function, func.FuncOp) and function.body.blocks:
                self._roll(function.body.block)

    def _roll(self, block: Block) -> None:
        while True:
            ops = [op for op in block.ops if is_tile_op(op)]
            found = find_repeat(ops, self.min_repetitions)
            if found is None or unrolled_instructions(ops[found.first : found.end]) < self.min_instructions:
                return
            if self.unroll > 1 and found.count >= 2 * self.unroll:
                found = repeat_of(ops, found.first, found.period * self.unroll, found.count // self.unroll) or found
            _to_loop(block, ops, found)


def unrolled_instructions(ops: Sequence[Operation]) -> int:
    """Estimate the instructions per lane of operations on tiles."""
    return sum(_instructions(op) for op in ops)


def _instructions(op: Operation) -> int:
    match op:
        case MapOp():
            # coordinates and what is compared with them cost nothing in a tile inside
            each = sum(
                not isinstance(o, AtOp | WarpYieldOp | arith.ConstantOp) and o.results[0].type not in (IndexType(), i1)
                for o in op.body.block.ops
            )
            return each * _registers(op.layout, op.layout.height)
        case NeighboursOp():
            layout = layout_of(op.wider)
            return sum(layout.reach) * _registers(layout, layout.height) // len(layout.starts)
        case _:
            return 0


def _registers(layout: Layout, rows: int) -> int:
    """Return the registers of a lane's own columns of `rows` rows."""
    return rows * len(layout.starts) * math.prod(b - a for a, b in layout.depth)


def _to_loop(block: Block, ops: Sequence[Operation], run: Repeat) -> None:
    """Move the first repetition into a loop, and erase the others."""
    body_ops = ops[run.first : run.first + run.period]
    first = [r for c in run.carried for r in c.inits[:1]]
    body = Block(arg_types=[IndexType(), *(tile.type for tile in first)])
    args: dict[Carried, SSAValue] = dict(zip(run.carried, body.args[1:], strict=True))
    body.args[0].name_hint = "k"
    following = body_ops[-1].next_op
    assert following is not None
    places = [place for op in body_ops for place in tile_uses(op)]
    for (user, i), use in zip(places, run.uses, strict=True):
        if use is not None:
            user.operands[i] = args[use]
    for op, next_one in zip(body_ops, ops[run.first + run.period :], strict=False):
        for result, named in zip(op.results, next_one.results, strict=True):
            result.name_hint = named.name_hint
        op.detach()
        body.add_op(op)
    for c, arg in args.items():
        arg.name_hint = body_ops[c.op].results[c.result].name_hint
    body.add_op(
        scf.YieldOp(*(args[c.nearer] if c.distance > 1 else body_ops[c.op].results[c.result] for c in run.carried))
    )
    low, high, step = (arith.ConstantOp(IntegerAttr(n, IndexType())) for n in (0, run.count, 1))
    loop = scf.ForOp(low, high, step, first, body)
    for new in (low, high, step, loop):
        block.insert_op_before(new, following)
    for c, result in zip(run.carried, loop.results, strict=True):
        last = ops[run.first + (run.count - c.distance) * run.period + c.op].results[c.result]
        result.name_hint = last.name_hint
        last.replace_uses_with_if(result, lambda use: not _is_within(use.operation, loop))
    for op in reversed(ops[run.first + run.period : run.end]):
        op.detach()
        op.erase()


def _is_within(op: Operation, around: Operation) -> bool:
    at: Operation | None = op
    while at is not None and at is not around:
        at = at.parent_op()
    return at is around
