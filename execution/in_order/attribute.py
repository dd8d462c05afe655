"""The schedule attribute of an update that runs in order."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.schedule import ScheduleAttr


@irdl_attr_definition(init=False)
class InOrderSchedule(ScheduleAttr):
    """`#schedule.in_order<threads = [32, 4]>`: threads of a block per pure coordinate, each with a point of its own.

    `points`: of a thread, side by side along the first pure coordinate, which take each step of the domain together;
    on CPUs, whose vectors they fill.

    `prefetch`: steps ahead whose writes are prefetched, along the innermost dimension of the domain; 0 for none. It
    needs writes that go from row to row along it.
    """

    name = "schedule.in_order"

    PARAMETERS: ClassVar = {"threads": None, "points": 1, "prefetch": 0}

    @property
    def thread_counts(self) -> tuple[int, ...]:
        return self.numbers("threads")

    @property
    def points(self) -> int:
        """Adjacent points per thread."""
        return self.number("points")

    @property
    def prefetch(self) -> int:
        """Steps from a prefetch to the write."""
        return self.number("prefetch")

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        first = (self.thread_counts[0] * self.points,) if self.thread_counts else ()
        return (*first, *self.thread_counts[1:])

    def verify(self) -> None:
        if any(n <= 0 for n in self.thread_counts):
            raise VerifyException("threads must be positive")
        if any(n > 1 for n in self.thread_counts[3:]):
            raise VerifyException("threads must be in the first three dimensions")
        if self.points < 1 or (self.points > 1 and any(n > 1 for n in self.thread_counts)):
            raise VerifyException("points must be positive, and 1 if a block has several threads")
        if self.points > 1 and not self.thread_counts:
            raise VerifyException("points need a pure coordinate, and the update has none")
        if self.prefetch < 0 or (self.prefetch and self.points == 1):
            raise VerifyException("prefetch must not be negative, and 0 without several points")
