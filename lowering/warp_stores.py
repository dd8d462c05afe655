"""Stores of warp tiles: rows as vectors where they lie well, moved to where vectors lie, or element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import StoreOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.lowering.emit import Num
from tilefuse.lowering.warp_schedule import layout_of
from tilefuse.lowering.warp_shifts import store_shifted

if TYPE_CHECKING:
    from tilefuse.lowering.warp_registers import RegisterBody


def store_row(body: RegisterBody, op: StoreOp, row: Num) -> None:
    """A row of the result: the lanes in the box store vectors where they lie well, else scalars."""
    e, layout = body.e, layout_of(op.tile)
    (x0, x1), _ = op.within
    (first, left), (end, right) = (divmod(x - layout.origin[0], layout.vector) for x in (x0, x1))
    by_lanes = not left and not right
    aligned = op.aligned if by_lanes else None

    with body.depths(layout) as deep:
        at = body.here(0, row, deep)
        places = [body.here(v, row, deep) for v in range(layout.vector)]
        indices = [body.memory_index(op.indices, there, layout) for there in places]
        alive = body.in_box(op, at, columns=False)
        if by_lanes:
            lane = e.both(e.compare("sge", body.lane, first), e.compare("slt", body.lane, end))
            alive = e.both(alive, lane)

        def vectors(condition: SSAValue | None) -> None:
            body.store_where(op.buffer, condition, [(indices[0], body.row(op.tile, row, deep))])

        def scalars(condition: SSAValue | None, guard: bool) -> None:
            found = [(index, body.load(op.tile, there)) for index, there in zip(indices, places, strict=True)]
            if by_lanes and not guard:
                body.store_where(op.buffer, condition, found)
                return
            for place, there in zip(found, places, strict=True):
                inside = condition if by_lanes else e.both(condition, body.in_box(op, there, columns=True))
                if guard:
                    inside = e.both(inside, body.in_buffer(op.buffer, place[0]))
                body.store_where(op.buffer, inside, [place])

        def border() -> None:
            if aligned is None:
                scalars(alive, guard=True)
                return
            # both without a branch around all of it, which would keep rows apart
            whole = e.both(aligned, e.both(*(body.in_buffer(op.buffer, index) for index in (indices[0], indices[-1]))))
            assert whole is not None
            vectors(e.both(alive, whole))
            scalars(e.both(alive, e.negate(whole)), guard=True)

        def interior() -> None:
            if aligned is None:
                scalars(alive, guard=False)
            else:
                e.choose(aligned, lambda: vectors(alive), lambda: scalars(alive, guard=False))

        def shifted(guard: bool) -> Callable[[], None]:
            return lambda: store_shifted(body, op, row, deep, alive, guard)

        if x0 < 0 and _is_vector(op.buffer, layout):
            e.choose(op.border, shifted(True), shifted(False))
        else:
            e.choose(op.border, border, interior)


def _is_vector(buffer: SSAValue, layout: Layout) -> bool:
    """Whether a lane's row of a buffer is one access, where it lies well."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    strides = type.get_strides()
    size = layout.vector * element_bytes(type.element_type)
    return size in (2, 4, 8, 16) and layout.vector > 1 and strides is not None and strides[-1] == 1
