"""The schedule of a reduction whose threads have a block of pure points each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.schedule import ScheduleAttr

MOST_POINTS = 128
"""Of a thread: more have no registers for their sums."""
MOST_BUFFERS = 4
PATCH = (8, 4)
"""Threads of a warp along the first coordinate, and along the others, in a zigzag."""


def fits_zigzag(threads: Sequence[int]) -> bool:
    """Whether a block is made of patches of 8 by 4 threads."""
    return bool(threads) and threads[0] % PATCH[0] == 0 and math.prod(threads[1:]) % PATCH[1] == 0


@irdl_attr_definition(init=False)
class GemmSchedule(ScheduleAttr):
    """`#schedule.gemm<threads = [16, 16], points = [8, 8], unroll = 4, slice = [16], buffers = 3, vector = 4>`.

    `threads` of a block, and `points` of each, both per pure coordinate. Without a slice a thread's points lie
    `threads` apart along the first one, so that lanes read neighbours, and are neighbours along the others. `unroll`:
    steps of the innermost dimension of the domain that are written out. `blocks`: that a multiprocessor should have
    registers for; 0 leaves it to the compiler.

    `slice`: steps per dimension of the domain, innermost first, whose operands a block puts into shared memory at once;
    dimensions that are not named have one. Then `unroll` steps of the slice are written out, of its innermost
    dimensions. `buffers`: slices that are there, or on their way, at a time. With a slice a thread's points lie
    `threads` apart along all coordinates, along the first one in runs of `vector` neighbours.
    `zigzag`: 1 for warps of 8 by 4 threads, numbered so that neighbours share an operand: a load of 16 bytes by a warp
    takes two passes through shared memory then, not four.
    """

    name = "schedule.gemm"

    PARAMETERS: ClassVar = {
        "threads": None, "points": None, "unroll": 1, "slice": (), "buffers": 1, "vector": 1, "blocks": 0, "zigzag": 0,
    }  # fmt: skip

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
    def slice(self) -> tuple[int, ...]:
        """Steps whose operands are staged at once, per dimension of the domain; none if operands are not staged."""
        return self.numbers("slice")

    @property
    def buffers(self) -> int:
        """Slices in shared memory at a time."""
        return self.number("buffers")

    @property
    def vector(self) -> int:
        """Points of a thread that are neighbours along the first coordinate, where operands are staged."""
        return self.number("vector")

    @property
    def resident_blocks(self) -> int:
        return self.number("blocks")

    @property
    def zigzag(self) -> bool:
        """Whether warps are patches of 8 by 4 threads."""
        return self.number("zigzag") > 0

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
        if any(
            n <= 0 for n in (*self.thread_counts, *self.points, *self.slice, self.unroll, self.buffers, self.vector)
        ):
            raise VerifyException("threads, points, unroll, slice, buffers and vector must be positive")
        if any(n > 1 for n in self.thread_counts[3:]):
            raise VerifyException("threads lie in the first three dimensions")
        written = math.prod(self.points[1:] if self.one_thread else self.points)
        if written > MOST_POINTS:
            raise VerifyException(f"a thread has {written} points; {MOST_POINTS} at most")
        if not self.slice and max(self.buffers, self.vector) > 1:
            raise VerifyException("buffers and vector are those of a slice; give one")
        if self.slice and self.one_thread:
            raise VerifyException("a block of one thread stages nothing; leave the slice out")
        if self.zigzag and not (self.slice and fits_zigzag(self.thread_counts)):
            raise VerifyException("zigzag needs a slice, threads in eights along x, and in fours along the others")
        if self.buffers > MOST_BUFFERS:
            raise VerifyException(f"a block has {self.buffers} buffers; {MOST_BUFFERS} at most")
        if self.points and self.points[0] % self.vector:
            raise VerifyException(f"{self.points[0]} points along x are no runs of {self.vector} neighbours")
