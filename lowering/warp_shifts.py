"""Rows that do not lie where vectors do: they are moved over the lanes, so that memory sees vectors all the same.

How far a row lies from where vectors do is the same for all lanes, so the branches are uniform; powers of two make up
any distance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import VectorType, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilefuse.analysis.warp_layout import WORD_BYTES
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


def misalignment(body: RegisterBody, op: LoadOp | StoreOp, row: Num, deep: tuple[Num, ...]) -> SSAValue:
    """Elements from the last place before a lane's row where a vector may lie; the same for all lanes."""
    e, layout = body.e, layout_of(op.tile)
    element = op.tile.type.element  # type: ignore[attr-defined]
    metadata = memref.ExtractStridedMetaDataOp(op.buffer)
    pointer = e.op(memref.ExtractAlignedPointerAsIndexOp.get(op.buffer))
    e.effect(metadata)
    first = body.memory_index(op.indices, Where(body.warp, 0, 0, row, deep), layout)
    place: Num = e.op(arith.DivUIOp(pointer, e.value(element_bytes(element))))
    for i, stride in zip(first[:-1], metadata.strides, strict=False):
        place = e.add(place, e.mul(i, stride))
    place = e.value(e.add(place, first[-1]))
    return e.op(arith.AndIOp(place, e.value(layout.vector - 1)))


def load_shifted(
    body: RegisterBody, op: LoadOp, row_loop: Callable[[Callable[[Where], None]], None], put: Callable[..., None]
) -> None:
    """All rows as the vectors before them, which then move up to `vector - 1` columns to the left over the lanes.

    The last lane's last `vector - 1` columns are not defined. `put` keeps a row, as it lies in memory, in registers.
    """
    e, layout = body.e, layout_of(op.tile)
    element = op.tile.type.element
    type = VectorType(element, [layout.vector])
    waiting = e.alloca(layout.shape[:-1], type, PRIVATE, "rows")

    def place(at: Where) -> list[Num]:
        return body.register_index(layout, at)[:-1]

    def fetch(at: Where) -> None:
        index = body.memory_index(op.indices, at, layout)
        index[-1] = e.sub(index[-1], misalignment(body, op, at.row, at.deep))
        e.store(e.op(vector.LoadOp(op.buffer, [e.value(i) for i in index], type)), waiting, place(at))

    def move(at: Where) -> None:
        shift = misalignment(body, op, at.row, at.deep)
        words = _words(e, e.load(waiting, place(at)), element, layout.vector)
        values = _moved(body, words, shift, _in_word(element), layout.lanes[0], left=True)
        put(_row(e, values(), element), op.tile, at, None)

    row_loop(fetch)
    row_loop(move)


