"""Copies: stages that give a function's values at their own points; construction and recognition."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import ReadOp, StageOp, YieldOp
from tilefuse.dialects.img.types import FuncType


def body_block(rank: int) -> Block:
    """Make the block of a stage's body, with its coordinates and nothing else."""
    block = Block(arg_types=[IndexType()] * rank)
    for d, arg in enumerate(block.args):
        arg.name_hint = letter(d)
    return block


def read_here(func: SSAValue, block: Block) -> ReadOp:
    """Append the read of a function at the coordinates of a body."""
    read = ReadOp(func, list(block.args), AffineMap.identity(len(block.args)))
    block.add_op(read)
    return read


def is_read_here(read: ReadOp, stage: StageOp) -> bool:
    """Whether a read is at the stage's own coordinates, in order."""
    return list(read.indices) == list(stage.body.block.args) and read.map.data == AffineMap.identity(stage.rank)


def copy_stage(name: str, func: SSAValue) -> StageOp:
    """Make a stage that gives the values of a function."""
    assert isinstance(func.type, FuncType)
    block = body_block(func.type.rank.data)
    block.add_op(YieldOp([read_here(func, block).value]))
    return StageOp(name, [func.type.element], Region(block))


def copied_read(stage: StageOp) -> ReadOp | None:
    """Return the one read of a stage that only copies a function; None for any other stage."""
    read, *rest = stage.body.block.ops
    if not isinstance(read, ReadOp) or len(rest) != 1 or list(stage.yield_op.values) != [read.value]:
        return None
    return read if is_read_here(read, stage) else None
