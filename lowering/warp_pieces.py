"""Rows that do not lie where vectors do: they are loaded in shorter ones, out of which a lane's columns are cut.

Elements smaller than a word are cut out of words; of larger ones a lane takes its own by selections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import MemRefType, VectorType, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilefuse.analysis.warp_layout import WORD_BYTES, columns_at_once
from tilefuse.dialects.funnel_shifts import FshrOp
from tilefuse.dialects.gpu_shuffle import ShuffleMode
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import LoadOp
from tilefuse.lowering import pairs
from tilefuse.lowering.emit import PRIVATE, Emitter, Num
from tilefuse.lowering.warp_body import Where
from tilefuse.lowering.warp_schedule import layout_of

if TYPE_CHECKING:
    from tilefuse.lowering.warp_registers import RegisterBody

_WORD = VectorType(i32, [1])

VECTOR_BYTES = 16
"""What the largest vectors take: these may lie at multiples of it."""


class Pieces:
    """A load of all rows in pieces, of which the first begins in a lane's columns or before them.

    `by_lanes`: a lane has from the one beside what this has loaded too (`op.partial`); slow where a warp branches.
    """

    def __init__(
        self, body: RegisterBody, op: LoadOp, row_loop: Callable[[Callable[[Where], None]], None], by_lanes: bool
    ) -> None:
        self.body, self.op, self.row_loop = body, op, row_loop
        self.e, self.layout, self.element = body.e, layout_of(op.tile), op.tile.type.element
        self.in_word = in_word(self.element)
        self.piece = columns_at_once(self.element, self.layout.vector)
        self.partial = op.partial.data if by_lanes and op.partial is not None else None

    def load(self) -> None:
        """All that is loaded is on its way before the first of it is needed."""
        e, layout = self.e, self.layout
        type, count = VectorType(self.element, [self.piece]), layout.vector // self.piece + (self.partial is None)
        waiting = e.alloca([*layout.shape[:-1], count], type, PRIVATE, "pieces")

        def slot(at: Where, number: int) -> list[Num]:
            return [*self.body.register_index(layout, at)[:-1], number]

        def fetch(at: Where) -> None:
            index = self.index(at)
            before = misalignment(e, self.place(at), self.piece)
            # the first pair begins in the lane's columns, not before them, where these come from the left
            index[-1] = e.add(index[-1], before) if self.partial == "left" else e.sub(index[-1], before)
            for number in range(count):
                column = e.value(e.add(index[-1], number * self.piece))
                loaded = e.op(vector.LoadOp(self.op.buffer, [*(e.value(i) for i in index[:-1]), column], type))
                e.store(loaded, waiting, slot(at, number))

        def cut(at: Where) -> None:
            pieces = [e.load(waiting, slot(at, number)) for number in range(count)]
            words = [word for held in pieces for word in words_of(e, held, self.element)]
            self.body.put_row(row_of_words(e, self.words(words, at), self.element), self.op.tile, at, None)

        self.row_loop(fetch)
        self.row_loop(cut)

    def index(self, at: Where) -> list[Num]:
        """Where in the buffer a point is."""
        return self.body.memory_index(self.op.indices, at, self.layout)

    def place(self, at: Where) -> SSAValue:
        """Where the row begins in memory, or one that lies like it; modulo a piece, the same for all lanes."""
        first = Where(self.body.warp, 0, 0, self.row_like(at), at.deep)
        return place_in_memory(self.e, self.op.buffer, self.index(first))

    def row_like(self, at: Where) -> Num:
        """A row that lies like this one."""
        return like_row(self.e, at.row, self.piece)

    def words(self, loaded: Sequence[SSAValue], at: Where) -> list[SSAValue]:
        """The lane's columns of a row."""
        e, place, lanes = self.e, self.place(at), self.layout.lanes[0]
        if self.partial == "left":
            loaded = [self.body.shuffle(loaded[-1], 1, ShuffleMode.Up, lanes), *loaded]
        elif self.partial == "right":
            # of a pair never more than the first element
            after = loaded[: self.piece // self.in_word if self.in_word > 1 else 1]
            loaded = [*loaded, *(self.body.shuffle(word, 1, ShuffleMode.Down, lanes) for word in after)]
        if self.piece > self.in_word:
            second = e.compare("ne", e.op(arith.AndIOp(place, e.value(self.in_word))), 0)
            if self.partial == "left":
                loaded = [e.select(second, before, word) for before, word in pairwise(loaded)]
            else:
                loaded = [e.select(second, after, word) for word, after in pairwise(loaded)]
        if self.in_word == 1:
            return list(loaded)
        bits = bits_of(e, place, self.in_word)
        return [e.op(FshrOp(high, low, bits)) for low, high in pairwise(loaded)]


class RepeatedPieces(Pieces):
    """The same in border tiles: in columns beside the buffer stands the edge's element, whatever pieces have there."""

    def inside(self) -> SSAValue:
        """Whether all pieces of a warp lie in the buffer, if need be in other rows of it."""
        e, layout = self.e, self.layout
        metadata = memref.ExtractStridedMetaDataOp(self.op.buffer)
        e.effect(metadata)
        outer = list(metadata.strides)[: len(self.op.indices) - 1]
        (top, bottom), depth = layout.rows, layout.depth
        corners = (
            Where(self.body.warp, 0, -self.piece, top, tuple(low for low, _ in depth)),
            Where(
                self.body.warp, layout.lanes[0] - 1, layout.vector - 1 + self.piece,
                bottom - 1, tuple(high - 1 for _, high in depth),
            ),
        )  # fmt: skip
        first, last = (_place(e, 0, self.index(corner), outer) for corner in corners)
        end = _place(e, 0, [e.sub(e.dim(self.op.buffer, axis), 1) for axis in range(len(self.op.indices))], outer)
        width = e.dim(self.op.buffer, len(self.op.indices) - 1)
        # rows of a narrower buffer have both edges in one lane
        inside = e.both(e.compare("sge", width, layout.vector), e.compare("sge", first, 0))
        inside = e.both(inside, e.compare("sle", last, end))
        for stride in outer:
            inside = e.both(inside, e.compare("sge", stride, 0))
        assert inside is not None
        return inside

    def load(self) -> None:
        """Beside the words of a row, the element of the edge that is nearer to the lane."""
        e, layout = self.e, self.layout
        width = e.dim(self.op.buffer, len(self.op.indices) - 1)
        first = super().index(self.body.here(0, layout.rows[0], tuple(low for low, _ in layout.depth)))[-1]
        self.edge = e.pick(e.compare("slt", first, 0), 0, e.sub(width, 1))
        self.kept = []
        bits = 8 * WORD_BYTES // self.in_word
        for column in range(0, layout.vector, self.in_word):
            before, inside = (e.mul(e.clamp(e.sub(n, e.add(first, column)), 0, self.in_word), bits) for n in (0, width))
            self.kept.append(
                e.op(arith.AndIOp(self._ones(inside), e.op(arith.XOrIOp(self._ones(before), self._minus_one()))))
            )
        self.edges = e.alloca(layout.shape[:-1], self.element, PRIVATE, "edges")
        self.row_loop(self._fetch_edge)
        super().load()

    def _minus_one(self) -> SSAValue:
        return self.e.op(arith.ConstantOp.from_int_and_width(-1, i32))

    def _ones(self, count: Num) -> SSAValue:
        """A word with so many ones at its low end, 0 to 32."""
        e = self.e
        ones = e.op(arith.ConstantOp.from_int_and_width((1 << 8 * WORD_BYTES) - 1, i64))
        by = e.op(arith.IndexCastOp(e.value(e.sub(8 * WORD_BYTES, count)), i64))
        return e.op(arith.TruncIOp(e.op(arith.ShRUIOp(ones, by)), i32))

    def _fetch_edge(self, at: Where) -> None:
        e = self.e
        index = [e.value(i) for i in (*self.index(at)[:-1], self.edge)]
        e.store(e.op(memref.LoadOp.get(self.op.buffer, index)), self.edges, self._slot(at))

    def _slot(self, at: Where) -> list[Num]:
        return self.body.register_index(self.layout, at)[:-1]

    def index(self, at: Where) -> list[Num]:
        """In the row that stands for the point's."""
        place = self.body.run(self.op.rows, at, self.layout)
        return [*place[1 : len(self.op.indices)], super().index(at)[-1]]

    def row_like(self, at: Where) -> Num:
        """None but itself: another one may stand for it."""
        return at.row

    def words(self, loaded: Sequence[SSAValue], at: Where) -> list[SSAValue]:
        """The lane's columns of a row, those beside the buffer replaced."""
        e = self.e
        edge = pairs.together(e, [e.load(self.edges, self._slot(at))] * self.in_word)
        fill = e.op(vector.ExtractOp(e.op(vector.BitcastOp(edge, _WORD)), [0], i32))
        found = []
        for word, kept in zip(super().words(loaded, at), self.kept, strict=True):
            others = e.op(arith.AndIOp(fill, e.op(arith.XOrIOp(kept, self._minus_one()))))
            found.append(e.op(arith.OrIOp(e.op(arith.AndIOp(word, kept)), others)))
        return found


def like_row(e: Emitter, row: Num, piece: int) -> Num:
    """Of the first rows one that lies like this one: as many rows below as a piece has elements, all lie the same."""
    return row % piece if isinstance(row, int) else e.op(arith.AndIOp(row, e.value(piece - 1)))


def misalignment(e: Emitter, place: SSAValue, width: int) -> SSAValue:
    """Elements from the last place where so wide a vector may lie to that place in memory."""
    return e.op(arith.AndIOp(place, e.value(width - 1)))


def place_in_memory(e: Emitter, buffer: SSAValue, index: Sequence[Num]) -> SSAValue:
    """Where an element of a buffer lies, counted in elements from an address where any vector may lie."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    metadata = memref.ExtractStridedMetaDataOp(buffer)
    pointer = e.op(memref.ExtractAlignedPointerAsIndexOp.get(buffer))
    e.effect(metadata)
    size = element_bytes(type.element_type)
    within = e.op(arith.AndIOp(pointer, e.value(VECTOR_BYTES - 1)))  # what may be added without overflow
    start = within if size == 1 else e.op(arith.DivUIOp(within, e.value(size)))
    return e.value(_place(e, start, index, list(metadata.strides)[: len(index) - 1]))


def _place(e: Emitter, start: Num, index: Sequence[Num], outer: Sequence[SSAValue]) -> Num:
    """Where an element lies, in elements, if the buffer starts at `start`; `outer`: its strides, but the last."""
    for i, stride in zip(index[:-1], outer, strict=True):
        start = e.add(start, e.mul(i, stride))
    return e.add(start, index[-1])


def bits_of(e: Emitter, place: SSAValue, in_word: int) -> SSAValue:
    """How many bits of a word lie before a place; funnel shifts count modulo 32, so nothing is masked."""
    bits = arith.ConstantOp.from_int_and_width((8 * WORD_BYTES // in_word).bit_length() - 1, i32)
    return e.op(arith.ShLIOp(e.op(arith.IndexCastOp(place, i32)), e.op(bits)))


def in_word(element: Attribute) -> int:
    """How many elements a word has; 1 of those that are no smaller."""
    return max(1, WORD_BYTES // element_bytes(element))


def words_of(e: Emitter, row: SSAValue, element: Attribute) -> list[SSAValue]:
    """A row as words of 32 bits; as its elements if these are no smaller."""
    each = in_word(element)
    assert isinstance(row.type, VectorType)
    (count,) = row.type.get_shape()
    if each == 1:
        return [e.op(vector.ExtractOp(row, [v], element)) for v in range(count)]
    return [_word(e, pairs.shuffle(e, row, row, range(v, v + each))) for v in range(0, count, each)]


def _word(e: Emitter, elements: SSAValue) -> SSAValue:
    return e.op(vector.ExtractOp(e.op(vector.BitcastOp(elements, _WORD)), [0], i32))


def row_of_words(e: Emitter, words: Sequence[SSAValue], element: Attribute) -> SSAValue:
    """A row of what `words_of` gives."""
    if in_word(element) == 1:
        return pairs.together(e, words)
    type = VectorType(element, [in_word(element)])
    return pairs.joined(e, [e.op(vector.BitcastOp(pairs.together(e, [word]), type)) for word in words])
