"""Stores of warp tiles: rows as vectors where they lie well, moved to where vectors lie, or element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from tilefuse.dialects.warp import StoreOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.dialects.warp.memory import is_one_access
from tilefuse.execution.warp_tile.schedule import layout_of
from tilefuse.execution.warp_tile.shifts import store_shifted
from tilefuse.lowering.emit import Num

if TYPE_CHECKING:
    from tilefuse.execution.warp_tile.registers import RegisterBody


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

        def scalars(condition: SSAValue | None, border: bool = False, guard: bool = False) -> None:
            if body.masks_stores or layout.packed == 2:
                for column in range(layout.vector):
                    scalar(column, condition, border, guard)
                return
            with e.loop(layout.vector, "v", unroll=True) as v:
                scalar(v, condition, border, guard)

        def scalar(v: Num, condition: SSAValue | None, border: bool, guard: bool) -> None:
            there = body.here(v, row, deep)
            own = condition if by_lanes else e.both(condition, body.in_box(op, there, columns=True))
            own = e.both(own, body.is_own(op, there)) if border else own
            own = e.both(own, inside(v)) if guard else own
            body.store_where(op.buffer, own, lambda: [(index(v), body.load(op.tile, there))])

        def interior() -> None:
            if shifts:
                store_shifted(body, op, row, deep, alive, border=False)
                return
            with body.stores_of_row(alive) as condition:
                if aligned is None:
                    scalars(condition)
                else:
                    e.choose(aligned, lambda: vectors(condition), lambda: scalars(condition))

        def border() -> None:
            if shifts:
                store_shifted(body, op, row, deep, alive, border=True)
                return
            with body.stores_of_row(alive) as condition:

                def by_element() -> None:
                    scalars(condition, border=True, guard=True)

                def uniform() -> None:
                    with body.stores_of_row(inside(0)) as inner:
                        both = e.both(condition, inner)
                        if aligned is None:
                            scalars(both, border=True)
                        elif aligned is op.vectors_uniform:  # one flag may say both
                            vectors(both)
                        else:
                            e.choose(aligned, lambda: vectors(both), lambda: scalars(both, border=True))

                if op.vectors_uniform is None or not by_lanes:
                    by_element()
                else:
                    e.choose(op.vectors_uniform, uniform, by_element)

        shifts = x0 < 0 and _is_vector(op.buffer, layout)
        e.choose(op.border, border, interior)


def _is_vector(buffer: SSAValue, layout: Layout) -> bool:
    """Whether a lane's row of a buffer is one access, where it lies well."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    strides = type.get_strides()
    vector = layout.vector
    return vector > 1 and is_one_access(type.element_type, vector) and strides is not None and strides[-1] == 1