def store_shifted(body: RegisterBody, op: StoreOp, row: Num, deep: tuple[Num, ...], guard: bool = False) -> None:
    """A row as vectors where these lie in memory: it moves up to `vector - 1` columns to the right over the lanes."""
    e, layout = body.e, layout_of(op.tile)
    element = op.tile.type.element  # type: ignore[attr-defined]
    shift = misalignment(body, op, row, deep)
    if can_shift(element, layout.vector):
        words, in_word = _words(e, body.row(op.tile, row, deep), element, layout.vector), _in_word(element)
    else:
        words, in_word = [body.load(op.tile, body.here(v, row, deep)) for v in range(layout.vector)], 1
    moved = _moved(body, words, shift, in_word, layout.lanes[0], left=False)

    def values() -> SSAValue:
        return _row(e, moved(), element) if in_word > 1 else pairs.together(e, moved())

    (_, x1), _ = op.within
    first, end = (-(-(x - layout.origin[0]) // layout.vector) for x in (0, x1))
    if guard:
        # the last columns of the last lane have moved out of it, and there may be no tile to the right
        with e.when(e.compare("eq", body.lane, end - 1)):
            for c in range(1, layout.vector):
                there = body.here(c, row, deep)
                index = body.memory_index(op.indices, there, layout)
                moved_out = e.compare("sge", e.add(shift, c), layout.vector)
                with e.when(e.both(moved_out, body.in_buffer(op.buffer, index))):
                    e.store(body.load(op.tile, there), op.buffer, index)
    with e.when(e.both(e.compare("sge", body.lane, first), e.compare("slt", body.lane, end))):
        index = body.memory_index(op.indices, body.here(0, row, deep), layout)
        index[-1] = e.sub(index[-1], shift)

        def whole() -> None:
            e.effect(vector.StoreOp(values(), op.buffer, [e.value(i) for i in index]))

        def column(c: int) -> list[Num]:
            return [*index[:-1], e.add(index[-1], c)]

        def points() -> None:
            found = values()
            for c in range(layout.vector):
                with e.when(body.in_buffer(op.buffer, column(c))):
                    e.store(e.op(vector.ExtractOp(found, [c], element)), op.buffer, column(c))

        if not guard:
            whole()
            return
        ends = [body.in_buffer(op.buffer, column(c)) for c in (0, layout.vector - 1)]
        inside = e.both(*ends)
        assert inside is not None
        e.choose(inside, whole, points)


def _moved(
    body: RegisterBody, words: Sequence[SSAValue], shift: SSAValue, in_word: int, lanes: int, *, left: bool
) -> Callable[[], list[SSAValue]]:
    """A lane's row of words, of `in_word` elements each, after it has moved `shift` columns over the lanes."""
    e, count = body.e, len(words)
    mode = ShuffleMode.Down if left else ShuffleMode.Up
    values = e.alloca([count], words[0].type, PRIVATE, "shifted")
    for i, word in enumerate(words):
        e.store(word, values, [i])

    def beside(word: SSAValue) -> SSAValue:
        return body.shuffle(word, 1, mode, lanes)

    def held() -> list[SSAValue]:
        return [e.load(values, [i]) for i in range(count)]

    by = 1
    while by < count:
        with e.when(e.compare("ne", e.op(arith.AndIOp(shift, e.value(by * in_word))), 0)):
            own = held()
            if left:
                new = [*own[by:], *(beside(word) for word in own[:by])]
            else:
                new = [*(beside(word) for word in own[count - by :]), *own[: count - by]]
            for i, word in enumerate(new):
                e.store(word, values, [i])
        by *= 2
    if in_word > 1:
        own = held()
        bits = e.mul(e.op(arith.AndIOp(shift, e.value(in_word - 1))), 8 * WORD_BYTES // in_word)
        if left:
            pieces = zip(own, [*own[1:], beside(own[0])], strict=True)
        else:
            pieces = zip([beside(own[-1]), *own[:-1]], own, strict=True)
            bits = e.sub(8 * WORD_BYTES, bits)
        for i, (low, high) in enumerate(pieces):
            e.store(_funnel(e, low, high, bits), values, [i])
    return held


def can_shift(element: Attribute, vector: int) -> bool:
    """Whether a lane's row is made of whole words, or of larger elements."""
    size = element_bytes(element)
    return vector > 1 and size * vector % WORD_BYTES == 0


def _in_word(element: Attribute) -> int:
    """Elements of what `_words` gives."""
    return WORD_BYTES // element_bytes(element) if element in (i8, i16) else 1


def _words(e: Emitter, row: SSAValue, element: Attribute, count: int) -> list[SSAValue]:
    """A row as words of 32 bits, or as larger elements."""
    if element not in (i8, i16):
        return [e.op(vector.ExtractOp(row, [v], element)) for v in range(count)]
    in_word = _in_word(element)
    parts = [pairs.shuffle(e, row, row, range(v, v + in_word)) for v in range(0, count, in_word)]
    return [e.op(vector.ExtractOp(e.op(vector.BitcastOp(part, _WORD)), [0], i32)) for part in parts]


def _row(e: Emitter, words: Sequence[SSAValue], element: Attribute) -> SSAValue:
    if element not in (i8, i16):
        return pairs.together(e, words)
    type = VectorType(element, [_in_word(element)])
    return pairs.joined(e, [e.op(vector.BitcastOp(pairs.together(e, [word]), type)) for word in words])


def _funnel(e: Emitter, low: SSAValue, high: SSAValue, bits: Num) -> SSAValue:
    """The word that begins `bits` after the beginning of `low`."""
    wide = e.op(arith.ShLIOp(e.op(arith.ExtUIOp(high, i64)), e.op(arith.ConstantOp.from_int_and_width(32, i64))))
    both = e.op(arith.OrIOp(wide, e.op(arith.ExtUIOp(low, i64))))
    by = e.op(arith.IndexCastOp(e.value(bits), i64))
    return e.op(arith.TruncIOp(e.op(arith.ShRUIOp(both, by)), i32))
