"""The table of a block: the elements of the updated functions that it holds, and their numbering."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import SSAValue

from tilefuse.analysis.access import coordinates
from tilefuse.analysis.index import Span, expr_span
from tilefuse.analysis.value_range import is_unbounded, value_range
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import UpdateOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.targets.limits import STATIC_SHARED_LIMIT

STATIC_TABLES = STATIC_SHARED_LIMIT - 16
"""Bytes that tables may have in static arrays: a block's ticket lies beside them."""
MOST_ELEMENTS = 1 << 20
"""A window of more elements is no table."""


@dataclass(frozen=True)
class TableWindow:
    """The elements that an update may write at one pure point, for any data: a box of constant size."""

    dims: tuple[int, ...]
    """The dimensions of the functions that are not pure, x first."""
    mins: tuple[int, ...]
    extents: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.extents)

    def number(self, e: Emitter, position: Sequence[Num]) -> Num:
        """Return the number of an element in the table, from its position in the functions."""
        found: Num = 0
        for d, low, extent in reversed(list(zip(self.dims, self.mins, self.extents, strict=True))):
            found = e.add(e.mul(found, extent), e.sub(position[d], low))
        return found

    def position(self, e: Emitter, number: Num, pure: dict[int, Num]) -> list[Num]:
        """Return the position of a table's element; `pure`: the coordinates of the other dimensions."""
        where = dict(pure)
        for d, low, extent in zip(self.dims, self.mins, self.extents, strict=True):
            if d == self.dims[-1]:
                where[d] = e.add(number, low)
                break
            number, rest = e.div_rem(number, extent)
            where[d] = e.add(rest, low)
        return [where[d] for d in range(len(where))]

    def in_memory(self, e: Emitter, position: Sequence[Num], buffer: KernelBuffer) -> SSAValue | None:
        """Whether a buffer holds an element: a call's domain or parameters may reach only part of the window."""
        found: SSAValue | None = None
        for d in self.dims:
            found = e.both(found, e.within(e.sub(position[d], buffer.mins[d]), buffer.extent(d, e)))
        return found


def window(update: UpdateOp) -> TableWindow | None:
    """Find the window of an update; None if only the call knows its size, or it is too large for a table."""
    known: dict[SSAValue, tuple[int, int]] = {}
    for dimension in update.domain:
        low, extent = integer_constant(dimension.min), integer_constant(dimension.extent)
        if low is not None and extent is not None:
            known[dimension.coordinate] = (low, low + max(extent, 1) - 1)
    of, write = coordinates(update), update.write_op
    dims, spans = [d for d in range(update.rank) if d not in update.pure_dims], []
    for d in dims:
        expr = write.map.data.results[d]
        used = {i for i in range(len(write.indices)) if i in expr.used_dims()}
        operands: list[Span] = []
        for i, value in enumerate(write.indices):
            if i in used and value in of and value not in known:
                return None
            span = known.get(value) or (cast(Span, value_range(value, known)) if i in used else (0, 0))
            if is_unbounded(span):
                return None
            operands.append(span)
        spans.append(cast(Span, expr_span(expr, operands)))
    found = TableWindow(tuple(dims), tuple(low for low, _ in spans), tuple(high - low + 1 for low, high in spans))
    return found if found.size <= MOST_ELEMENTS else None


def table_bytes(update: UpdateOp, elements: int, copies: int) -> int:
    """Return the shared memory of a block with `copies` of each element."""
    types = [cast(FuncType, old.type).element for old in update.old_funcs]
    return elements * copies * sum(element_bytes(t) for t in types)
