"""Stores of warp tiles: rows as vectors where they lie well, moved to where vectors lie, or element by element."""

from __future__ import annotations

from functools import partial
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
    from tilefuse.lowering.warp_registers import Place, RegisterBody


def store_row(body: RegisterBody, op: StoreOp, row: Num) -> None:
    """A row of the result: the lanes in the box store vectors where they lie well, else scalars."""
    e, layout = body.e, layout_of(op.tile)
    (x0, x1), _ = op.within
    (first, left), (end, right) = (divmod(x - layout.origin[0], layout.vector) for x in (x0, x1))
    by_lanes = not left and not right
    aligned = op.aligned if by_lanes else None

    with body.depths(layout) as deep:
        alive = body.in_box(op, body.here(0, row, deep), columns=False)
        if by_lanes:
            lane = e.both(e.compare("sge", body.lane, first), e.compare("slt", body.lane, end))
            alive = e.both(alive, lane)

        def index(v: Num) -> list[Num]:
            return body.memory_index(op.indices, body.here(v, row, deep), layout)

        def inside(v: Num) -> SSAValue | None:
            return body.in_buffer(op.buffer, index(v))

        def vectors(condition: SSAValue | None) -> None:
            body.store_where(op.buffer, condition, lambda: [(index(0), body.row(op.tile, row, deep))])

        def scalars(condition: SSAValue | None, guard: bool) -> None:
            if body.masks_stores or layout.packed == 2:
                for column in range(layout.vector):
                    scalar(column, condition, guard)
                return
            with e.loop(layout.vector, "v", unroll=True) as v:
                scalar(v, condition, guard)

        def scalar(v: Num, condition: SSAValue | None, guard: bool) -> None:
            there = body.here(v, row, deep)
            own = condition if by_lanes else e.both(condition, body.in_box(op, there, columns=True))
            own = e.both(own, inside(v)) if guard else own
            body.store_where(op.buffer, own, lambda: [(index(v), body.load(op.tile, there))])

        def unguarded(condition: SSAValue | None) -> None:
            if aligned is None:
                scalars(condition, guard=False)
            else:
                e.choose(aligned, lambda: vectors(condition), lambda: scalars(condition, guard=False))

        def interior() -> None:
            if shifts:
                store_shifted(body, op, row, deep, alive, is_branch=False)
                return
            with body.stores_of_row(alive) as condition:
                unguarded(condition)

        def guarded() -> None:
            with body.stores_of_row(alive) as condition:
                scalars(condition, guard=True)

        def moved() -> None:
            in_rows = e.both(alive, body.in_buffer(op.buffer, index(0)[:-1]))
            e.choose(
                _reaches_side(body, op),
                lambda: _store_apart(body, op, row, deep, in_rows),
                lambda: store_shifted(body, op, row, deep, in_rows, is_branch=True),
            )

        def border() -> None:
            if op.whole is None or not (by_lanes or shifts):
                guarded()
                return
            if shifts:
                e.choose(op.whole, moved, guarded)
                return
            with body.stores_of_row(alive) as condition:

                def whole() -> None:
                    with body.stores_of_row(inside(0)) as inner:
                        both = e.both(condition, inner)
                        if aligned is not None and aligned is op.whole:
                            vectors(both)
                        else:
                            unguarded(both)

                e.choose(op.whole, whole, lambda: scalars(condition, guard=True))

        shifts = x0 < 0 and _is_vector(op.buffer, layout)
        e.choose(op.border, border, interior)


def _reaches_side(body: RegisterBody, op: StoreOp) -> SSAValue:
    """Whether a row that moves by less than a piece may leave the buffer at its left or right."""
    e, ((x0, x1), _) = body.e, op.within
    first = op.indices[-1]
    width = e.dim(op.buffer, len(op.indices) - 1)
    return e.either(e.compare("slt", first, -x0), e.compare("sgt", e.add(first, x1 - x0), width))


def _store_apart(body: RegisterBody, op: StoreOp, row: Num, deep: tuple[Num, ...], alive: SSAValue | None) -> None:
    """A row element by element where it lies, if all of it lies in the buffer.

    The tile on the left, whose row may have moved left, leaves its last columns to this one.
    """
    e, layout = body.e, layout_of(op.tile)
    (x0, x1), _ = op.within
    first, end = ((x - layout.origin[0]) // layout.vector for x in (0, x1))
    is_right_of = e.compare("sge", op.indices[-1], -x0)
    earliest = e.pick(is_right_of, first - 1, first)

    def point(column: int) -> list[Place]:
        there = body.here(column, row, deep)
        return [(body.memory_index(op.indices, there, layout), body.load(op.tile, there))]

    with body.stores_of_row(e.both(alive, e.compare("slt", body.lane, end))) as condition:
        for column in range(layout.vector):
            lane = e.compare("sge", body.lane, earliest if column >= layout.vector + x0 else first)
            body.store_where(op.buffer, e.both(condition, lane), partial(point, column))


def _is_vector(buffer: SSAValue, layout: Layout) -> bool:
    """Whether a lane's row of a buffer is one access, where it lies well."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    strides = type.get_strides()
    size = layout.vector * element_bytes(type.element_type)
    return size in (2, 4, 8, 16) and layout.vector > 1 and strides is not None and strides[-1] == 1
