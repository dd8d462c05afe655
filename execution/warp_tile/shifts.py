"""Stores of unaligned rows, shifted across lanes to aligned addresses.

What is stored moves over the lanes, so that memory sees vectors all the same, though several to a row. Powers of two
make up any distance; which of them it takes is the same for all lanes, but these are selections, not branches: shuffles
in a branch are slow, even if all lanes take it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tilefuse.dialects.funnel_shifts import FshlOp, FshrOp
from tilefuse.dialects.gpu_shuffle import ShuffleMode
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import StoreOp
from tilefuse.dialects.warp.memory import can_cut
from tilefuse.execution.warp_tile.body import LanePoint
from tilefuse.execution.warp_tile.layout import stored_at_once
from tilefuse.execution.warp_tile.pieces import (
    bits_of,
    in_word,
    like_row,
    misalignment,
    place_in_memory,
    row_of_words,
    words_of,
)
from tilefuse.execution.warp_tile.registers import RegisterPlace, Registers
from tilefuse.execution.warp_tile.schedule import layout_of
from tilefuse.execution.warp_tile.vectors import together
from tilefuse.lowering.emit import Num


def store_shifted(
    body: Registers, op: StoreOp, row: Num, deep: tuple[Num, ...], alive: SSAValue | None, border: bool
) -> None:
    """Store a row in aligned vectors: it moves right across lanes by less than a piece.

    It is stored where `alive`; in a border tile what lies in the buffer.
    """
    e, layout = body.e, layout_of(op.tile)
    element = op.tile.type.element  # type: ignore[attr-defined]
    piece = stored_at_once(element_bytes(element), layout.vector)
    pieces, each, shift = _pieces_of(body, op, row, deep, piece)

    first, end = (-(-(x - layout.origin[0]) // layout.vector) for x in (0, op.within[0][1]))
    index = body.memory_index(op.indices, body.here(0, row, deep), layout)
    outer = index[:-1]
    lanes = e.both(e.compare("sge", body.lane, first), e.compare("slt", body.lane, end))
    begin = e.sub(index[-1], shift)

    def vector_of(number: int) -> SSAValue:
        return row_of_words(e, pieces[number], element) if each > 1 else together(e, pieces[number])

    def place_of(number: int) -> list[RegisterPlace]:
        return [([*outer, e.add(begin, number * piece)], vector_of(number))]

    # a single wave waits for its slowest tile: one whose lanes store some pieces of a row, and not others
    masked = op.x_edge_only is not None and len(pieces) > 1
    if not border:
        own = e.both(alive, lanes)
        body.store_where(op.buffer, own, lambda: [p for n in range(len(pieces)) for p in place_of(n)], masked=masked)
        return
    width = e.dim(op.buffer, len(op.indices) - 1)
    # from the first column that is not in a piece of the tile on the left, which may lie in the same columns
    low: Num = 0 if op.first is None else e.max(e.add(e.add(op.indices[-1], op.first), 1 - piece), 0)
    after = e.add(op.indices[-1], layout.origin[0] + end * layout.vector)
    is_last = e.compare("sge", after, width)

    def store_inside(row: SSAValue | None, inside: Callable[[Num], SSAValue], masked: bool = False) -> None:
        """Store the pieces for which `inside` holds of the least column of the lane's first one."""
        with body.stores_of_row(e.both(row, lanes), masked=masked) as condition:
            for number in range(len(pieces)):
                there = inside(e.sub(low, number * piece))
                body.store_where(op.buffer, e.both(condition, there), partial(place_of, number), masked=masked)

    def anywhere() -> None:
        here = e.both(alive, body.in_buffer(op.buffer, outer))
        places = e.max(e.sub(width, e.add(low, piece - 1)), 0)
        store_inside(here, lambda least: e.within(e.sub(begin, least), places))
        end_of_row = _ShiftedRow([*outer, e.sub(begin, e.mul(body.lane, layout.vector))], here, is_last)
        _store_ends(body, op, pieces, each, end_of_row)

    def at_x_edges() -> None:
        store_inside(alive, lambda least: e.compare("sge", begin, least), masked)
        _store_end(body, op, pieces[0], each, (first, end), _ShiftedRow([*outer, shift], alive, is_last))

    if op.x_edge_only is None:
        anywhere()
    else:
        e.choose(op.x_edge_only, at_x_edges, anywhere)


