"""Temporaries of a call in one block of memory: those whose lifetimes do not meet share bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ARENA_ALIGNMENT = 256
"""Bytes; each temporary starts at a multiple."""


class Lifetime(NamedTuple):
    """A temporary: its bytes, and the first and last kernel (both included) that touch it."""

    size: int
    first: int
    last: int


def arrange(temporaries: Sequence[Lifetime]) -> tuple[list[int], int]:
    """The offset of each temporary, and the size of the block.

    Largest first, each at the lowest offset that is free for all of its life.
    """
    offsets = [0] * len(temporaries)
    placed: list[tuple[int, int, Lifetime]] = []
    for index in sorted(range(len(temporaries)), key=lambda i: -temporaries[i].size):
        t = temporaries[index]
        offset = 0
        for start, end, other in sorted(placed):
            if other.first <= t.last and t.first <= other.last and offset + t.size > start:
                offset = max(offset, -(-end // ARENA_ALIGNMENT) * ARENA_ALIGNMENT)
        offsets[index] = offset
        placed.append((offset, offset + t.size, t))
    return offsets, max((end for _, end, _ in placed), default=0)
