"""Shared memory through which rows go from warp to warp: two buffers that take turns.

A warp that has passed a barrier knows that all others have read what was sent before the barrier before it. So
with two buffers one barrier per round is enough, also from one iteration of a loop to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, i8, i16
from xdsl.ir import Attribute, SSAValue

from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import NeighboursOp
from tilefuse.dialects.warp.layout import TileType
from tilefuse.lowering.emit import SHARED, Emitter, Num
from tilefuse.lowering.warp_schedule import Loop, Stretch, layout_of


class Exchange:
    """The two buffers of a body. Rounds are counted through; a round takes the first one if its number is even."""

    def __init__(self, items: Sequence[Stretch | Loop], e: Emitter):
        self.e = e
        need = [0, 0]
        for parity, bytes in _rounds(items, 0):
            for p in (0, 1) if parity is None else (parity,):
                need[p] = max(need[p], bytes)
        self.start = (0, need[0])
        """Where in memory each buffer is, in bytes."""
        self.bytes = sum(need)
        """Of both buffers together."""
        self.memory = e.alloca([self.bytes], i8, SHARED, "exchange") if self.bytes else None

    def views(self, stretch: Stretch, first: Num) -> dict[NeighboursOp, SSAValue]:
        """What each operation that exchanges rows sends through; `first` is the number of the first round."""
        e = self.e
        found: dict[NeighboursOp, SSAValue] = {}
        for number, part in enumerate(stretch.parts):
            if not part.sends:
                continue
            assert self.memory is not None
            start = self._buffer(e.add(first, number))
            for op in part.sends:
                shape = _shape(op)
                type = MemRefType(exchanged_element(op), shape, memory_space=self.memory.type.memory_space)  # type: ignore[attr-defined]
                view = memref.ViewOp(self.memory, e.value(start), [], type)
                found[op] = e.op(view, f"x_{op.tile.name_hint or 'tile'}")
                start = e.add(start, _bytes(op))
        return found

    def _buffer(self, round: Num) -> Num:
        """Where the buffer of a round starts."""
        if isinstance(round, int):
            return self.start[round % 2]
        odd = self.e.op(arith.AndIOp(self.e.value(round), self.e.value(1)))
        return self.e.mul(odd, self.start[1])


def _rounds(items: Sequence[Stretch | Loop], first: int | None) -> Iterator[tuple[int | None, int]]:
    """(parity, bytes) of each round; None where a round takes either buffer."""
    for item in items:
        if isinstance(item, Loop):
            yield from _rounds(item.body, first if item.rounds % 2 == 0 else None)
        else:
            for number, part in enumerate(item.parts):
                parity = None if first is None else (first + number) % 2
                yield parity, sum(_bytes(op) for op in part.sends)
        if first is not None:
            first += item.rounds * (item.count if isinstance(item, Loop) else 1)


def exchanged_element(op: NeighboursOp) -> Attribute:
    """What the elements of a buffer are: pairs lie there as they do in registers."""
    assert isinstance(op.tile.type, TileType)
    return i16 if op.tile.type.spread.packed == 2 else op.tile.type.element


def _shape(op: NeighboursOp) -> list[int]:
    old, new = layout_of(op.tile), layout_of(op.wider)
    deep = [b - a for a, b in reversed(new.depth)]
    return [new.warps[0], *deep, new.height - old.height, new.lanes[0] * new.vector]


def _bytes(op: NeighboursOp) -> int:
    return -(-math.prod(_shape(op)) * element_bytes(exchanged_element(op)) // 16) * 16
