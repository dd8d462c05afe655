"""Loads of warp tiles: rows as vectors where they lie well, else in pieces or one by one; guarded in border tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from tilefuse.analysis.warp_layout import columns_at_once
from tilefuse.dialects.warp import LoadOp
from tilefuse.dialects.warp.memory import can_cut
from tilefuse.lowering.emit import PRIVATE, Num
from tilefuse.lowering.warp_body import Where
from tilefuse.lowering.warp_pieces import Pieces, RepeatedPieces
from tilefuse.lowering.warp_schedule import layout_of

if TYPE_CHECKING:
    from tilefuse.lowering.warp_registers import RegisterBody


def load_tile(body: RegisterBody, op: LoadOp) -> None:
    """All rows of an input into registers, all of them on their way before the first is needed."""
    _Load(body, op).emit()


class _Load:
    """One load. The ways to do it differ in one branch for all rows."""

    def __init__(self, body: RegisterBody, op: LoadOp) -> None:
        self.body, self.op = body, op
        self.layout = layout_of(op.tile)
        self.element = op.tile.type.element
        self.type = VectorType(self.element, [self.layout.vector])
        self.in_words = op.pieces is not None and can_cut(self.element, self.layout.vector)

    def emit(self) -> None:
        """The branches."""
        e, op = self.body.e, self.op
        if op.border is None:
            self._interior()
        else:
            e.choose(op.border, self._border, self._interior)

    def _interior(self) -> None:
        if self.op.aligned is None:
            self._unaligned()
        else:
            self.body.e.choose(self.op.aligned, lambda: self._rows(self._together), self._unaligned)

    def _border(self) -> None:
        e, op = self.body.e, self.op
        if op.aligned is None:
            self._outside()
            return
        whole = e.both(self._place(self._first)[0], op.aligned)
        assert whole is not None
        e.choose(whole, self._pieces, self._outside)

    def _outside(self) -> None:
        def guarded() -> None:
            self._rows(self._guarded)

        if self.op.repeated is not None:
            pieces = RepeatedPieces(self.body, self.op, self._rows, by_lanes=False)
            self.body.e.choose(pieces.inside(), pieces.load, guarded)
        elif self.op.plain is not None:
            self.body.e.choose(self._inside(), lambda: self._unaligned(by_lanes=False), guarded)
        else:
            guarded()

    def _unaligned(self, by_lanes: bool = True) -> None:
        # without the other lanes, pieces of larger elements take more registers than they save accesses
        if self.op.pieces is not None and (by_lanes or self.in_words):
            Pieces(self.body, self.op, self._rows, by_lanes).load()
        else:
            self._rows(self._apart)

    # --- rows

    @property
    def _first(self) -> Where:
        layout = self.layout
        return self.body.here(0, layout.rows[0], tuple(low for low, _ in layout.depth))

    def _rows(self, emit: Callable[[Where], None]) -> None:
        body, layout = self.body, self.layout
        with body.depths(layout) as deep, body.e.loop(layout.height, "r", unroll=True) as r:
            emit(body.here(0, body.e.add(r, layout.rows[0]), deep))

    def _together(self, at: Where) -> None:
        self.body.put_row(self._row(self._index(at)), self.op.tile, at, None)

    def _apart(self, at: Where) -> None:
        self.body.put_points(
            self.op.tile, at.row, at.deep, lambda there: self.body.e.load(self.op.buffer, self._index(there))
        )

    def _guarded(self, at: Where) -> None:
        self.body.put_points(
            self.op.tile, at.row, at.deep, lambda there: self.body.run(self.op.points, there, self.layout)[0]
        )

    def _index(self, at: Where) -> list[Num]:
        return self.body.memory_index(self.op.indices, at, self.layout)

    def _row(self, index: Sequence[Num]) -> SSAValue:
        e = self.body.e
        return e.op(vector.LoadOp(self.op.buffer, [e.value(i) for i in index], self.type))

    def _inside(self) -> SSAValue:
        """Whether all that a warp loads lies inside the buffer, and what words have beside it."""
        body, layout = self.body, self.layout
        beyond = columns_at_once(self.element, layout.vector) if self.in_words else 0
        (top, bottom), depth = layout.rows, layout.depth
        last_lane, last_column = layout.lanes[0] - 1, layout.vector - 1 + beyond
        corners = (
            Where(body.warp, 0, -beyond, top, tuple(low for low, _ in depth)),
            Where(body.warp, last_lane, last_column, bottom - 1, tuple(high - 1 for _, high in depth)),
        )
        inside = body.e.both(*(body.in_buffer(self.op.buffer, self._index(at)) for at in corners))
        assert inside is not None
        return inside

    # --- border tiles whose pieces of rows lie inside or outside of the box as wholes

    def _place(self, at: Where) -> Sequence[SSAValue]:
        return self.body.run(self.op.rows, at, self.layout)

    def _keep(self, place: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue] | None:
        return None if self.op.replaces is None else (place[-2], place[-1])

    def _moved(self, place: Sequence[SSAValue]) -> SSAValue:
        """The row where `rows` says that it lies."""
        return self._row(place[1 : 1 + len(self.op.indices)])

    def _pieces(self) -> None:
        body, e, layout = self.body, self.body.e, self.layout

        def moved(at: Where) -> None:
            place = self._place(at)
            body.put_row(self._moved(place), self.op.tile, at, self._keep(place))

        if not self.op.fills and self.op.replaces is None:
            self._rows(moved)
            return
        # rows wait as they are in memory, so that filling them is cheap
        waiting = e.alloca(layout.shape[:-1], self.type, PRIVATE, "rows")

        def slot(at: Where) -> list[Num]:
            return body.register_index(layout, at)[:-1]

        self._rows(lambda at: e.store(self._moved(self._place(at)), waiting, slot(at)))
        if self.op.fills:
            before, after = self._place(self._first)[1 + len(self.op.indices) :][:2]

            def fill(at: Where) -> None:
                row = e.load(waiting, slot(at))
                ends = [e.op(vector.ExtractOp(row, [v], self.element)) for v in (0, layout.vector - 1)]
                e.store(e.op(vector.BroadcastOp(e.select(before, *ends), self.type)), waiting, slot(at))

            with e.when(e.either(before, after)):
                self._rows(fill)
        self._rows(lambda at: body.put_row(e.load(waiting, slot(at)), self.op.tile, at, self._keep(self._place(at))))
