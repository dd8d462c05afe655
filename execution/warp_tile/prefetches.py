"""Lowering of `warp.prefetch`: prefetch the cache lines of a box of points, one line per lane of the block."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.memref_prefetch import PrefetchOp
from tilefuse.dialects.warp import WarpPrefetchOp
from tilefuse.execution.warp_tile.registers import Registers
from tilefuse.execution.written_out import MOST_WRITTEN_OUT

LINE_BYTES = 128


def prefetch_lines(body: Registers, op: WarpPrefetchOp) -> None:
    """Prefetch all lines of the box, distributed over the lanes of all warps."""
    e, type = body.e, op.buffer.type
    assert isinstance(type, MemRefType)
    (x0, x1), (y0, y1) = op.within
    step = max(1, LINE_BYTES // element_bytes(type.element_type))
    lines = -(-(x1 - x0) // step)  # the last points may lie in one more, in which the box on the right begins
    count, at_once = (y1 - y0) * lines, body.warps * body.lanes
    if count > MOST_WRITTEN_OUT * at_once:
        raise PipelineError(
            f"warp.prefetch: a lane prefetches {count // at_once} lines, where {MOST_WRITTEN_OUT} are the most; give a "
            "smaller box",
            op,
        )
    *outer, y, x = op.indices
    last = e.sub(e.dim(op.buffer, len(outer) + 1), 1)
    for first in range(0, count, at_once):
        number = e.add(e.add(e.mul(body.warp, body.lanes), body.lane), first)
        row, line = e.div_rem(number, lines)
        rows = [*outer, e.add(y, e.add(row, y0))]
        condition: SSAValue | None = e.compare("slt", number, count) if first + at_once > count else None
        for axis, i in enumerate(rows):
            condition = e.both(condition, e.within(i, e.dim(op.buffer, axis)))
        column = e.clamp(e.add(x, e.add(e.mul(line, step), x0)), 0, last)
        with e.when(condition):
            e.effect(PrefetchOp(op.buffer, [e.value(i) for i in (*rows, column)]))
