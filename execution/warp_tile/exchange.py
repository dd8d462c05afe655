"""Row exchange between warps through shared memory: a double buffer, sends and receives.

A warp that has passed a barrier knows that all others have read what was sent before the barrier before it. So
with two buffers one barrier per round is enough, also from one iteration of a loop to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import MemRefType, VectorType, i8, i16
from xdsl.ir import Attribute, SSAValue

from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import NeighboursOp
from tilefuse.dialects.warp.layout import Layout, TileType
from tilefuse.execution.warp_tile.registers import Registers
from tilefuse.execution.warp_tile.schedule import Loop, StraightLine, layout_of
from tilefuse.execution.warp_tile.vectors import concatenated, shuffle, together
from tilefuse.lowering.emit import SHARED, Emitter, Num


class Exchange:
    """The double buffer of a body. Rounds of exchange alternate between the two: even rounds use the first."""

    def __init__(self, items: Sequence[StraightLine | Loop], e: Emitter):
        self.e = e
        need = [0, 0]
        for parity, bytes in _rounds(items, 0):
            for p in (0, 1) if parity is None else (parity,):
                need[p] = max(need[p], bytes)
        self.start = (0, need[0])
        """Where in memory each buffer is, in bytes."""
        self.bytes = sum(need)
        """Bytes of both buffers."""
        self.memory = e.alloca([self.bytes], i8, SHARED, "exchange") if self.bytes else None

    def views(self, stretch: StraightLine, first: Num) -> dict[NeighboursOp, SSAValue]:
        """Return the views through which each exchanging operation sends; `first` is the number of the first round."""
        e = self.e
        found: dict[NeighboursOp, SSAValue] = {}
        for number, part in enumerate(stretch.parts):
            if not part.sends:
                continue
            assert self.memory is not None
            start = self._buffer(e.add(first, number))
            for op in part.sends:
                shape = _shape(op)
                type = MemRefType(_element(op), shape, memory_space=self.memory.type.memory_space)  # type: ignore[attr-defined]
                view = memref.ViewOp(self.memory, e.value(start), [], type)
                found[op] = e.op(view, f"x_{op.tile.name_hint or 'tile'}")
                start = e.add(start, _bytes(op))
        return found

    def _buffer(self, round: Num) -> Num:
        """Return the offset of a round's buffer."""
        if isinstance(round, int):
            return self.start[round % 2]
        odd = self.e.op(arith.AndIOp(self.e.value(round), self.e.value(1)))
        return self.e.mul(odd, self.start[1])


def _rounds(items: Sequence[StraightLine | Loop], first: int | None) -> Iterator[tuple[int | None, int]]:
    """Return (parity, bytes) of each round; parity None where a round may use either buffer."""
    for item in items:
        if isinstance(item, Loop):
            yield from _rounds(item.body, first if item.rounds % 2 == 0 else None)
        else:
            for number, part in enumerate(item.parts):
                parity = None if first is None else (first + number) % 2
                yield parity, sum(_bytes(op) for op in part.sends)
        if first is not None:
            first += item.rounds * (item.count if isinstance(item, Loop) else 1)


def _element(op: NeighboursOp) -> Attribute:
    """Return the element type of a buffer: pairs stay packed."""
    assert isinstance(op.tile.type, TileType)
    return i16 if op.tile.type.spread.packed == 2 else op.tile.type.element


def _shape(op: NeighboursOp) -> list[int]:
    old, new = layout_of(op.tile), layout_of(op.wider)
    deep = [b - a for a, b in reversed(new.depth)]
    return [new.warps[0], *deep, new.height - old.height, new.lanes[0] * new.vector]


def _bytes(op: NeighboursOp) -> int:
    return -(-math.prod(_shape(op)) * element_bytes(_element(op)) // 16) * 16


def send_rows(body: Registers, op: NeighboursOp, buffer: SSAValue) -> None:
    """Send a warp's last rows, which the warp below reads above its own; then its first."""
    old, new = layout_of(op.tile), layout_of(op.wider)
    above = old.rows[0] - new.rows[0]
    rows = [*range(old.rows[1] - above, old.rows[1]), *range(new.rows[1] - old.rows[1])]
    element = _element(op)
    piece = _piece(new.vector, element)
    with body.depths(new) as deep:
        for slot, row in enumerate(rows):
            for first in range(0, new.vector, piece):
                index = [body.e.value(i) for i in _slot(body, new, body.warp, deep, slot, first)]
                # pairs lie in shared memory as they do in registers
                starts = new.starts[first // new.packed : (first + piece) // new.packed]
                places = [body.here(c, row, deep) for c in starts]
                if new.packed == 2:
                    joined = concatenated(body.e, [body.load_pair(op.tile, at, new.pair_stride) for at in places])
                    body.e.effect(vector.StoreOp(joined, buffer, index))
                    continue
                values = [body.load(op.tile, at) for at in places]
                if piece == 1:
                    body.e.store(values[0], buffer, index)
                else:
                    body.e.effect(vector.StoreOp(together(body.e, values), buffer, index))


def receive_rows(body: Registers, op: NeighboursOp, buffer: SSAValue) -> None:
    """Receive the rows above from the warp above, and the rows below from the warp below."""
    e = body.e
    old, new = layout_of(op.tile), layout_of(op.wider)
    above, below = old.rows[0] - new.rows[0], new.rows[1] - old.rows[1]
    up, down = e.max(e.sub(body.warp, 1), 0), e.min(e.add(body.warp, 1), new.warps[0] - 1)
    element = _element(op)
    piece = _piece(new.vector, element)
    type = VectorType(element, [piece])
    with body.depths(new) as deep:
        for slot in range(above + below):
            row = new.rows[0] + slot if slot < above else old.rows[1] + slot - above
            for first in range(0, new.vector, piece):
                index = _slot(body, new, up if slot < above else down, deep, slot, first)
                if piece == 1:
                    body.put(e.load(buffer, index), op.wider, body.here(first, row, deep))
                    continue
                loaded = e.op(vector.LoadOp(buffer, [e.value(i) for i in index], type))
                for v in range(0, piece, new.packed):
                    if new.packed == 2:
                        value = loaded if piece == 2 else shuffle(e, loaded, loaded, [v, v + 1])
                    else:
                        value = e.extract(loaded, v, element)
                    body.put(value, op.wider, body.here(new.starts[(first + v) // new.packed], row, deep))


def _slot(body: Registers, layout: Layout, warp: Num, deep: tuple[Num, ...], slot: int, column: int) -> list[Num]:
    e = body.e
    inner = [e.sub(c, low) for c, (low, _) in zip(deep, layout.depth, strict=True)]
    return [warp, *reversed(inner), slot, e.add(e.mul(body.lane, layout.vector), column)]


def _piece(count: int, element: Attribute) -> int:
    """Return the elements of one access of at most 16 bytes that evenly divide `count` elements."""
    piece = 16 // element_bytes(element)
    while piece > 1 and (count % piece or piece * element_bytes(element) < 2):
        piece //= 2
    return max(piece, 1)
