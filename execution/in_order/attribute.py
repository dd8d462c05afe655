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

    `planes`: adjacent points along the last pure coordinate that a thread takes together, of an update that writes
    where data say: the places and terms of its points have one loop, their writes another. 0 for a single loop.
    """

    name = "schedule.in_order"

    PARAMETERS: ClassVar = {"threads": None, "points": 1, "prefetch": 0, "planes": 0}

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
    def planes(self) -> int:
        """Adjacent points along the last pure coordinate whose writes have a loop of their own; 0 for no such loop."""
        return self.number("planes")

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        sizes = list(self.thread_counts)
        if sizes:
            sizes[0] *= self.points
            sizes[-1] *= max(1, self.planes)
        return tuple(sizes)

    def verify(self) -> None:
        if any(n <= 0 for n in self.thread_counts):
            raise VerifyException("threads must be positive")
        if any(n > 1 for n in self.thread_counts[3:]):
            raise VerifyException("threads must be in the first three dimensions")
        if self.points < 1 or (self.points > 1 and any(n > 1 for n in self.thread_counts)):
            raise VerifyException("points must be positive, and 1 if a block has several threads")
        if self.points > 1 and not self.thread_counts:
            raise VerifyException("points need a pure coordinate, and the update has none")
        if self.planes < 0 or (self.planes and (self.points == 1 or self.prefetch)):
            raise VerifyException("planes must not be negative, and 0 without several points, or with prefetch")
        if self.planes > 1 and len(self.thread_counts) < 2:
            raise VerifyException("planes need a pure coordinate beside that of the points")
        if self.prefetch < 0 or (self.prefetch and self.points == 1):
            raise VerifyException("prefetch must not be negative, and 0 without several points")
