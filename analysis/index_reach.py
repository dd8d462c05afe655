"""How far the arithmetic of indices goes in a call: what says whether 32 bits hold it.

`img.read %table[(%x * 1103515245) mod 251]` stays inside of a small table, and what it takes the remainder of does not
fit 32 bits from x = 2 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineConstantExpr, AffineExpr, AffineMap

from tilefuse.analysis.index import Span, expr_span
from tilefuse.dialects.img.ops import ReadOp, StageOp

OVERHANG = 1 << 12
"""Coordinates outside of what is needed, at each side, that tiles compute with."""
SMALL_FACTOR, NEAR = 1 << 11, 1 << 18
"""Indices whose constants are smaller, of coordinates that are, fit 32 bits."""


def index_reach(stage: StageOp, spans: Sequence[Span]) -> int:
    """The greatest magnitude that any part of an index of the stage's reads has, about.

    `spans`: (first, last) coordinate of the stage in each dimension. Indices that are loaded or computed count as 0:
    what they are is not known, and their type limits them.
    """
    wide = [(low - OVERHANG, high + OVERHANG) for low, high in spans]
    near = max((abs(c) for span in wide for c in span), default=0) < NEAR
    dims: dict[SSAValue, Span] = dict(zip(stage.body.block.args, wide, strict=True))
    farthest = 0
    for op in stage.body.block.ops:
        if isinstance(op, ReadOp) and not (near and _largest_constant(op.map.data) < SMALL_FACTOR):
            of = [dims.get(v, (0, 0)) for v in op.indices]
            for expr in op.map.data.results:
                farthest = max(farthest, _farthest(expr, of))
    return farthest


@lru_cache(maxsize=1024)
def _largest_constant(map: AffineMap) -> int:
    parts = (e for result in map.results for e in result.dfs())
    return max((abs(e.value) for e in parts if isinstance(e, AffineConstantExpr)), default=0)


def _farthest(expr: AffineExpr, spans: Sequence[Span]) -> int:
    low, high = cast(Span, expr_span(expr, spans))  # numbers in, numbers out
    here = max(abs(low), abs(high))
    if isinstance(expr, AffineBinaryOpExpr):
        return max(here, _farthest(expr.lhs, spans), _farthest(expr.rhs, spans))
    return here
