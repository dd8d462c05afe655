"""Rows that do not lie where vectors do: they are loaded in shorter ones, out of which a lane's columns are cut.

Elements smaller than a word are cut out of words; of larger ones a lane takes its own by selections.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, MemRefType, VectorType, i32
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
    """Rows loaded in pieces, of which the first begins in a lane's columns or before them.

    A lane has from the one beside what this has loaded too (`op.partial`).
    """

    def __init__(self, body: RegisterBody, op: LoadOp) -> None:
        self.body, self.op = body, op
        self.e, self.layout, self.element = body.e, layout_of(op.tile), op.tile.type.element
        self.in_word = in_word(self.element)
        self.piece = columns_at_once(self.element, self.layout.vector)
        self.partial = self._partial()
        self.count = self.layout.vector // self.piece + (self.partial is None)
        self.type = VectorType(self.element, [self.piece])
        self.waiting = self.e.alloca([*self.layout.shape[:-1], self.count], self.type, PRIVATE, "pieces")

    def _partial(self) -> str | None:
        return self.op.partial.data if self.op.partial is not None else None

    def _slot(self, at: Where, number: int) -> list[Num]:
        return [*self.body.register_index(self.layout, at)[:-1], number]

    def fetch(self, at: Where) -> None:
        """Load what a row is made of."""
        e, index = self.e, self.index(at)
        before = misalignment(e, self.place(at), self.piece)
        # the first pair begins in the lane's columns, not before them, where these come from the left
        first = e.add(index[-1], before) if self.partial == "left" else e.sub(index[-1], before)
        for number in range(self.count):
            self.load([*index[:-1], e.add(first, number * self.piece)], number, before, at)

    def load(self, index: Sequence[Num], number: int, before: SSAValue, at: Where) -> None:
        """Load a piece of a row, of which the first begins so many columns `before` the lane's."""
        loaded = self.e.op(vector.LoadOp(self.op.buffer, [self.e.value(i) for i in index], self.type))
        self.e.store(loaded, self.waiting, self._slot(at, number))

    def row(self, at: Where) -> SSAValue:
        """The lane's columns of a row, made of what has been loaded."""
        e = self.e
        pieces = [e.load(self.waiting, self._slot(at, number)) for number in range(self.count)]
        words = [word for held in pieces for word in words_of(e, held, self.element)]
        return row_of_words(e, self.words(words, at), self.element)

    def index(self, at: Where) -> list[Num]:
        """Where in the buffer a point is."""
        return self.body.memory_index(self.op.indices, at, self.layout)

    def place(self, at: Where) -> SSAValue:
        """Where the row begins in memory, or one that lies like it; modulo a piece, the same for all lanes."""
        first = Where(self.body.warp, 0, 0, like_row(self.e, at.row, self.piece), at.deep)
        return place_in_memory(self.e, self.op.buffer, self.index(first))

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


class MovedPieces(Pieces):
    """The same of words in border tiles: rows lie where `rows` of the operation says, for each lane by itself."""

    def _partial(self) -> None:
        # what the next lane has loaded may be of another place; and shuffles in a branch are slow
        return None

    def load(self, index: Sequence[Num], number: int, before: SSAValue, at: Where) -> None:
        """The last piece only where a row does not begin with a piece: else the buffer may end there."""
        if number < self.count - 1:
            super().load(index, number, before, at)
            return
        e = self.e
        # nothing is cut out of it then; it must not be what other loads give, or this one waits for them
        e.store(zeros(e, self.type), self.waiting, self._slot(at, number))
        with e.when(e.compare("ne", before, 0)):
            super().load(index, number, before, at)

    def index(self, at: Where) -> list[Num]:
        return list(self.body.run(self.op.rows, at, self.layout)[: len(self.op.indices)])

    def place(self, at: Where) -> SSAValue:
        return place_in_memory(self.e, self.op.buffer, self.index(at))


def pieces_inside(e: Emitter, buffer: SSAValue, rows: tuple[Num, Num], piece: int) -> SSAValue:
    """Whether pieces that hold elements of these rows, first to last, lie in the buffer as wholes.

    If need be in other rows of it: only its first row may begin in the midst of a piece, and its last one end so. Rows
    beside the buffer are read at its edges.
    """
    metadata = memref.ExtractStridedMetaDataOp(buffer)
    e.effect(metadata)
    rank = len(metadata.strides)
    outer = list(metadata.strides)[: rank - 1]
    last = [e.sub(e.dim(buffer, axis), 1) for axis in range(rank)]
    begins = misalignment(e, place_in_memory(e, buffer, [0] * rank), piece)
    ends = misalignment(e, place_in_memory(e, buffer, [*last[:-1], e.add(last[-1], 1)]), piece)
    inside = e.both(
        e.either(e.compare("sge", e.min(rows[0], last[-2]), 1), e.compare("eq", begins, 0)),
        e.either(e.compare("slt", e.max(rows[1], 0), last[-2]), e.compare("eq", ends, 0)),
    )
    for stride in outer:
        inside = e.both(inside, e.compare("sge", stride, piece))
    assert inside is not None
    return inside


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


def zeros(e: Emitter, type: VectorType) -> SSAValue:
    """A vector of zeros."""
    element = type.element_type
    if isinstance(element, IntegerType):
        zero = arith.ConstantOp(IntegerAttr(0, element))
    else:
        zero = arith.ConstantOp(FloatAttr(0.0, element))  # type: ignore[call-overload]
    return e.op(vector.BroadcastOp(e.op(zero), type))


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
