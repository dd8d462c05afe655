"""The schedule attribute of a strip."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.execution.tile_schedule import TileSchedule

MOST_ROWS_PER_LOOP = 8


@irdl_attr_definition(init=False)
class StripSchedule(TileSchedule):
    """`#schedule.row_strip<tile = [2048, 64]>`: columns and rows of the output that one thread computes, row by row.

    `rows_per_loop`: output rows that one loop computes. `streaming_stores`: 1 for output stores that bypass the caches.
    `vector_bytes`: size of a vector, 0 for rows that are not rounded up to vectors. `static`: 1 for a static
    distribution of strips over the threads, as OpenMP's `schedule(static)`; 0 for a dynamic one. `by_planes`: 1 for
    strips that compute all rows of a plane before those of the next, so that fewer rows stay in the caches.
    """

    name = "schedule.row_strip"

    PARAMETERS: ClassVar = {
        "tile": None,
        "rows_per_loop": 1,
        "streaming_stores": 0,
        "vector_bytes": 0,
        "static": 0,
        "by_planes": 0,
    }

    @property
    def rows_per_loop(self) -> int:
        """Output rows that are computed in one loop, which loads their common values once."""
        return self.number("rows_per_loop")

    @property
    def streaming_stores(self) -> bool:
        """Whether output stores bypass the caches."""
        return self.number("streaming_stores") > 0

    @property
    def vector_bytes(self) -> int:
        """Vector size in bytes, to multiples of which private rows are rounded up; 0 for none."""
        return self.number("vector_bytes")

    @property
    def is_static(self) -> bool:
        """Whether strips are distributed statically and evenly over the threads, not dynamically."""
        return self.number("static") > 0

    @property
    def by_planes(self) -> bool:
        """Whether the loop over planes is outside of the loop over rows."""
        return self.number("by_planes") > 0

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
            raise VerifyException("tile must have two numbers or more, for columns and rows of a strip")
        if self.number("streaming_stores") not in (0, 1):
            raise VerifyException(
                f"streaming_stores is {self.number('streaming_stores')}: 1 for stores that bypass the caches, else 0"
            )
        if self.number("by_planes") not in (0, 1):
            raise VerifyException(
                f"by_planes is {self.number('by_planes')}: 1 for all rows of a plane before those of the next, else 0"
            )
        if self.number("static") not in (0, 1):
            raise VerifyException(
                f"static is {self.number('static')}: 1 for a static distribution of strips, 0 for a dynamic one"
            )
        if not 0 < self.rows_per_loop <= MOST_ROWS_PER_LOOP:
            raise VerifyException(
                f"rows_per_loop is {self.rows_per_loop}: 1 to {MOST_ROWS_PER_LOOP} rows are computed in one loop"
            )
