"""Stores of warp tiles: rows as vectors where they are aligned, moved to aligned columns, or element by element."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from tilefuse.dialects.warp import StoreOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.dialects.warp.memory import is_one_access
from tilefuse.execution.warp_tile.registers import Registers
from tilefuse.execution.warp_tile.schedule import layout_of
from tilefuse.execution.warp_tile.shifts import store_shifted
from tilefuse.lowering.emit import Num


def store_row(body: Registers, op: StoreOp, row: Num) -> None:
    """Store a row of the result: lanes in the box store vectors where aligned, else scalars."""
    layout = layout_of(op.tile)
    shifts = op.within[0][0] < 0 and _is_vector(op.buffer, layout)
    with body.depths(layout) as deep:
        found = _RowStore(body, op, row, deep)
        if shifts:
            at = (body, op, row, deep, found.alive)
            body.e.choose(op.border, lambda: store_shifted(*at, border=True), lambda: store_shifted(*at, border=False))
        else:
            body.e.choose(op.border, found.border, found.interior)


class _RowStore:
    """Stores of one unshifted row."""

    def __init__(self, body: Registers, op: StoreOp, row: Num, deep: tuple[Num, ...]):
        self.body, self.op, self.row, self.deep = body, op, row, deep
        self.e, self.layout = body.e, layout_of(op.tile)
        ends = (divmod(x - self.layout.origin[0], self.layout.vector) for x in op.within[0])
        (first, left), (end, right) = ends
        self.by_lanes = not left and not right
        """Whether each lane stores all of its columns, or none."""
        self.aligned = op.aligned if self.by_lanes else None
        self.alive = body.in_box(op, body.here(0, row, deep), columns=False)
        if self.by_lanes:
            lane = self.e.both(self.e.compare("sge", body.lane, first), self.e.compare("slt", body.lane, end))
            self.alive = self.e.both(self.alive, lane)

    def interior(self) -> None:
        """Store the row in interior tiles."""
        with self.body.stores_of_row(self.alive) as condition:
            if self.aligned is None:
                self._scalars(condition)
            else:
                self.e.choose(self.aligned, lambda: self._vectors(condition), lambda: self._scalars(condition))

    def border(self) -> None:
        """Store the points that lie in the buffer."""
        with self.body.stores_of_row(self.alive) as condition:
            if self.op.vectors_uniform is None or not self.by_lanes:
                self._scalars(condition, border=True, guard=True)
                return
            self.e.choose(
                self.op.vectors_uniform,
                lambda: self._uniform(condition),
                lambda: self._scalars(condition, border=True, guard=True),
            )

    def _uniform(self, condition: SSAValue | None) -> None:
        with self.body.stores_of_row(self._inside(0)) as inner:
            both = self.e.both(condition, inner)
            if self.aligned is None:
                self._scalars(both, border=True)
            elif self.aligned is self.op.vectors_uniform:  # one flag may say both
                self._vectors(both)
            else:
                self.e.choose(self.aligned, lambda: self._vectors(both), lambda: self._scalars(both, border=True))

    def _index(self, v: Num) -> list[Num]:
        return self.body.memory_index(self.op.indices, self.body.here(v, self.row, self.deep), self.layout)

    def _inside(self, v: Num) -> SSAValue | None:
        return self.body.in_buffer(self.op.buffer, self._index(v))

    def _vectors(self, condition: SSAValue | None) -> None:
        body, op = self.body, self.op
        body.store_where(op.buffer, condition, lambda: [(self._index(0), body.row(op.tile, self.row, self.deep))])

    def _scalars(self, condition: SSAValue | None, border: bool = False, guard: bool = False) -> None:
        if self.body.masks_stores or self.layout.packed == 2:
            for column in range(self.layout.vector):
                self._scalar(column, condition, border, guard)
            return
        with self.e.loop(self.layout.vector, "v", unroll=True) as v:
            self._scalar(v, condition, border, guard)

    def _scalar(self, v: Num, condition: SSAValue | None, border: bool, guard: bool) -> None:
        body, op, e = self.body, self.op, self.e
        there = body.here(v, self.row, self.deep)
        own = condition if self.by_lanes else e.both(condition, body.in_box(op, there, columns=True))
        own = e.both(own, body.is_own(op, there)) if border else own
        own = e.both(own, self._inside(v)) if guard else own
        body.store_where(op.buffer, own, lambda: [(self._index(v), body.load(op.tile, there))])


def _is_vector(buffer: SSAValue, layout: Layout) -> bool:
    """Whether a lane's row of a buffer is one access, if aligned."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    strides = type.get_strides()
    vector = layout.vector
    return vector > 1 and is_one_access(type.element_type, vector) and strides is not None and strides[-1] == 1
