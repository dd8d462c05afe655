"""Memory of temporaries: temporaries with disjoint lifetimes share bytes.

What fits lives in the memory of an output until the output itself is written, the rest in one block, the
arena. So a chain of any length needs one block of the size of its output besides, and a small picture's
buffers stay in a GPU's L2 cache together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

ARENA_ALIGNMENT = 256
"""Bytes; each temporary starts at a multiple."""


class Lifetime(NamedTuple):
    """A temporary: bytes, and the first and last kernel (inclusive) that access it."""

    size: int
    first: int
    last: int


class HostBuffer(NamedTuple):
    """An output buffer that hosts temporaries: its bytes are free before kernel `until`."""

    size: int
    until: int


class TemporaryPlace(NamedTuple):
    """Place of a temporary: the number of its host buffer (None: the arena), and the offset in bytes."""

    host: int | None
    offset: int


_Placed = tuple[int, int, Lifetime]
"""First byte, end, lifetime."""


def place(temporaries: Sequence[Lifetime], hosts: Sequence[HostBuffer] = ()) -> tuple[list[TemporaryPlace], int]:
    """Compute the place of each temporary, and the bytes of the arena."""
    places: list[TemporaryPlace | None] = [None] * len(temporaries)
    placed: list[list[_Placed]] = [[] for _ in hosts]
    # Latest first: of a chain it is the last but one that can live where the result will be, then every other.
    for index in sorted(range(len(temporaries)), key=lambda i: (-temporaries[i].last, -temporaries[i].size)):
        t = temporaries[index]
        for number, host in enumerate(hosts):
            offset = _lowest(placed[number], t)
            if t.last < host.until and offset + t.size <= host.size:
                placed[number].append((offset, offset + t.size, t))
                places[index] = TemporaryPlace(number, offset)
                break
    rest = [i for i, p in enumerate(places) if p is None]
    offsets, size = arrange([temporaries[i] for i in rest])
    for index, offset in zip(rest, offsets, strict=True):
        places[index] = TemporaryPlace(None, offset)
    return [p for p in places if p is not None], size


def arrange(temporaries: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Compute the offset of each temporary in one block, and the bytes of the block.

    Largest first, each at the lowest offset that is free for all of its life.
    """
    offsets = [0] * len(temporaries)
    placed: list[_Placed] = []
    for index in sorted(range(len(temporaries)), key=lambda i: -temporaries[i].size):
        t = temporaries[index]
        offsets[index] = offset = _lowest(placed, t)
        placed.append((offset, offset + t.size, t))
    return offsets, max((end for _, end, _ in placed), default=0)


def _lowest(placed: Iterable[_Placed], t: Lifetime) -> int:
    """Return the lowest offset that is free throughout the lifetime of `t`."""
    offset = 0
    for start, end, other in sorted(placed):
        if other.first <= t.last and t.first <= other.last and offset + t.size > start:
            offset = max(offset, -(-end // ARENA_ALIGNMENT) * ARENA_ALIGNMENT)
    return offset
