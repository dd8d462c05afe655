"""Stores of rows that do not lie where vectors do.

What is stored moves over the lanes, so that memory sees vectors all the same, though several to a row. Powers of two
make up any distance; which of them it takes is the same for all lanes, but these are selections, not branches: shuffles
in a branch are slow, even if all lanes take it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from xdsl.dialects import arith, vector
from xdsl.ir import SSAValue

from tilefuse.analysis.warp_layout import stored_at_once
from tilefuse.dialects.funnel_shifts import FshlOp
from tilefuse.dialects.gpu_shuffle import ShuffleMode
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import StoreOp
from tilefuse.dialects.warp.memory import can_cut
from tilefuse.lowering import pairs
from tilefuse.lowering.emit import Num
from tilefuse.lowering.warp_body import Where
from tilefuse.lowering.warp_pieces import (
    bits_of,
    in_word,
    like_row,
    misalignment,
    place_in_memory,
    row_of_words,
    words_of,
)
from tilefuse.lowering.warp_schedule import layout_of

if TYPE_CHECKING:
    from tilefuse.lowering.warp_registers import Place, RegisterBody


def store_shifted(
    body: RegisterBody, op: StoreOp, row: Num, deep: tuple[Num, ...], alive: SSAValue | None, border: bool
) -> None:
    """A row in pieces that are vectors where these lie in memory: it moves right over the lanes, by less than a piece.

    It is stored where `alive`; in a border tile what lies in the buffer.
    """
    e, layout = body.e, layout_of(op.tile)
    element = op.tile.type.element  # type: ignore[attr-defined]
    piece = stored_at_once(element_bytes(element), layout.vector)
    like = like_row(e, row, piece)
    place = place_in_memory(e, op.buffer, body.memory_index(op.indices, Where(body.warp, 0, 0, like, deep), layout))
    shift = misalignment(e, place, piece)
    if can_cut(element, layout.vector):
        words, each = words_of(e, body.row(op.tile, row, deep), element), in_word(element)
    else:
        words, each = [body.load(op.tile, body.here(v, row, deep)) for v in range(layout.vector)], 1
    moved = _moved(body, words, place, each, piece // each, layout.lanes[0])
    parts = (moved[c // each : (c + piece) // each] for c in range(0, layout.vector, piece))
    pieces = [row_of_words(e, part, element) if each > 1 else pairs.together(e, part) for part in parts]

    (x0, x1), _ = op.within
    first, end = (-(-(x - layout.origin[0]) // layout.vector) for x in (0, x1))
    index = body.memory_index(op.indices, body.here(0, row, deep), layout)
    alive = e.both(alive, body.in_buffer(op.buffer, index[:-1])) if border else alive
    own = e.both(alive, e.both(e.compare("sge", body.lane, first), e.compare("slt", body.lane, end)))
    index[-1] = e.sub(index[-1], shift)
    places = [[*index[:-1], e.add(index[-1], c)] for c in range(layout.vector)]
    width = e.dim(op.buffer, len(op.indices) - 1)

    def whole() -> list[Place]:
        return list(zip(places[::piece], pieces, strict=True))

    def at_side() -> None:
        # in one branch per row, conditions of single stores: these become predicates, further branches would not
        with body.stores_of_row(own) as condition:
            for first in range(0, layout.vector, piece):
                mine = condition
                if op.first is not None:
                    # where the tile on the left ends, a piece begins in this one, too
                    column, *_ = body.here(first, row, deep).coordinates(layout, e)
                    mine = e.both(mine, e.compare("sgt", e.add(e.sub(column, shift), piece), op.first))
                inside = [e.within(place[-1], width) for place in places[first : first + piece]]
                all_inside = e.both(inside[0], inside[-1])
                assert all_inside is not None
                body.store_where(op.buffer, e.both(mine, all_inside), partial(place_of, first, pieces[first // piece]))
                rest = e.both(mine, e.negate(all_inside))
                for c in range(piece if piece > 1 else 0):
                    body.store_where(op.buffer, e.both(rest, inside[c]), partial(single, first + c))
            # the last columns of the last lane have moved out of it; a tile to the right stores them, if there is one
            after = body.memory_index(op.indices, Where(body.warp, end, 0, row, deep), layout)[-1]
            is_last = e.both(e.compare("sge", after, width), e.compare("eq", body.lane, end - 1))
            is_last = e.both(condition, is_last)
            for c in range(layout.vector - piece + 1, layout.vector):
                to = body.memory_index(op.indices, body.here(c, row, deep), layout)
                moved_out = e.both(e.compare("sge", e.add(shift, c), layout.vector), e.within(to[-1], width))
                body.store_where(op.buffer, e.both(is_last, moved_out), partial(unmoved, c, to))

    def place_of(column: int, value: SSAValue) -> list[Place]:
        return [(places[column], value)]

    def single(c: int) -> list[Place]:
        return [(places[c], e.op(vector.ExtractOp(pieces[c // piece], [c % piece], element)))]

    def unmoved(c: int, to: Sequence[Num]) -> list[Place]:
        return [(to, body.load(op.tile, body.here(c, row, deep)))]

    def between_sides() -> None:
        with body.stores_of_row(own) as condition:
            body.store_where(op.buffer, condition, whole)

    if border:
        leaves = e.either(
            e.compare("slt", op.indices[-1], -x0), e.compare("sgt", e.add(op.indices[-1], x1 - x0), width)
        )
        e.choose(leaves, at_side, between_sides)
    else:
        body.store_where(op.buffer, own, whole)


def _moved(
    body: RegisterBody, words: Sequence[SSAValue], place: SSAValue, each: int, most: int, lanes: int
) -> list[SSAValue]:
    """A lane's row of words, of `each` elements, after it has moved to the right to where pieces of `most` words lie.

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
