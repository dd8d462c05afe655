"""Loads of warp tiles: rows as vectors where aligned, else in pieces or one by one; guarded in border tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects import vector
from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Attribute, SSAValue

from tilefuse.dialects.warp import LoadOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.dialects.warp.memory import can_cut
from tilefuse.execution.warp_tile.body import LanePoint
from tilefuse.execution.warp_tile.pieces import MovedPieces, Pieces
from tilefuse.execution.warp_tile.registers import Registers
from tilefuse.execution.warp_tile.schedule import layout_of
from tilefuse.execution.warp_tile.vectors import shuffle, together
from tilefuse.execution.warp_tile.x_edges import XEdgePieces
from tilefuse.lowering.emit import PRIVATE, Num


def load_tile(body: Registers, op: LoadOp) -> None:
    """Load all rows of an input into registers, with all loads in flight before the first use."""
    _Load(body, op).emit()


class _Load:
    """One load. Its variants differ in one branch for all rows."""

    def __init__(self, body: Registers, op: LoadOp) -> None:
        self.body, self.op = body, op
        self.layout = layout_of(op.tile)
        self.element = op.tile.type.element
        self.type = VectorType(self.element, [self.layout.vector])
        self.in_words = op.pieces is not None and can_cut(self.element, self.layout.vector)

    def emit(self) -> None:
        """Emit the branches."""
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
        if op.vectors_uniform is None:
            self._rows(self._guarded)
            return

        def uniform() -> None:
            if op.x_edge_only is not None and XEdgePieces.can_load(op):
                e.choose(op.x_edge_only, self._at_x_edges, self._uniform)
            else:
                self._uniform()

        e.choose(op.vectors_uniform, uniform, lambda: self._rows(self._guarded))

    def _unaligned(self) -> None:
        if self.op.pieces is None:
            self._rows(self._elements)
            return
        pieces = Pieces(self.body, self.op)
        # all that is loaded is on its way before the first of it is needed
        self._rows(pieces.fetch)
        self._rows(lambda at: self.body.put_row(pieces.row(at), self.op.tile, at, None))

    # --- rows

    def _rows(self, emit: Callable[[LanePoint], None]) -> None:
        body, layout = self.body, self.layout
        with body.depths(layout) as deep, body.e.loop(layout.height, "r", unroll=True) as r:
            emit(body.here(0, body.e.add(r, layout.rows[0]), deep))

    def _together(self, at: LanePoint) -> None:
        self.body.put_row(self._row(self._index(at)), self.op.tile, at, None)

    def _elements(self, at: LanePoint) -> None:
        self.body.put_points(
            self.op.tile, at.row, at.deep, lambda there: self.body.e.load(self.op.buffer, self._index(there))
        )

    def _guarded(self, at: LanePoint) -> None:
        self.body.put_points(
            self.op.tile, at.row, at.deep, lambda there: self.body.run(self.op.points, there, self.layout)[0]
        )

    def _index(self, at: LanePoint) -> list[Num]:
        return self.body.memory_index(self.op.indices, at, self.layout)

    def _row(self, index: Sequence[Num]) -> SSAValue:
        e = self.body.e
        return e.op(vector.LoadOp(self.op.buffer, [e.value(i) for i in index], self.type))

    # --- border tiles in which each lane's columns of a row lie inside or outside of the box together

    def _uniform(self) -> None:
        body, op, waiting = self.body, self.op, _Waiting(self.body, self.layout, self.type)

        def as_vector() -> None:
            self._rows(lambda at: waiting.put(self._moved(at, is_aligned=True), at))

        def by_element() -> None:
            if not self.in_words:
                self._rows(lambda at: waiting.put(self._moved(at, is_aligned=False), at))
                return
            pieces = MovedPieces(body, op)
            self._rows(pieces.fetch)
            last = body.here(0, self.layout.rows[1] - 1, tuple(low for low, _ in self.layout.depth))
            with body.e.when(pieces.may_reach_end(last)):
                end = pieces.fetch_end()
                self._rows(lambda at: pieces.put_end(end, at))
            self._rows(lambda at: waiting.put(pieces.row(at), at))

        if op.aligned is None:
            by_element()
        elif op.aligned is op.vectors_uniform:  # one flag may say both
            as_vector()
        else:
            body.e.choose(op.aligned, as_vector, by_element)
        self._fill(waiting, (0, self.layout.vector - 1))
        self._rows(lambda at: body.put_row(waiting.get(at), op.tile, at, self._keep(at)))

    def _at_x_edges(self) -> None:
        """Load rows of a tile that is cut off along x only: no row is moved, nor the buffer's first or last."""
        body, waiting, pieces = self.body, _Waiting(self.body, self.layout, self.type), XEdgePieces(self.body, self.op)
        self._rows(pieces.fetch)
        self._rows(lambda at: waiting.put(pieces.row(at), at))
        self._fill(waiting, pieces.ends)

        first = body.here(0, self.layout.rows[0], ())  # as in all rows
        self._rows(lambda at: body.put_row(waiting.get(at), self.op.tile, at, self._keep(first)))

    def _fill(self, waiting: _Waiting, ends: tuple[int, int]) -> None:
        """Fill lanes outside the box with its first or last column if they need it: `ends` of their loaded columns."""
        if not self.op.fills:
            return
        body, e, layout = self.body, self.body.e, self.layout
        first = body.here(0, layout.rows[0], tuple(low for low, _ in layout.depth))
        before, after = self._place(first)[len(self.op.indices) :][:2]

        def fill(at: LanePoint, spread: Callable[[SSAValue], SSAValue]) -> None:
            waiting.put(spread(waiting.get(at)), at)

        def of_column(column: int) -> Callable[[SSAValue], SSAValue]:
            return lambda row: shuffle(e, row, row, [column] * layout.vector)

        def of_either(row: SSAValue) -> SSAValue:
            found = e.select(before, *(e.op(vector.ExtractOp(row, [v], self.element)) for v in ends))
            return e.op(vector.BroadcastOp(found, self.type))

        if isinstance(self.element, IntegerType) and self.element.width.data < 32:
            # within words that takes an instruction a word, without selecting first
            for outside, column in zip((before, after), ends, strict=True):
                with e.when(outside):
                    self._rows(partial(fill, spread=of_column(column)))
        else:
            with e.when(e.either(before, after)):
                self._rows(partial(fill, spread=of_either))

    def _place(self, at: LanePoint) -> Sequence[SSAValue]:
        return self.body.run(self.op.rows, at, self.layout)

    def _keep(self, at: LanePoint) -> tuple[SSAValue, SSAValue] | None:
        if self.op.replaces is None:
            return None
        place = self._place(at)
        return place[-2], place[-1]

    def _moved(self, at: LanePoint, *, is_aligned: bool) -> SSAValue:
        """Load the row at the place that `rows` computes."""
        e = self.body.e
        *outer, first = self._place(at)[: len(self.op.indices)]
        if is_aligned:
            return self._row([*outer, first])
        columns = [[*outer, e.add(first, v)] for v in range(self.layout.vector)]
        return together(e, [e.load(self.op.buffer, index) for index in columns])


class _Waiting:
    """Rows in memory format, cheap to fill, in flight to the tile."""

    def __init__(self, body: Registers, layout: Layout, row: VectorType[Attribute]) -> None:
        self.body, self.layout = body, layout
        self.rows = body.e.alloca(layout.shape[:-1], row, PRIVATE, "rows")

    def put(self, row: SSAValue, at: LanePoint) -> None:
        """Keep a row until it is read."""
        self.body.e.store(row, self.rows, self._slot(at))

    def get(self, at: LanePoint) -> SSAValue:
        """Return a row in flight."""
        return self.body.e.load(self.rows, self._slot(at))

    def _slot(self, at: LanePoint) -> list[Num]:
        return self.body.register_index(self.layout, at)[:-1]