def _pieces_of(
    body: Registers, op: StoreOp, row: Num, deep: tuple[Num, ...], piece: int
) -> tuple[list[list[SSAValue]], int, SSAValue]:
    """Shift a row to piece alignment: (words of each piece, elements of a word, columns moved by)."""
    e, layout = body.e, layout_of(op.tile)
    element = op.tile.type.element  # type: ignore[attr-defined]
    like = like_row(e, row, piece)
    place = place_in_memory(e, op.buffer, body.memory_index(op.indices, LanePoint(body.warp, 0, 0, like, deep), layout))
    shift = misalignment(e, place, piece)
    if can_cut(element, layout.vector):
        words, each = words_of(e, body.row(op.tile, row, deep), element), in_word(element)
    else:
        words, each = [body.load(op.tile, body.here(v, row, deep)) for v in range(layout.vector)], 1
    moved = _moved(body, words, place, each, piece // each, layout.lanes[0])
    return [moved[c // each : (c + piece) // each] for c in range(0, layout.vector, piece)], each, shift


class _ShiftedRow(NamedTuple):
    """A row of a buffer, whose end elements single lanes store."""

    at: Sequence[Num]
    """The memref indices of its row; the last one is a column, see there."""
    alive: SSAValue | None
    """Whether it is stored."""
    is_last: SSAValue
    """Whether the tile is the last one of the row."""


def _store_end(
    body: Registers, op: StoreOp, piece: Sequence[SSAValue], each: int, lanes: tuple[int, int], row: _ShiftedRow
) -> None:
    """Store the elements before a row's first complete piece, or after its last, of a narrow tile.

    They lie in the first `piece` of the first lane that stores, or of the one behind the last. The last index of the
    row is by how much the pieces are shifted.
    """
    (*outer, shift), alive, is_last = row
    e, count = body.e, len(piece) * each
    width = e.dim(op.buffer, len(op.indices) - 1)
    is_first = e.compare("eq", op.indices[-1], 0)
    lane = e.value(e.pick(is_first, *lanes))
    words = [body.shuffle(word, lane, ShuffleMode.Idx, layout_of(op.tile).lanes[0]) for word in piece]
    word = _element(body, op, words, each, body.lane)
    edge = e.pick(is_first, 0, e.pick(is_last, width, -count))
    column = e.add(e.sub(edge, shift), body.lane)
    inside = e.both(e.compare("slt", body.lane, count), e.both(e.compare("ne", shift, 0), e.within(column, width)))
    body.store_where(op.buffer, e.both(alive, inside), lambda: [([*outer, column], word)])


def _element(body: Registers, op: StoreOp, words: Sequence[SSAValue], each: int, number: Num) -> SSAValue:
    """Return an element of a piece, with `each` elements per word."""
    e, word = body.e, words[0]
    for start, further in enumerate(words[1:], 1):
        word = e.select(e.compare("sge", number, start * each), further, word)
    if each == 1:
        return word
    element = op.tile.type.element  # type: ignore[attr-defined]
    return e.op(arith.TruncIOp(e.op(FshrOp(word, word, bits_of(e, e.value(number), each))), element))


def _store_ends(
    body: Registers, op: StoreOp, pieces: Sequence[Sequence[SSAValue]], each: int, row: _ShiftedRow
) -> None:
    """Store the elements before a row's first complete piece, and after its last, one per lane.

    The last index of the row is where the first lane's first piece begins.
    """
    (*outer, begin), alive, is_last = row
    e, layout, piece = body.e, layout_of(op.tile), len(pieces[0]) * each
    width = e.dim(op.buffer, len(op.indices) - 1)
    # the first lanes take the piece that the row begins in, as many further ones that in which it ends
    number = e.op(arith.AndIOp(e.value(body.lane), e.value(piece - 1)))
    at_begin, at_end = (e.compare("slt", body.lane, lanes) for lanes in (piece, 2 * piece))
    nowhere = -piece  # no column of the piece before the first lies in the buffer
    # the first tile begins before the row if rows of it have to begin at a multiple of the vector in memory
    is_first = e.compare("sle", op.indices[-1], 0)
    edge = e.pick(at_end, e.pick(is_last, width, nowhere), nowhere)
    edge = e.pick(at_begin, e.pick(is_first, 0, nowhere), edge)
    to_edge = e.value(e.sub(edge, begin))
    rest = e.op(arith.AndIOp(to_edge, e.value(piece - 1)))
    column = e.add(e.sub(edge, rest), number)

    # the piece, of the lane that has it, and of that piece's words the one with the element
    lane, at = e.floordiv(to_edge, layout.vector), e.op(arith.AndIOp(to_edge, e.value(layout.vector - 1)))
    words: list[SSAValue] = []
    for start, words_of_piece in zip(range(0, layout.vector, piece), pieces, strict=True):
        found = [body.shuffle(word, lane, ShuffleMode.Idx, layout.lanes[0]) for word in words_of_piece]
        there = e.compare("sge", at, start)
        words = [e.select(there, *both) for both in zip(found, words, strict=True)] if words else found
    word = _element(body, op, words, each, number)

    inside = e.both(e.compare("ne", rest, 0), e.within(column, width))
    body.store_where(op.buffer, e.both(alive, inside), lambda: [([*outer, column], word)])


def _moved(
    body: Registers, words: Sequence[SSAValue], place: SSAValue, each: int, most: int, lanes: int
) -> list[SSAValue]:
    """Shift a lane's row of words, `each` elements per word, right to the alignment of pieces of `most` words.

    `place`: where it lies in memory.
    """
    e = body.e
    # what may move into the row stands before it: the last words of the lane before; of words that are cut one more
    entering = words[len(words) - most + (each == 1) :]
    row = [*(body.shuffle(word, 1, ShuffleMode.Up, lanes) for word in entering), *words]
    by = most // 2
    while by:
        far = e.compare("ne", e.op(arith.AndIOp(place, e.value(by * each))), 0)
        row = [e.select(far, before, own) for before, own in zip(row[:-by], row[by:], strict=True)]
        by //= 2
    if each == 1:
        return row
    bits = bits_of(e, place, each)
    return [e.op(FshlOp(high, low, bits)) for low, high in pairwise(row)]
