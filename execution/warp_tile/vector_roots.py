"""Vectorised square roots of f32 at several points of a thread.

A correctly rounded root is a short sequence for most numbers and a long one for the rest. Several roots at a time
need one branch between the two, and their sequences overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import math, vector
from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.ir import Block, Operation, SSAValue

from tilefuse.execution.warp_tile import pairs
from tilefuse.lowering.emit import Emitter

WIDEST_VECTOR = 4
"""Lanes of the largest vector of f32."""


def is_vector_root(op: Operation) -> bool:
    """Whether a root is cheaper in a vector."""
    return isinstance(op, math.SqrtOp) and op.result.type == f32


def has_vector_roots(block: Block) -> bool:
    """Whether a straight-line body has vectorisable roots."""
    return any(is_vector_root(op) for op in block.ops)


def vector_roots(e: Emitter, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the square roots of f32 scalars, in vectors of two or four; a left-over scalar alone."""
    found: list[SSAValue] = []
    while rest := arguments[len(found) :]:
        lanes = max(n for n in (1, 2, WIDEST_VECTOR) if n <= len(rest))
        if lanes == 1:
            found.append(e.op(math.SqrtOp(rest[0])))
            continue
        together = math.SqrtOp(pairs.together(e, rest[:lanes]))
        together.attributes["kernel.converged"] = UnitAttr()
        roots = e.op(together)
        found += [e.op(vector.ExtractOp(roots, [v], f32)) for v in range(lanes)]
    return found
