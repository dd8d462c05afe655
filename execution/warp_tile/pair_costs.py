"""Costs of stages whose points can be computed two to a register (`pack-subwords`), for the search."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.analysis.index import Index, Span
from tilefuse.analysis.model import Node, PipelineModel
from tilefuse.dialects.img.ops import GroupOp, ReadOp, StageOp, YieldOp
from tilefuse.dialects.img.types import storage_type
from tilefuse.execution.warp_tile.subwords import HALF_RATE, of_type, pair_slots, pairs_pay, subword_intervals


def pair_instructions(model: PipelineModel) -> Mapping[int, float]:
    """Map the stages that are cheaper two points to a register, by node, to their thread instructions per point."""
    return model.once(_pair_instructions)


def _pair_instructions(model: PipelineModel) -> dict[int, float]:
    spans: dict[SSAValue, Span] = {}  # of functions of 8 and 16 bits
    found: dict[int, float] = {}
    for node in model.nodes:
        for function, type in zip(node.op.results, node.storage, strict=True):
            if (span := of_type(type)) is not None:
                spans[function] = span
        if isinstance(node.op, StageOp) and (cost := _cost(node.op, node, spans)) is not None:
            found[node.id] = cost
    return found


def _span(function: SSAValue, spans: Mapping[SSAValue, Span]) -> Span | None:
    """Return the interval of the values read of a function, through boundaries and groups."""
    base, boundaries = behind_boundaries(function)
    if isinstance(group := base.owner, GroupOp):
        return _span(group.yield_op.values[group.funcs.index(base)], spans)
    span = spans.get(base)
    if span is not None and any(b.exterior is not None for b in boundaries):
        return of_type(storage_type(function.type.element)) or span  # type: ignore[attr-defined]
    return span


def _cost(op: StageOp, node: Node, spans: dict[SSAValue, Span]) -> float | None:
    """Return the instructions per point of a stage in pairs, if they pay, and add the intervals of its functions."""

    def read(inner: Operation) -> Span | None:
        return _span(inner.source, spans) if isinstance(inner, ReadOp) else None

    block = op.body.block
    if any(f not in spans for f in op.funcs) or (found := subword_intervals(block, read)) is None:
        return None
    last = block.last_op
    assert isinstance(last, YieldOp)
    spans.update({f: found[v] for f, v in zip(op.funcs, last.values, strict=True) if v in found})
    if not pairs_pay(block, found):
        return None
    costs = (
        pair_slots(o, found) for o in block.ops if o.results and o.results[0] in found and not isinstance(o, ReadOp)
    )
    return (sum(costs) + HALF_RATE * _joined_rows(node)) / 2


def _joined_rows(node: Node) -> int:
    """Count the producer rows that are read at odd column offsets, where pairs of points must be reassembled."""
    rows = set()
    for a in node.accesses:
        x = a.indices[0] if a.indices else None
        if isinstance(x, Index) and x.offset % 2:
            rows.add((a.producer, a.source, a.indices[1:]))
    return len(rows)
