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

    On a CPU, `#schedule.gemm<threads = [1, 1], points = [16, 6], vector = 8, repeat = 16, pack = 256>`: a thread has
    its sums in vectors of 8, and 16 blocks of points along the second coordinate, one after the other. For so many
    steps of the innermost dimension it first copies, side by side, what those blocks have in common (`pack = 0`: it
    does not).
    """

    name = "schedule.gemm"

    PARAMETERS: ClassVar = {"threads": None, "points": None, "unroll": 1, "vector": 1, "repeat": 1, "pack": 0}

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
    def lanes(self) -> int:
        """Points along x whose sums are one vector; 1: a compiler looks for vectors."""
        return self.number("vector")

    @property
    def repeat(self) -> int:
        """Blocks of points that a thread takes one after the other, along `rows_dim`."""
        return self.number("repeat")

    @property
    def pack(self) -> int:
        """Steps whose shared operands are copied first."""
        return self.number("pack")

    @property
    def rows_dim(self) -> int | None:
        """The coordinate along which a block of vectors has rows; None if there is but x."""
        several = [d for d, n in enumerate(self.points) if d and n > 1]
        return several[0] if several else 1 if len(self.points) > 1 else None

    @property
    def rows(self) -> int:
        """Rows of vectors."""
        return 1 if self.rows_dim is None else self.points[self.rows_dim]

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        sizes = [t * p for t, p in zip(self.thread_counts, self.points, strict=True)]
        if self.rows_dim is not None:
            sizes[self.rows_dim] *= self.repeat
        return tuple(sizes)

    @property
    def one_thread(self) -> bool:
        """Whether a block is a single thread, as on CPUs: its points along x are a loop then."""
        return math.prod(self.thread_counts) == 1

    def verify(self) -> None:
        if len(self.thread_counts) != len(self.points):
            raise VerifyException(f"threads has {len(self.thread_counts)} dimensions but points has {len(self.points)}")
        if any(n <= 0 for n in (*self.thread_counts, *self.points, self.unroll, self.lanes, self.repeat)):
            raise VerifyException("threads, points, unroll, vector and repeat must be positive")
        if any(n > 1 for n in self.thread_counts[3:]):
            raise VerifyException("threads lie in the first three dimensions")
        written = math.prod(self.points[1:] if self.one_thread else self.points)
        if written > MOST_POINTS:
            raise VerifyException(f"a thread has {written} points; {MOST_POINTS} at most")
        self._verify_vectors()

    def _verify_vectors(self) -> None:
        if self.lanes == 1:
            if self.repeat > 1 or self.pack:
                raise VerifyException("repeat and pack are for sums in vectors: vector is 2 or more")
            return
        if not self.one_thread or self.unroll > 1:
            raise VerifyException("vectors are for blocks of one thread, and unroll is 1")
        if self.points[0] % self.lanes or self.lanes & (self.lanes - 1):
            raise VerifyException("vector is a power of two, and points along x are whole vectors")
        if sum(n > 1 for n in self.points[1:]) > 1:
            raise VerifyException("a block of vectors has rows along one coordinate")
