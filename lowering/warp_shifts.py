"""Rows that do not lie where vectors do.

What is stored moves over the lanes, so that memory sees vectors all the same. Powers of two make up any distance; which
of them it takes is the same for all lanes, but these are selections, not branches: shuffles in a branch are slow, even
if all lanes take it. What is loaded is loaded in words, out of which elements smaller than those are cut.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import VectorType, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilefuse.analysis.warp_layout import WORD_BYTES, words_at_once
from tilefuse.dialects.gpu_shuffle import ShuffleMode
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import LoadOp, StoreOp
from tilefuse.lowering import pairs
from tilefuse.lowering.emit import PRIVATE, Emitter, Num
from tilefuse.lowering.warp_body import Where
from tilefuse.lowering.warp_schedule import layout_of

if TYPE_CHECKING:
    from tilefuse.lowering.warp_registers import RegisterBody

_WORD = VectorType(i32, [1])


def misalignment(
    body: RegisterBody, op: LoadOp | StoreOp, row: Num, deep: tuple[Num, ...], vector_width: int
) -> SSAValue:
    """Elements from the last place before a lane's row where so wide a vector may lie; the same for all lanes."""
    e, layout = body.e, layout_of(op.tile)
    element = op.tile.type.element  # type: ignore[attr-defined]
    metadata = memref.ExtractStridedMetaDataOp(op.buffer)
    pointer = e.op(memref.ExtractAlignedPointerAsIndexOp.get(op.buffer))
    e.effect(metadata)
    first = body.memory_index(op.indices, Where(body.warp, 0, 0, row, deep), layout)
    size = element_bytes(element)
    place: Num = pointer if size == 1 else e.op(arith.DivUIOp(pointer, e.value(size)))
    for i, stride in zip(first[:-1], metadata.strides, strict=False):
        place = e.add(place, e.mul(i, stride))
    place = e.value(e.add(place, first[-1]))
    return e.op(arith.AndIOp(place, e.value(vector_width - 1)))


