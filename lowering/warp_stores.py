"""Stores of warp tiles: rows as vectors where they lie well, moved to where vectors lie, or element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.dialects import vector
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
        alive = body.in_box(op, at, columns=False)
        if by_lanes:
            lane = e.both(e.compare("sge", body.lane, first), e.compare("slt", body.lane, end))
            alive = e.both(alive, lane)

        def scalar(v: Num, guard: bool) -> None:
            there = body.here(v, row, deep)
            index = body.memory_index(op.indices, there, layout)
            inside = None if by_lanes else body.in_box(op, there, columns=True)
            if guard:
                inside = e.both(inside, body.in_buffer(op.buffer, index))
            with e.when(inside):
                e.store(body.load(op.tile, there), op.buffer, index)

        def scalars(guard: bool) -> None:
            if layout.packed == 2:
                for column in range(layout.vector):
                    scalar(column, guard)
                return
            with e.loop(layout.vector, "v", unroll=True) as v:
                scalar(v, guard)

        def whole() -> None:
            index = [e.value(i) for i in body.memory_index(op.indices, at, layout)]
            e.effect(vector.StoreOp(body.row(op.tile, row, deep), op.buffer, index))

        def interior() -> None:
            if aligned is None:
                scalars(guard=False)
            else:
                e.choose(aligned, whole, lambda: scalars(guard=False))

        def border() -> None:
            if aligned is None:
                scalars(guard=True)
                return
            ends = [
                body.in_buffer(op.buffer, body.memory_index(op.indices, body.here(v, row, deep), layout))
                for v in (0, layout.vector - 1)
            ]
            inside = e.both(aligned, e.both(*ends))
            assert inside is not None
            e.choose(inside, whole, lambda: scalars(guard=True))

        def masked() -> None:
            assert alive is not None
            index = body.memory_index(op.indices, at, layout)
            body.store_masked(op.buffer, index, alive, body.row(op.tile, row, deep))

        def where_alive(emit: Callable[[], None]) -> Callable[[], None]:
            def inside() -> None:
                with e.when(alive):
                    emit()

            return inside

        def shifted(guard: bool) -> Callable[[], None]:
            return lambda: store_shifted(body, op, row, deep, alive, guard)

        if x0 < 0 and _is_vector(op.buffer, layout):
            e.choose(op.border, shifted(guard=True), shifted(guard=False))
        elif aligned is not None and alive is not None and body.masks_stores:
            apart = where_alive(lambda: scalars(guard=False))
            e.choose(op.border, where_alive(border), lambda: e.choose(aligned, masked, apart))
        else:
            where_alive(lambda: e.choose(op.border, border, interior))()


def _is_vector(buffer: SSAValue, layout: Layout) -> bool:
    """Whether a lane's row of a buffer is one access, where it lies well."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    strides = type.get_strides()
    size = layout.vector * element_bytes(type.element_type)
    return size in (2, 4, 8, 16) and layout.vector > 1 and strides is not None and strides[-1] == 1
