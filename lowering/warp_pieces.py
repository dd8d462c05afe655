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
        self.load(self.first(*self.located(at)), [None] * self.count, at)

    def row(self, at: Where) -> SSAValue:
        """The lane's columns of a row, made of what has been loaded."""
        e = self.e
        pieces = [e.load(self.waiting, self._slot(at, number)) for number in range(self.count)]
        words = [word for held in pieces for word in words_of(e, held, self.element)]
        return row_of_words(e, self.words(words, self.located(at)[1], self.offered(words, at)), self.element)

    def offered(self, words: Sequence[SSAValue], at: Where) -> Sequence[SSAValue]:
        """What the lane beside has of this one's words: the last, or those of the first piece in which its own end."""
        if self.partial == "left":
            return words[-1:]
        # of a pair never more than the first element
        return words[: self.piece // self.in_word if self.in_word > 1 else 1] if self.partial else []

    def located(self, at: Where) -> tuple[list[Num], SSAValue]:
        """Where in the buffer a point is; and where in memory the row begins, or one that lies like it.

        The latter counts modulo a piece, and is the same for all lanes.
        """
        like = Where(self.body.warp, 0, 0, like_row(self.e, at.row, self.piece), at.deep)
        index, first = (self.body.memory_index(self.op.indices, where, self.layout) for where in (at, like))
        return index, place_in_memory(self.e, self.op.buffer, first)

    def first(self, index: Sequence[Num], place: SSAValue) -> list[Num]:
        """Where in the buffer a row's first piece is."""
        *outer, column = index
        before = misalignment(self.e, place, self.piece)
        # the first pair begins in the lane's columns, not before them, where these come from the left
        return [*outer, self.e.add(column, before) if self.partial == "left" else self.e.sub(column, before)]

    def load(self, first: Sequence[Num], conditions: Sequence[SSAValue | None], at: Where) -> None:
        """Load the pieces of a row, from the first one on; zeros for those whose condition, if any, does not hold."""
        e, (*outer, column) = self.e, first
        for number, condition in enumerate(conditions):
            slot, index = self._slot(at, number), [*outer, e.add(column, number * self.piece)]
            if condition is not None:
                # not what another load gives, or this one waits for that
                e.store(e.op(vector.BroadcastOp(zero(e, self.element), self.type)), self.waiting, slot)
            with e.when(condition):
                loaded = e.op(vector.LoadOp(self.op.buffer, [e.value(i) for i in index], self.type))
                e.store(loaded, self.waiting, slot)

    def words(self, loaded: Sequence[SSAValue], place: SSAValue, offered: Sequence[SSAValue]) -> list[SSAValue]:
        """The lane's columns of a row, of what it has loaded and what the lane beside has for it."""
        e, lanes = self.e, self.layout.lanes[0]
        if self.partial == "left":
            loaded = [*(self.body.shuffle(word, 1, ShuffleMode.Up, lanes) for word in offered), *loaded]
        elif self.partial == "right":
            loaded = [*loaded, *(self.body.shuffle(word, 1, ShuffleMode.Down, lanes) for word in offered)]
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
    """The same of words in border tiles: rows lie where `rows` of the operation says, for each lane by itself.

    Only the buffer's first row may begin in the midst of a piece, and its last one end so, where that piece lies partly
    outside of it. `inside` says whether none of them is loaded; else these pieces are loaded by single elements.
    """

    def _partial(self) -> None:
        # what the next lane has loaded may be of another place; and shuffles in a branch are slow
        return None

    def located(self, at: Where) -> tuple[list[Num], SSAValue]:
        index: list[Num] = [*self.body.run(self.op.rows, at, self.layout)[: len(self.op.indices)]]
        return index, place_in_memory(self.e, self.op.buffer, index)

    def fetch(self, at: Where, *, at_ends: bool = False) -> None:
        """Load what a row is made of, with `at_ends` but the pieces that `fetch_ends` gives.

        The last piece only where the row begins in the midst of one: else the buffer may end there.
        """
        e, (index, place) = self.e, self.located(at)
        first = self.first(index, place)
        begin: SSAValue | None = None
        end: SSAValue | None = e.compare("ne", misalignment(e, place, self.piece), 0)
        if at_ends:
            before, behind = self._outside(first)
            begin, end = e.negate(before), e.both(end, e.negate(behind))
        self.load(first, [begin, *[None] * (self.count - 2), end], at)

    # --- the ends of the buffer

    def inside(self, rows: tuple[Where, Where]) -> SSAValue:
        """Whether all pieces of these rows, first to last, lie in the buffer."""
        e, (first, last) = self.e, (self.located(at)[0][-2] for at in rows)
        begins, ends = self._ends()
        inside = e.both(
            e.either(e.compare("sge", first, 1), e.compare("eq", begins, 0)),
            e.either(e.compare("slt", last, self._last()[-2]), e.compare("eq", ends, 0)),
        )
        assert inside is not None
        return inside

    def _ends(self) -> tuple[SSAValue, SSAValue]:
        """So many elements of the piece in which the buffer begins lie before it; so many of its last in it, 0: all."""
        e, buffer, last = self.e, self.op.buffer, self._last()
        begin, end = [0] * len(last), [*last[:-1], e.add(last[-1], 1)]
        places = (place_in_memory(e, buffer, index) for index in (begin, end))
        begins, ends = (misalignment(e, place, self.piece) for place in places)
        return begins, ends

    def _last(self) -> list[Num]:
        """The index of the buffer's last element."""
        return [self.e.sub(self.e.dim(self.op.buffer, axis), 1) for axis in range(len(self.op.indices))]

    def _outside(self, first: Sequence[Num]) -> tuple[SSAValue, SSAValue]:
        """Whether, of a row's pieces, the buffer begins within the first, and ends within the last."""
        e, last = self.e, self._last()
        before = e.compare("slt", first[-1], 0)
        behind = e.compare("sgt", e.add(first[-1], self.count * self.piece - 1), last[-1])
        for i, end in zip(first[:-1], last[:-1], strict=True):
            before = e.op(arith.AndIOp(before, e.compare("slt", i, 1)))
            # not `i == end`: of an index that is clamped to 0..end ptxas 13.0 takes that for its contrary
            behind = e.op(arith.AndIOp(behind, e.compare("sgt", i, e.sub(end, 1))))
        return before, behind

    def fetch_ends(self) -> SSAValue:
        """Load the pieces in which the buffer begins and ends, by single elements; gives an array of them."""
        e, last, (begins, ends) = self.e, self._last(), self._ends()
        found = e.alloca([2, self.piece], self.element, PRIVATE, "ends")
        nothing = zero(e, self.element)
        for number in range(self.piece):
            e.store(nothing, found, [0, number])
            with e.when(e.compare("sge", number, begins)):
                column = e.sub(number, begins)
                e.store(e.load(self.op.buffer, [*([0] * len(last[:-1])), column]), found, [0, number])
            e.store(nothing, found, [1, number])
            with e.when(e.compare("slt", number, ends)):
                column = e.add(e.sub(last[-1], ends), number + 1)
                e.store(e.load(self.op.buffer, [*last[:-1], column]), found, [1, number])
        return found

    def put_ends(self, ends: SSAValue, at: Where) -> None:
        """Put what `fetch_ends` gives where a row has these pieces."""
        e = self.e
        conditions = self._outside(self.first(*self.located(at)))
        for end, (number, condition) in enumerate(zip((0, self.count - 1), conditions, strict=True)):
            piece = pairs.together(e, [e.load(ends, [end, v]) for v in range(self.piece)])
            slot = self._slot(at, number)
            e.store(e.select(condition, piece, e.load(self.waiting, slot)), self.waiting, slot)


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


def zero(e: Emitter, element: Attribute) -> SSAValue:
    """The number 0."""
    if isinstance(element, IntegerType):
        return e.op(arith.ConstantOp(IntegerAttr(0, element)))
    return e.op(arith.ConstantOp(FloatAttr(0.0, element)))  # type: ignore[call-overload]


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
