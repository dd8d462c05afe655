"""Steps of indices: by how much an index of an access grows with the variable of a row's loop."""

from __future__ import annotations

from xdsl.dialects import arith, memref
from xdsl.ir import Block, SSAValue


def step(value: SSAValue, x: SSAValue, known: dict[SSAValue, int | None] | None = None) -> int | None:
    """Step of an index along `x`; None if it is no sum. `known`: steps of values that it shares."""
    known = {} if known is None else known
    if value not in known:
        known[value] = _step_of(value, x, known)
    return known[value]


def _step_of(value: SSAValue, x: SSAValue, known: dict[SSAValue, int | None]) -> int | None:
    if value is x:
        return 1
    op = value.owner
    if isinstance(op, Block) or op.parent is not x.owner:
        return 0
    if isinstance(op, memref.LoadOp):
        return None
    steps = [step(operand, x, known) for operand in op.operands]
    if all(s == 0 for s in steps):
        return 0
    if isinstance(op, arith.AddiOp | arith.SubiOp) and None not in steps:
        a, b = steps
        assert a is not None
        assert b is not None
        return a + b if isinstance(op, arith.AddiOp) else a - b
    return None
