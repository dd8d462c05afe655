"""Count the values that several rows of a stage have in common."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.access import coordinates, indices_of
from tilefuse.analysis.index import Index
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.dialects.img.ops import ReadOp, StageOp, YieldOp

_RowValue = tuple[Hashable, int | None]
"""A kind of value, and its row from the stage's own; None if all rows have it in common."""


def row_instructions(stage: StageOp, rows: int) -> float:
    """Count the instructions besides reads per point of a stage, if this many rows are computed in one loop.

    A value that two rows have in common, as the mean along x of a row in both of their windows, is computed once.
    """
    of = coordinates(stage)
    known: dict[SSAValue, _RowValue] = {arg: (arg, None if d != 1 else 0) for arg, d in of.items()}
    costs: dict[_RowValue, float] = {}
    for op in stage.body.block.ops:
        if isinstance(op, YieldOp):
            continue
        kind, row = _read(op, of) if isinstance(op, ReadOp) else _computed(op, known)
        for number, result in enumerate(op.results):
            known[result] = (kind, number), row
        if not isinstance(op, ReadOp):
            costs[kind, row] = max(instruction_cost(op), costs.get((kind, row), 0.0))
    each = {(kind, None if row is None else row + r): c for (kind, row), c in costs.items() for r in range(rows)}
    return sum(each.values()) / rows


def _read(op: ReadOp, of: dict[SSAValue, int]) -> _RowValue:
    indices = indices_of(op, of)
    if not all(isinstance(i, Index) for i in indices):
        return op, 0
    rows = [d for d, i in enumerate(indices) if isinstance(i, Index) and i.var == 1]
    if not rows:
        return (op.source, indices), None
    y = indices[rows[0]]
    if len(rows) > 1 or not isinstance(y, Index) or (y.num, y.den) != (1, 1):
        return op, 0
    return (op.source, rows[0], *indices[: rows[0]], *indices[rows[0] + 1 :]), y.offset


def _computed(op: Operation, known: Mapping[SSAValue, _RowValue]) -> _RowValue:
    """Return the value of an op; two rows share it if they share its operands."""
    if op.regions:
        return op, 0
    operands = [known.get(value, (value, None)) for value in op.operands]
    first = min((row for _, row in operands if row is not None), default=None)
    relative = tuple((kind, None if row is None or first is None else row - first) for kind, row in operands)
    return (op.name, frozenset(op.properties.items()), relative), first
