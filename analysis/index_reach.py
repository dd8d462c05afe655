"""Bounds of index arithmetic in a call, which decide between 32-bit and 64-bit indices.

`img.read %table[(%x * 1103515245) mod 251]` stays inside of a small table, and what it takes the remainder of does not
fit 32 bits from x = 2 on. So it is with a clamp to numbers beyond them, and with a boundary whose box is as large.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineConstantExpr, AffineExpr, AffineMap

from tilefuse.analysis.access import behind_boundaries, reads
from tilefuse.analysis.bounds import Box, computed_stages, coordinate_spans, spans_of
from tilefuse.analysis.index import Span, expr_span
from tilefuse.analysis.scalars import boundary_box
from tilefuse.analysis.sizes import Sizes
from tilefuse.analysis.value_range import value_ranges
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import Definition, PipelineOp, ReadOp, UpdateOp, WriteOp

OVERHANG = 1 << 12
"""Coordinates outside of what is needed, at each side, that tiles compute with."""
SMALL_FACTOR, NEAR = 1 << 11, 1 << 18
"""Indices whose constants are smaller, of coordinates that are, fit 32 bits."""
FARTHEST_INDEX = 1 << 62
"""Indices are computed in 64 bits at most; a sum of two that are nearer fits."""


def check_reach(pipeline: PipelineOp, needed: Mapping[SSAValue, Box], sizes: Sizes) -> None:
    """Raise PipelineError, at the stage, if a call's indices, or the values behind them, exceed 64 bits.

    `needed`: the boxes of the call, as `required_boxes` has them.
    """
    for stage, box in computed_stages(pipeline, needed):
        if index_reach(stage, spans_of(box), sizes) >= FARTHEST_INDEX:
            raise PipelineError(
                f"stage '{stage.sym_name.data}': in this call indices of its reads, or the boxes of boundaries on "
                "their way, may go beyond 62 bits; clamp what they are computed from to where the picture can be",
                stage,
            )


def index_reach(stage: Definition, spans: Sequence[Span], sizes: Sizes) -> int:
    """Estimate the greatest magnitude of any subexpression of the indices that a stage reads at.

    `spans`: (first, last) coordinate of the stage in each dimension. Indices that are loaded count as 0: what they
    are is not known, and their type limits them.
    """
    # numbers in, numbers out
    known = cast(dict[SSAValue, Span] | None, coordinate_spans(stage, spans, sizes))
    if known is None:  # an empty reduction domain: nothing is computed
        return 0
    dims = {value: (low - OVERHANG, high + OVERHANG) for value, (low, high) in known.items()}
    wide = list(dims.values())
    near = max((abs(c) for span in wide for c in span), default=0) < NEAR
    farthest = 0 if near else max(abs(c) for span in wide for c in span)
    computed = [r for op in stage.body.block.ops for r in op.results if isinstance(r.type, IndexType)]
    if computed:
        dims |= cast(dict[SSAValue, Span], value_ranges(computed, dims, sizes))
        farthest = max([farthest, *(_value_reach(dims[v]) for v in computed if not _is_small(v.owner))])
    touching: list[ReadOp | WriteOp] = [*reads(stage), *([stage.write_op] if isinstance(stage, UpdateOp) else [])]
    for op in touching:
        here = 0
        if not (near and not computed and _largest_constant(op.map.data) < SMALL_FACTOR):
            of = [dims[v] if v in dims else _scalar(v, sizes) for v in op.indices]
            here = max((_farthest(expr, of) for expr in op.map.data.results), default=0)
        through = _boundary_reaches(op.source, sizes) if isinstance(op, ReadOp) else ()
        farthest = max([farthest, here, *(here + reach for reach in through)])
    return farthest


def _value_reach(span: Span) -> int:
    """Return the magnitude of a value before any addition: any 64-bit number may occur and be clamped later."""
    reach = _magnitude(span)
    return min(reach, FARTHEST_INDEX - 1) if -FARTHEST_INDEX * 2 <= span[0] and span[1] < FARTHEST_INDEX * 2 else reach


def _is_small(op: object) -> bool:
    """Whether an index has at most 32 bits by its type."""
    return (
        isinstance(op, arith.IndexCastOp) and isinstance(op.input.type, IntegerType) and op.input.type.width.data <= 32
    )


def _scalar(value: SSAValue, sizes: Sizes) -> Span:
    return cast(Span, value_ranges([value], {}, sizes)[value])


def _magnitude(span: Span) -> int:
    return max(abs(span[0]), abs(span[1]))


def _boundary_reaches(func: SSAValue, sizes: Sizes) -> Iterator[int]:
    """Bound the arithmetic of a read's boundaries: the ends of each box, and twice the extent for mirroring."""
    for op in behind_boundaries(func)[1]:
        for low, high in cast(Mapping[int, Span], boundary_box(op, sizes)).values():
            yield _magnitude((low, high + 1)) + 2 * abs(high - low + 1)


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
