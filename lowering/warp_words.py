"""Rows of small elements that do not lie where vectors do: they are loaded in words, out of which they are cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import MemRefType, VectorType, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilefuse.analysis.warp_layout import WORD_BYTES, words_at_once
from tilefuse.dialects.funnel_shifts import FshrOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import LoadOp
from tilefuse.lowering import pairs
from tilefuse.lowering.emit import PRIVATE, Emitter, Num
from tilefuse.lowering.warp_body import Where
from tilefuse.lowering.warp_schedule import layout_of

if TYPE_CHECKING:
    from tilefuse.lowering.warp_registers import RegisterBody

_WORD = VectorType(i32, [1])

PIECE_BYTES = 16
"""What the largest vectors take."""


class Words:
    """A load of all rows as words, of which the first may begin before a lane's columns; the last ends after them."""

    def __init__(self, body: RegisterBody, op: LoadOp, row_loop: Callable[[Callable[[Where], None]], None]) -> None:
        self.body, self.op, self.row_loop = body, op, row_loop
        self.e, self.layout, self.element = body.e, layout_of(op.tile), op.tile.type.element
        self.in_word, self.piece = in_word(self.element), columns_beyond(self.element, self.layout.vector)

    def load(self) -> None:
        """All that is loaded is on its way before the first of it is needed."""
        e, layout = self.e, self.layout
        type, count = VectorType(self.element, [self.piece]), layout.vector // self.piece + 1
        waiting = e.alloca([*layout.shape[:-1], count], type, PRIVATE, "words")

        def slot(at: Where, number: int) -> list[Num]:
            return [*self.body.register_index(layout, at)[:-1], number]

        def fetch(at: Where) -> None:
            index = self.index(at)
            index[-1] = e.sub(index[-1], misalignment(e, self.place(at), self.piece))
            for number in range(count):
                column = e.value(e.add(index[-1], number * self.piece))
                loaded = e.op(vector.LoadOp(self.op.buffer, [*(e.value(i) for i in index[:-1]), column], type))
                e.store(loaded, waiting, slot(at, number))

        def cut(at: Where) -> None:
            pieces = [e.load(waiting, slot(at, number)) for number in range(count)]
            words = self.words([word for held in pieces for word in words_of(e, held, self.element, self.piece)], at)
            self.body.put_row(row_of_words(e, words, self.element), self.op.tile, at, None)

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
        e, place = self.e, self.place(at)
        if self.piece > self.in_word:
            second = e.compare("ne", e.op(arith.AndIOp(place, e.value(self.in_word))), 0)
            loaded = [e.select(second, after, word) for word, after in pairwise(loaded)]
        bits = bits_of(e, place, self.in_word)
        return [e.op(FshrOp(high, low, bits)) for low, high in pairwise(loaded)]


class RepeatedWords(Words):
    """The same in border tiles: in columns beside the buffer stands the edge's element, whatever words have there."""

    def inside(self) -> SSAValue:
        """Whether all words of a warp lie in the buffer, if need be in other rows of it."""
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
    within = e.op(arith.AndIOp(pointer, e.value(PIECE_BYTES - 1)))  # what may be added without overflow
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


def columns_beyond(element: Attribute, vector: int) -> int:
    """How many columns before and after a lane's are loaded at most, where a row is loaded in words."""
    size = element_bytes(element)
    return words_at_once(size * vector) * WORD_BYTES // size


def in_word(element: Attribute) -> int:
    """How many elements a word has."""
    return WORD_BYTES // element_bytes(element)


def words_of(e: Emitter, row: SSAValue, element: Attribute, count: int) -> list[SSAValue]:
    """A row as words of 32 bits."""
    each = in_word(element)
    return [_word(e, pairs.shuffle(e, row, row, range(v, v + each))) for v in range(0, count, each)]


def _word(e: Emitter, elements: SSAValue) -> SSAValue:
    return e.op(vector.ExtractOp(e.op(vector.BitcastOp(elements, _WORD)), [0], i32))


def row_of_words(e: Emitter, words: Sequence[SSAValue], element: Attribute) -> SSAValue:
    """Words of 32 bits as a row."""
    type = VectorType(element, [in_word(element)])
    return pairs.joined(e, [e.op(vector.BitcastOp(pairs.together(e, [word]), type)) for word in words])
