"""Length of a kernel's code: estimated unrolled operations of a thread.

Code grows with what a thread computes, and a compiler takes time and memory for all of it.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import BlockArgument

from tilefuse.dialects.img.ops import ReadOp, StageOp, YieldOp

MOST_WRITTEN_OUT = 12000
"""Operations of a thread. A compiler takes ten to twenty seconds for so many, and longer than in proportion for more;
schedules that `tile` chooses have about half as many at most."""

_IN_REGISTERS = 128
"""Points of a stage that a thread's registers hold together. A compiler takes longer for each of more: it spills."""


_ADDRESS = 9
"""Operations for the address of a read at an index computed from data: coordinates are held inside of the picture."""


def operations(stage: StageOp) -> tuple[str, ...]:
    """Return the operation names of a stage that become code; an arbitrary read counts its address, too."""
    names: list[str] = []
    for op in stage.body.block.ops:
        if isinstance(op, arith.ConstantOp | YieldOp):
            continue
        names += [op.name] * (1 + _ADDRESS if isinstance(op, ReadOp) and _is_anywhere(op) else 1)
    return tuple(names)


def _is_anywhere(read: ReadOp) -> bool:
    return any(not isinstance(index, BlockArgument) for index in read.indices)


def written(operations: int, points: int) -> int:
    """Return the operations that count at each of the points that a thread computes together."""
    return operations * points * max(_IN_REGISTERS, points) // _IN_REGISTERS
