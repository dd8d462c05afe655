"""Tables: small stages that others of their group read where data say, so that a block needs all of them.

    %curve = img.stage "curve" (%i) -> ui8 { ... }                      // of 256 points, as a byte has so many values
    %out = img.stage "out" (%x, %y) -> ui8 { ... img.read %curve[%byte] }

A block computes such a table once, in memory of its own, in place of a kernel that stores it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, cast

from tilefuse.analysis.index import AnyIndex, GeneralIndex, Span, expr_span
from tilefuse.analysis.value_range import is_unbounded, value_range
from tilefuse.dialects.img.ops import ReadOp

if TYPE_CHECKING:
    from tilefuse.analysis.model import PipelineModel

MOST = 4096
"""Values of an index; more are no table."""


def table_index(read: ReadOp, dim: int, index: AnyIndex) -> AnyIndex:
    """The index of a read in dimension `dim`, with the values that it has if these are few, whatever the data are."""
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
    return GeneralIndex(index.expr, True, (low, high)) if high - low < MOST else index


def looked_up(model: PipelineModel, members: Collection[int]) -> dict[int, int]:
    """The tables among the members of a group, each with one that reads it."""
    found: dict[int, int] = {}
    for id in members:
        for access in model.nodes[id].hull:
            if access.producer in members and access.looks_up:
                found.setdefault(access.producer, id)
    return found


def of_tables(model: PipelineModel, members: Collection[int]) -> set[int]:
    """The tables of a group, and what is computed for them: at points that the call may not need."""
    found: set[int] = set()
    waiting = list(looked_up(model, members))
    while waiting:
        id = waiting.pop()
        if id not in found:
            found.add(id)
            waiting += [p for p in model.producers(id) if p in members]
    return found
