"""The schedule attribute of a scatter."""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.schedule import ScheduleAttr


@irdl_attr_definition(init=False)
class ScatterSchedule(ScheduleAttr):
    """`#schedule.scatter<threads = [1024], split = 132, copies = 32, points = 16>`, or
    `#schedule.scatter<threads = [32, 4], thread_tables = 1>`.

    `split`: blocks that share the domain of each pure point. `copies` of each element in a block's table, so that
    different lanes update different copies; 0 for atomics on global memory, without a table. `points`: consecutive
    points per thread. `blocks`: resident blocks per multiprocessor for which registers are bounded; 0 for no bound.

    `ordered`: 1 for a copy per thread, combined in a fixed order: inexact sums are equal in each run.

    `thread_tables`: 1 for a table per thread, which has one pure point and takes the domain in order, or `points`
    pure points that are adjacent along the last pure coordinate, with a table for each.
    """

    name = "schedule.scatter"

    PARAMETERS: ClassVar = {
        "threads": None, "split": 1, "copies": 0, "points": 1, "thread_tables": 0, "ordered": 0, "blocks": 0,
    }  # fmt: skip

    @property
    def thread_counts(self) -> tuple[int, ...]:
        return self.numbers("threads")

    @property
    def resident_blocks(self) -> int:
        return self.number("blocks")

    @property
    def threads_per_block(self) -> int:
        """Threads of a block, over all dimensions."""
        return math.prod(self.thread_counts)

    @property
    def is_ordered(self) -> bool:
        """Whether tables are combined in one fixed order."""
        return bool(self.number("ordered"))

    @property
    def copies(self) -> int:
        """Copies of each element in the table of a block."""
        return self.threads_per_block if self.is_ordered else self.number("copies")

    @property
    def has_thread_tables(self) -> bool:
        """Whether each thread has a table."""
        return bool(self.number("thread_tables"))

    def verify(self) -> None:
        if self.has_thread_tables and any(self.number(key) != self.PARAMETERS[key] for key in ("split", "copies")):
            raise VerifyException("thread_tables = 1 takes no split or copies: no blocks share a table")
        if any(n <= 0 for n in self.thread_counts) or any(n > 1 for n in self.thread_counts[3:]):
            raise VerifyException("threads must be positive, and only in the first three dimensions")
        if not self.has_thread_tables and len(self.thread_counts) != 1:
            raise VerifyException("threads is one number unless thread_tables = 1")
        if self.is_ordered and (self.has_thread_tables or self.number("copies")):
            raise VerifyException("ordered = 1 takes no copies or thread_tables: it has a copy per thread")
        if self.is_ordered and self.threads_per_block & (self.threads_per_block - 1):
            raise VerifyException("threads must be a power of two if ordered = 1")
        for key in ("split", "points"):
            if self.number(key) <= 0:
                raise VerifyException(f"{key} must be positive")
        copies = self.number("copies")
        if copies & (copies - 1):
            raise VerifyException("copies must be 0 or a power of two")