def load_words(
    body: RegisterBody, op: LoadOp, row_loop: Callable[[Callable[[Where], None]], None], put: Callable[..., None]
) -> None:
    """All rows as words, of which the first may begin before a lane's columns, and the last end after them.

    `put` keeps a row, as it lies in memory, in registers.
    """
    e, layout = body.e, layout_of(op.tile)
    element = op.tile.type.element
    in_word, piece = _in_word(element), 1 + columns_beyond(element, layout.vector)
    type, count = VectorType(element, [piece]), layout.vector // piece + 1
    waiting = e.alloca([*layout.shape[:-1], count], type, PRIVATE, "words")

    def place(at: Where, number: int) -> list[Num]:
        return [*body.register_index(layout, at)[:-1], number]

    def fetch(at: Where) -> None:
        shift = misalignment(body, op, at.row, at.deep, piece)
        index = body.memory_index(op.indices, at, layout)
        index[-1] = e.sub(index[-1], shift)
        # the last piece is the one before it, where that one is the last that has a column
        last = e.pick(e.compare("eq", shift, 0), layout.vector - piece, layout.vector)
        for number in range(count):
            column = e.add(index[-1], last if number == count - 1 else number * piece)
            loaded = e.op(vector.LoadOp(op.buffer, [e.value(i) for i in (*index[:-1], column)], type))
            e.store(loaded, waiting, place(at, number))

    def move(at: Where) -> None:
        shift = misalignment(body, op, at.row, at.deep, piece)
        pieces = [e.load(waiting, place(at, number)) for number in range(count)]
        words = [word for held in pieces for word in _words(e, held, element, piece)]
        if piece > in_word:
            second = e.compare("ne", e.op(arith.AndIOp(shift, e.value(in_word))), 0)
            words = [e.select(second, after, word) for word, after in itertools.pairwise(words)]
            shift = e.op(arith.AndIOp(shift, e.value(in_word - 1)))
        bits = e.mul(shift, 8 * WORD_BYTES // in_word)
        put(_row(e, [_funnel(e, *both, bits) for both in itertools.pairwise(words)], element), op.tile, at, None)

    row_loop(fetch)
    row_loop(move)


def store_shifted(
    body: RegisterBody, op: StoreOp, row: Num, deep: tuple[Num, ...], alive: SSAValue | None, guard: bool
) -> None:
    """A row as vectors where these lie in memory: it moves up to `vector - 1` columns to the right over the lanes.

    It is stored where `alive`; with `guard` what lies in the buffer.
    """
    e, layout = body.e, layout_of(op.tile)
    element = op.tile.type.element  # type: ignore[attr-defined]
    shift = misalignment(body, op, row, deep, layout.vector)
    if can_cut(element, layout.vector):
        words, in_word = _words(e, body.row(op.tile, row, deep), element, layout.vector), _in_word(element)
    else:
        words, in_word = [body.load(op.tile, body.here(v, row, deep)) for v in range(layout.vector)], 1
    moved = _moved(body, words, shift, in_word, layout.lanes[0])
    found = _row(e, moved, element) if in_word > 1 else pairs.together(e, moved)

    (_, x1), _ = op.within
    first, end = (-(-(x - layout.origin[0]) // layout.vector) for x in (0, x1))
    if guard:
        # the last columns of the last lane have moved out of it, and there may be no tile to the right
        with e.when(e.both(alive, e.compare("eq", body.lane, end - 1))):
            for c in range(1, layout.vector):
                there = body.here(c, row, deep)
                index = body.memory_index(op.indices, there, layout)
                moved_out = e.compare("sge", e.add(shift, c), layout.vector)
                with e.when(e.both(moved_out, body.in_buffer(op.buffer, index))):
                    e.store(body.load(op.tile, there), op.buffer, index)
    own = e.both(alive, e.both(e.compare("sge", body.lane, first), e.compare("slt", body.lane, end)))
    index = body.memory_index(op.indices, body.here(0, row, deep), layout)
    index[-1] = e.sub(index[-1], shift)

    def column(c: int) -> list[Num]:
        return [*index[:-1], e.add(index[-1], c)]

    def store_where(condition: SSAValue | None) -> None:
        assert condition is not None
        if body.masks_stores:
            body.store_masked(op.buffer, index, condition, found)
            return
        with e.when(condition):
            e.effect(vector.StoreOp(found, op.buffer, [e.value(i) for i in index]))

    if not guard:
        store_where(own)
        return
    ends = [body.in_buffer(op.buffer, column(c)) for c in (0, layout.vector - 1)]
    inside = e.both(*ends)
    assert inside is not None
    store_where(e.both(own, inside))
    with e.when(e.both(own, e.negate(inside))):
        for c in range(layout.vector):
            with e.when(body.in_buffer(op.buffer, column(c))):
                e.store(e.op(vector.ExtractOp(found, [c], element)), op.buffer, column(c))


def _moved(body: RegisterBody, words: Sequence[SSAValue], shift: SSAValue, in_word: int, lanes: int) -> list[SSAValue]:
    """A lane's row of words, of `in_word` elements each, after it has moved `shift` columns to the right."""
    e, count = body.e, len(words)
    # what may move into the row stands before it: all words of the lane before where words are cut, else all but one
    entering = words if in_word > 1 else words[1:]
    row = [*(body.shuffle(word, 1, ShuffleMode.Up, lanes) for word in entering), *words]
    by = count // 2
    while by:
        far = e.compare("ne", e.op(arith.AndIOp(shift, e.value(by * in_word))), 0)
        row = [e.select(far, before, own) for before, own in zip(row[:-by], row[by:], strict=True)]
        by //= 2
    if in_word == 1:
        return row
    bits = e.mul(e.op(arith.AndIOp(shift, e.value(in_word - 1))), 8 * WORD_BYTES // in_word)
    return [_funnel(e, low, high, e.sub(8 * WORD_BYTES, bits)) for low, high in itertools.pairwise(row)]


def can_cut(element: Attribute, vector: int) -> bool:
    """Whether a lane's row is one access of whole words, with several elements each."""
    return element in (i8, i16) and element_bytes(element) * vector in (4, 8, 16)


def columns_beyond(element: Attribute, vector: int) -> int:
    """How many columns before and after a lane's are loaded at most, where a row is loaded in words."""
    size = element_bytes(element)
    return words_at_once(size * vector) * WORD_BYTES // size - 1


def _in_word(element: Attribute) -> int:
    return WORD_BYTES // element_bytes(element)


def _words(e: Emitter, row: SSAValue, element: Attribute, count: int) -> list[SSAValue]:
    """A row as words of 32 bits."""
    in_word = _in_word(element)
    return [_word(e, pairs.shuffle(e, row, row, range(v, v + in_word))) for v in range(0, count, in_word)]


def _word(e: Emitter, elements: SSAValue) -> SSAValue:
    return e.op(vector.ExtractOp(e.op(vector.BitcastOp(elements, _WORD)), [0], i32))


def _row(e: Emitter, words: Sequence[SSAValue], element: Attribute) -> SSAValue:
    type = VectorType(element, [_in_word(element)])
    return pairs.joined(e, [e.op(vector.BitcastOp(pairs.together(e, [word]), type)) for word in words])


def _funnel(e: Emitter, low: SSAValue, high: SSAValue, bits: Num) -> SSAValue:
    """The word that begins `bits` after the beginning of `low`."""
    wide = e.op(arith.ShLIOp(e.op(arith.ExtUIOp(high, i64)), e.op(arith.ConstantOp.from_int_and_width(32, i64))))
    both = e.op(arith.OrIOp(wide, e.op(arith.ExtUIOp(low, i64))))
    by = e.op(arith.IndexCastOp(e.value(bits), i64))
    return e.op(arith.TruncIOp(e.op(arith.ShRUIOp(both, by)), i32))
