"""How long the code of a kernel becomes: the operations that are written out for a thread, about.

Code grows with what a thread computes, and a compiler takes time and memory for all of it.
"""

from __future__ import annotations

from xdsl.dialects import arith

from tilefuse.dialects.img.ops import StageOp, YieldOp

MOST_WRITTEN_OUT = 12000
"""Operations of a thread. A compiler takes ten to twenty seconds for so many, and longer than in proportion for more;
schedules that `tile` chooses have about half as many at most."""

_HELD_WELL = 128
"""Points of a stage that a thread's registers hold together. A compiler takes longer for each of more: it spills."""


def operations(stage: StageOp) -> tuple[str, ...]:
    """Names of the operations of a stage that become code."""
    return tuple(op.name for op in stage.body.block.ops if not isinstance(op, arith.ConstantOp | YieldOp))


def written(operations: int, points: int) -> int:
    """Operations that count for so many at each of the points that a thread computes together."""
    return operations * points * max(_HELD_WELL, points) // _HELD_WELL
