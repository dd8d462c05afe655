"""The schedule attribute of a scatter."""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.schedule import ScheduleAttr


@irdl_attr_definition(init=False)
class ScatterSchedule(ScheduleAttr):
    """`#schedule.scatter<threads = [1024], blocks = 132, copies = 32, points = 16>`, or
    `#schedule.scatter<threads = [32, 4], own = 1>`"""

    name = "schedule.scatter"

    PARAMETERS: ClassVar = {"threads": None, "blocks": 1, "copies": 0, "points": 1, "own": 0, "fold": 0, "resident": 0}
    """`blocks` share out the domain, for each pure point. `copies` of each element of the table of a block, for lanes
    to have their own; 0: no table, all goes to global memory. A thread takes `points` in a row.

    `resident` blocks are to share a multiprocessor: registers are bounded to leave room for them; 0 for no bound.

    `fold`: as many copies as threads, joined in one order: what is not exact comes out the same each time.

    `own`: threads, which have a pure point each, have a table each, and take the domain in order; or `points` of them
    side by side along the last pure coordinate, with as many tables."""

    @property
    def thread_counts(self) -> tuple[int, ...]:
        return self.numbers("threads")

    @property
    def resident_blocks(self) -> int:
        return self.number("resident")

    @property
    def threads_per_block(self) -> int:
        """Threads of a block, over all dimensions."""
        return math.prod(self.thread_counts)

    @property
    def folds(self) -> bool:
        """Whether tables are combined in one fixed order."""
        return bool(self.number("fold"))

    @property
    def copies(self) -> int:
        """Copies of each element in the table of a block."""
        return self.threads_per_block if self.folds else self.number("copies")

    @property
    def has_own_tables(self) -> bool:
        """Whether each thread has a table."""
        return bool(self.number("own"))

    def verify(self) -> None:
        if self.has_own_tables and any(self.number(key) != self.PARAMETERS[key] for key in ("blocks", "copies")):
            raise VerifyException("threads with tables of their own have no blocks or copies to share")
        if any(n <= 0 for n in self.thread_counts) or any(n > 1 for n in self.thread_counts[3:]):
            raise VerifyException("threads are positive, and lie in the first three dimensions")
        if not self.has_own_tables and len(self.thread_counts) != 1:
            raise VerifyException("threads is one number, where they share a table")
        if self.folds and (self.has_own_tables or self.number("copies")):
            raise VerifyException("tables that are joined in one order have as many copies as threads; leave that out")
        if self.folds and self.threads_per_block & (self.threads_per_block - 1):
            raise VerifyException("threads must be a power of two where tables are joined in one order")
        for key in ("blocks", "points"):
            if self.number(key) <= 0:
                raise VerifyException(f"{key} must be positive")
        copies = self.number("copies")
        if copies & (copies - 1):
            raise VerifyException("copies must be 0 or a power of two")
