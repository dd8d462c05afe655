"""Loads of unaligned rows in short aligned pieces, from which a lane's columns are extracted.

Elements smaller than a word are cut out of words; of larger ones a lane takes its own by selections.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, MemRefType, VectorType, i32
from xdsl.ir import Attribute, SSAValue

from tilefuse.dialects.funnel_shifts import FshrOp
from tilefuse.dialects.gpu_shuffle import ShuffleMode
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import LoadOp
from tilefuse.execution.warp_tile.body import LanePoint
from tilefuse.execution.warp_tile.footprints import WORD_BYTES
from tilefuse.execution.warp_tile.layout import columns_at_once
from tilefuse.execution.warp_tile.registers import Registers
from tilefuse.execution.warp_tile.schedule import layout_of
from tilefuse.execution.warp_tile.vectors import concatenated, shuffle, together
from tilefuse.lowering.emit import PRIVATE, Emitter, Num

_WORD = VectorType(i32, [1])

VECTOR_BYTES = 16
"""Bytes of the largest vectors, at multiples of which they may lie."""


class Pieces:
    """Row loads in pieces, the first of which begins in or before a lane's columns.

    A lane has from the one beside what this has loaded too (`op.partial`).
    """

    def __init__(self, body: Registers, op: LoadOp) -> None:
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

    def _slot(self, at: LanePoint, number: int) -> list[Num]:
        return [*self.body.register_index(self.layout, at)[:-1], number]

    def fetch(self, at: LanePoint) -> None:
        """Load the pieces of a row."""
        self.load(self.first(*self.located(at)), [None] * self.count, at)

    def row(self, at: LanePoint) -> SSAValue:
        """Return the lane's columns of a row, extracted from its pieces."""
        e = self.e
        pieces = [e.load(self.waiting, self._slot(at, number)) for number in range(self.count)]
        words = [word for piece in pieces for word in words_of(e, piece, self.element)]
        return row_of_words(e, self.words(words, self.located(at)[1], self.offered(words, at)), self.element)

    def offered(self, words: Sequence[SSAValue], at: LanePoint) -> Sequence[SSAValue]:
        """Return the words of this lane that the adjacent lane needs: the last, or words of the first piece."""
        if self.partial == "left":
            return words[-1:]
        # of a pair never more than the first element
        return words[: self.piece // self.in_word if self.in_word > 1 else 1] if self.partial else []

    def located(self, at: LanePoint) -> tuple[list[Num], SSAValue]:
        """Return the memref indices of a point, and of a row start of equal alignment.

        The latter counts modulo a piece, and is the same for all lanes.
        """
        like = LanePoint(self.body.warp, 0, 0, like_row(self.e, at.row, self.piece), at.deep)
        index, first = (self.body.memory_index(self.op.indices, where, self.layout) for where in (at, like))
        return index, place_in_memory(self.e, self.op.buffer, first)

    def first(self, index: Sequence[Num], place: SSAValue) -> list[Num]:
        """Return the memref indices of a row's first piece."""
        *outer, column = index
        before = misalignment(self.e, place, self.piece)
        # the first pair begins in the lane's columns, not before them, where these come from the left
        return [*outer, self.e.add(column, before) if self.partial == "left" else self.e.sub(column, before)]

    def load(self, first: Sequence[Num], conditions: Sequence[SSAValue | None], at: LanePoint) -> None:
        """Load the pieces of a row; zeros for pieces whose condition, if any, is false."""
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
        """Return the lane's columns of a row, from its own words and words offered by the adjacent lane."""
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
    """Pieces of words in border tiles: `rows` of the operation gives each lane its own row places.

    Rows are a piece apart at least (`WarpPlan.vectors_uniform`), and the tile's last row is the last of them in memory.
    The piece in which the buffer begins may be loaded as it is: memory is allocated at multiples of vectors. What lies
    behind the one in which it ends may be nobody's: lanes that need that read single elements (`put_end`).
    """

    def _partial(self) -> None:
        # what the next lane has loaded may be of another place; and shuffles in a branch are slow
        return None

    def located(self, at: LanePoint) -> tuple[list[Num], SSAValue]:
        index: list[Num] = [*self.body.run(self.op.rows, at, self.layout)[: len(self.op.indices)]]
        return index, place_in_memory(self.e, self.op.buffer, index)

    def fetch(self, at: LanePoint) -> None:
        """Load the pieces of a row, except a piece that is partly outside the buffer."""
        first = self.first(*self.located(at))
        self.load(first, [*[None] * (self.count - 1), self._inside(first)], at)

    def _inside(self, first: Sequence[Num]) -> SSAValue:
        """Return whether a row's last piece lies wholly inside the buffer."""
        e, buffer = self.e, self.op.buffer
        behind = e.add(offset(e, buffer, first), self.count * self.piece - 1)
        return e.compare("sle", behind, offset(e, buffer, self._last()))

    # --- the piece in which the buffer ends

    def _last(self) -> list[Num]:
        """Return the index of the buffer's last element."""
        return [self.e.sub(self.e.dim(self.op.buffer, axis), 1) for axis in range(len(self.op.indices))]

    def _in_last(self) -> SSAValue:
        """Return how many elements of the buffer's last piece lie inside it; 0 for all."""
        e, (*outer, column) = self.e, self._last()
        return misalignment(e, place_in_memory(e, self.op.buffer, [*outer, e.add(column, 1)]), self.piece)

    def may_reach_end(self, at: LanePoint) -> SSAValue:
        """Return whether the lane may need a piece that is partly outside the buffer, in rows up to this one."""
        e, (*_, row, column), (*_, bottom, right) = self.e, self.located(at)[0], self._last()
        beside = e.compare("sgt", e.add(column, self.count * self.piece - 1), right)
        # not `row >= bottom`, which is `==` here: of an index clamped to 0..end ptxas 13.0 takes that for its contrary
        below = e.compare("sgt", row, e.sub(bottom, 1))
        reach = e.both(e.compare("ne", self._in_last(), 0), e.both(below, beside))
        assert reach is not None
        return reach

    def fetch_end(self) -> SSAValue:
        """Load the buffer's last piece element by element; return an array of them."""
        e, (*outer, last), count = self.e, self._last(), self._in_last()
        found = e.alloca([self.piece], self.element, PRIVATE, "end")
        for number in range(self.piece):
            e.store(zero(e, self.element), found, [number])
        for number in range(self.piece - 1):
            with e.when(e.compare("slt", number, count)):
                column = e.add(e.sub(last, count), number + 1)
                e.store(e.load(self.op.buffer, [*outer, column]), found, [number])
        return found

    def put_end(self, end: SSAValue, at: LanePoint) -> None:
        """Insert the values of `fetch_end` where a row has this piece."""
        e, slot = self.e, self._slot(at, self.count - 1)
        piece = together(e, [e.load(end, [v]) for v in range(self.piece)])
        inside = self._inside(self.first(*self.located(at)))
        e.store(e.select(inside, e.load(self.waiting, slot), piece), self.waiting, slot)


def like_row(e: Emitter, row: Num, piece: int) -> Num:
    """Return an earlier row of equal alignment: alignment repeats after as many rows as a piece has elements."""
    return row % piece if isinstance(row, int) else e.op(arith.AndIOp(row, e.value(piece - 1)))


def misalignment(e: Emitter, place: SSAValue, width: int) -> SSAValue:
    """Return the elements between a place in memory and the last aligned place for a vector of this width."""
    return e.op(arith.AndIOp(place, e.value(width - 1)))


def place_in_memory(e: Emitter, buffer: SSAValue, index: Sequence[Num]) -> SSAValue:
    """Return the address of an element, in elements from an address that is aligned for any vector."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    pointer = e.op(memref.ExtractAlignedPointerAsIndexOp.get(buffer))
    size = element_bytes(type.element_type)
    within = e.op(arith.AndIOp(pointer, e.value(VECTOR_BYTES - 1)))  # what may be added without overflow
    start = within if size == 1 else e.op(arith.DivUIOp(within, e.value(size)))
    return e.value(offset(e, buffer, index, start))


def offset(e: Emitter, buffer: SSAValue, index: Sequence[Num], start: Num = 0) -> Num:
    """Return the offset of an element in contiguous rows; `start`: the offset of the element at indices 0."""
    metadata = memref.ExtractStridedMetaDataOp(buffer)
    e.effect(metadata)
    for i, stride in zip(index[:-1], list(metadata.strides)[: len(index) - 1], strict=True):
        start = e.add(start, e.mul(i, stride))
    return e.add(start, index[-1])


def bits_of(e: Emitter, place: SSAValue, in_word: int) -> SSAValue:
    """Return the bits of a word before a place; funnel shifts work modulo 32, so no mask is needed."""
    bits = arith.ConstantOp.from_int_and_width((8 * WORD_BYTES // in_word).bit_length() - 1, i32)
    return e.op(arith.ShLIOp(e.op(arith.IndexCastOp(place, i32)), e.op(bits)))


def zero(e: Emitter, element: Attribute) -> SSAValue:
    """Return the constant 0."""
    if isinstance(element, IntegerType):
        return e.op(arith.ConstantOp(IntegerAttr(0, element)))
    return e.op(arith.ConstantOp(FloatAttr(0.0, element)))  # type: ignore[call-overload]


def in_word(element: Attribute) -> int:
    """Return the elements of a word; 1 for elements at least as wide."""
    return max(1, WORD_BYTES // element_bytes(element))


def words_of(e: Emitter, row: SSAValue, element: Attribute) -> list[SSAValue]:
    """Return a row as 32-bit words, or as its elements if these are at least as wide."""
    each = in_word(element)
    assert isinstance(row.type, VectorType)
    (count,) = row.type.get_shape()
    if each == 1:
        return [e.op(vector.ExtractOp(row, [v], element)) for v in range(count)]
    return [_word(e, shuffle(e, row, row, range(v, v + each))) for v in range(0, count, each)]


def _word(e: Emitter, elements: SSAValue) -> SSAValue:
    return e.op(vector.ExtractOp(e.op(vector.BitcastOp(elements, _WORD)), [0], i32))


def row_of_words(e: Emitter, words: Sequence[SSAValue], element: Attribute) -> SSAValue:
    """Return a row from the words of `words_of`."""
    if in_word(element) == 1:
        return together(e, words)
    type = VectorType(element, [in_word(element)])
    return concatenated(e, [e.op(vector.BitcastOp(together(e, [word]), type)) for word in words])
