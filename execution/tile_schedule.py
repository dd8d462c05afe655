"""Schedules that cut the output into tiles, one per block."""

from __future__ import annotations

from typing import ClassVar

from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.schedule import ScheduleAttr

MOST_TILE = 1 << 20
"""Points of a tile in one dimension: where a tile ends, which may be outside of the picture, is a 32-bit number."""


class TileSchedule(ScheduleAttr):
    """Schedule of a tile per block, and its threads: `<tile = [120, 28], threads = [32, 8], vector = 4, blocks = 3>`.

    `tile`: points of the group's output that one block computes, per dimension, x first. `threads`: threads
    of a block per dimension. `vector`: consecutive x-points that a thread loads, computes and stores together.
    `blocks`: how many blocks the compiler has to leave registers for on a multiprocessor; 0 for what it likes.
    """

    PARAMETERS: ClassVar = {"tile": None, "threads": None, "vector": 1, "blocks": 0}

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        return self.numbers("tile")

    @property
    def thread_counts(self) -> tuple[int, ...]:
        """Threads per block, x first; as many entries as the tile has."""
        return self.numbers("threads")

    @property
    def vector_width(self) -> int:
        """Consecutive x-points per thread."""
        return self.number("vector")

    @property
    def resident_blocks(self) -> int:
        return self.number("blocks")

    def verify(self) -> None:
        tile, threads = self.tile_sizes, self.thread_counts
        if len(tile) != len(threads):
            raise VerifyException(f"tile has {len(tile)} dimensions but threads has {len(threads)}")
        if any(t <= 0 for t in (*tile, *threads)) or self.vector_width <= 0:
            raise VerifyException("tile, threads and vector must be positive")
        if max(tile, default=1) > MOST_TILE:
            raise VerifyException(f"a tile of {max(tile)} points in one dimension is too large; {MOST_TILE} at most")
