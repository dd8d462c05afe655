"""Value sets of data-dependent indices that a byte or a clamp limits to a few values."""

from __future__ import annotations

from typing import cast

from tilefuse.analysis.index import AnyIndex, GeneralIndex, Span, expr_span
from tilefuse.analysis.value_range import is_unbounded, value_range
from tilefuse.dialects.img.ops import ReadOp

MOST_VALUES = 4096
"""Values of an index; more are as good as any."""


def with_values(read: ReadOp, dim: int, index: AnyIndex) -> AnyIndex:
    """Return the index of a read in dimension `dim`, with its possible values if they are few for any data."""
    if not isinstance(index, GeneralIndex) or not index.data_dependent:
        return index
    expr = read.map.data.results[dim]
    spans: list[Span] = []
    for position, value in enumerate(read.indices):
        span = cast(Span, value_range(value, {})) if position in expr.used_dims() else (0, 0)
        if is_unbounded(span) or not all(isinstance(n, int) for n in span):
            return index
        spans.append(span)
    low, high = cast(Span, expr_span(expr, spans))
    return GeneralIndex(index.expr, True, (low, high)) if high - low < MOST_VALUES else index
