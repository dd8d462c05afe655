"""The schedule of a reduction whose threads have a block of pure points each."""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.schedule import ScheduleAttr

MOST_POINTS = 128
"""Of a thread: more have no registers for their sums."""


@irdl_attr_definition(init=False)
class GemmSchedule(ScheduleAttr):
    """`#schedule.gemm<threads = [32, 4], points = [4, 8], unroll = 4>`: threads of a block, and points of each.

    Both per pure coordinate. Along the first one a thread's points lie `threads` apart, so that lanes read neighbours;
    along the others they are neighbours. `unroll`: steps of the innermost dimension of the domain that are written out.
    """

    name = "schedule.gemm"

    PARAMETERS: ClassVar = {"threads": None, "points": None, "unroll": 1}

    @property
    def thread_counts(self) -> tuple[int, ...]:
        return self.numbers("threads")

    @property
    def points(self) -> tuple[int, ...]:
        """Pure points of a thread, per coordinate."""
        return self.numbers("points")

    @property
    def unroll(self) -> int:
        """Steps that are written out."""
        return self.number("unroll")

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        return tuple(t * p for t, p in zip(self.thread_counts, self.points, strict=True))

    @property
    def one_thread(self) -> bool:
        """Whether a block is a single thread, as on CPUs: its points along x are a loop then."""
        return math.prod(self.thread_counts) == 1

    def verify(self) -> None:
        if len(self.thread_counts) != len(self.points):
            raise VerifyException(f"threads has {len(self.thread_counts)} dimensions but points has {len(self.points)}")
        if any(n <= 0 for n in (*self.thread_counts, *self.points, self.unroll)):
            raise VerifyException("threads, points and unroll must be positive")
        if any(n > 1 for n in self.thread_counts[3:]):
            raise VerifyException("threads lie in the first three dimensions")
        written = math.prod(self.points[1:] if self.one_thread else self.points)
        if written > MOST_POINTS:
            raise VerifyException(f"a thread has {written} points; {MOST_POINTS} at most")
