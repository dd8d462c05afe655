"""The schedule attribute of a strip."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.execution.tile_schedule import TileSchedule

MOST_TOGETHER = 8


@irdl_attr_definition(init=False)
class StripSchedule(TileSchedule):
    """`#schedule.row_strip<tile = [2048, 64]>`: columns and rows of the output that one thread computes, row by row.

    `together`: rows in one loop. `stream`: 1 for an output that goes past the caches. `bytes`: of a vector. `equal`: 1
    for threads that are each given as many strips at once.
    """

    name = "schedule.row_strip"

    PARAMETERS: ClassVar = {"tile": None, "together": 1, "stream": 0, "bytes": 0, "equal": 0}

    @property
    def together(self) -> int:
        """Output rows that are computed in one loop, which loads their common values once."""
        return self.number("together")

    @property
    def streams(self) -> bool:
        """Whether output stores bypass the caches."""
        return self.number("stream") > 0

    @property
    def vector_bytes(self) -> int:
        """Vector size in bytes, to multiples of which private rows are rounded up; 0 for none."""
        return self.number("bytes")

    @property
    def equal(self) -> bool:
        """Whether strips are distributed statically and evenly over the threads, not dynamically."""
        return self.number("equal") > 0

    @property
    def thread_counts(self) -> tuple[int, ...]:
        return (1,) * len(self.tile_sizes)

    @property
    def vector_width(self) -> int:
        return 1

    @property
    def resident_blocks(self) -> int:
        return 0

    def verify(self) -> None:
        super().verify()
        if len(self.tile_sizes) < 2:
            raise VerifyException("a strip has columns and rows: tile needs two numbers or more")
        if self.number("stream") not in (0, 1):
            raise VerifyException(f"stream is {self.number('stream')}: 1 stores the output past the caches, 0 does not")
        if self.number("equal") not in (0, 1):
            raise VerifyException(f"equal is {self.number('equal')}: 1 gives each thread as many strips, 0 does not")
        if not 0 < self.together <= MOST_TOGETHER:
            raise VerifyException(f"together is {self.together}: 1 to {MOST_TOGETHER} rows are computed in one loop")
