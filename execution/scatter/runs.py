"""Row reads of runs of adjacent points, by vectors where aligned."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.access import accesses, coordinates
from tilefuse.analysis.index import Index
from tilefuse.analysis.model import is_temporary
from tilefuse.analysis.strides import static_strides
from tilefuse.dialects.img.ops import BoundaryOp, GroupOp, InputOp, ReadOp, UpdateOp
from tilefuse.dialects.img.types import FuncType, element_bytes

LOAD_BYTES = 16
"""The most that a thread loads at once."""


@dataclass(frozen=True)
class RowRead:
    """A read at the innermost domain coordinate plus a constant, in a row that this coordinate does not change."""

    op: ReadOp
    offset: int
    """The constant."""
    is_vector: bool
    """Whether runs of points are loaded at once."""
    from_coordinate: bool
    """Whether columns lie at multiples of a vector's bytes if their coordinates are multiples; else their distances
    from the first are."""


def row_reads(update: UpdateOp, aligned: Collection[SSAValue], points: int) -> list[RowRead]:
    """Find the row reads; `aligned`: the functions with vector-aligned rows."""
    if not update.domain:
        return []
    of = coordinates(update)
    inner = update.domain[0].coordinate
    found = []
    for access in accesses(update):
        read = access.op
        if isinstance(read.source.owner, BoundaryOp) or read.source in update.currents or not access.indices:
            continue
        x = access.indices[0]
        if not isinstance(x, Index) or x.var != of[inner] or (x.num, x.den) != (1, 1):
            continue
        rows = read.map.data.results[1:]
        if all(_stays(update, value) for e in rows for i, value in enumerate(read.indices) if i in e.used_dims()):
            group = update.parent_op()
            assert isinstance(group, GroupOp)
            temporary = is_temporary(read.source, group)
            placed = read.source in aligned and (temporary or isinstance(read.source.owner, InputOp))
            vector = placed and static_strides(read.source)[0] == 1 and _fits(read.source, points)
            found.append(RowRead(read, x.offset, vector, temporary))
    return found


def _stays(update: UpdateOp, value: SSAValue) -> bool:
    """Whether an index is equal at points that differ only in the innermost coordinate."""
    if value in update.coordinates:
        return value is not update.domain[0].coordinate
    return not isinstance(value.owner, Operation) or value.owner.parent_op() is not update


def _fits(source: SSAValue, points: int) -> bool:
    assert isinstance(source.type, FuncType)
    element = source.type.element
    if isinstance(element, IntegerType) and element.width.data < 8:
        return False
    return points * element_bytes(element) <= LOAD_BYTES


def longest_run(update: UpdateOp) -> int:
    """Return how many points fill a vector of the widest element that is read by rows; 1 if none is."""
    types = [r.op.source.type for r in row_reads(update, (), 1)]
    widest = max((element_bytes(t.element) for t in types if isinstance(t, FuncType)), default=0)
    return LOAD_BYTES // widest if widest else 1
