"""The schedule attribute of a reduction with register blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.schedule import ScheduleAttr

MOST_POINTS_OF_THREAD = 128
"""Largest number of points of a thread; more sums do not fit registers."""
MOST_GEMM_BUFFERS = 4
PATCH = (8, 4)
"""Threads of a warp along the first coordinate, and along the others, in a zigzag."""


def fits_zigzag(threads: Sequence[int]) -> bool:
    """Whether a block is made of patches of 8 by 4 threads."""
    return bool(threads) and threads[0] % PATCH[0] == 0 and math.prod(threads[1:]) % PATCH[1] == 0


@irdl_attr_definition(init=False)
class GemmSchedule(ScheduleAttr):
    """`#schedule.gemm<threads = [16, 16], points = [8, 8], unroll = 4, slice = [16], buffers = 3, vector = 4>`.

    `threads` of a block and `points` of a thread, both per pure coordinate. Without a slice, a thread's points are
    `threads` apart along the first coordinate, so that adjacent lanes read adjacent elements, and adjacent along the
    others. `unroll`: unrolled steps of the innermost reduction dimension. `blocks`: resident blocks per multiprocessor
    for which registers are bounded; 0 for no bound.

    `slice`: steps per reduction dimension, innermost first, whose operands a block stages in shared memory at once; 1
    for dimensions that are not listed. Then `unroll` counts unrolled steps of the slice, from its innermost dimension.
    `buffers`: slices in shared memory at a time, counting those in flight. With a slice, a thread's points are
    `threads` apart along all coordinates, in runs of `vector` adjacent points along the first one.
    `zigzag`: 1 for warps of 8 by 4 threads, numbered such that adjacent threads share an operand: then a 16-byte load
    of a warp takes two passes through shared memory instead of four. `adjacent`: 1 for points that are adjacent along
    the other coordinates too: a thread's windows overlap, and their common values are loaded once.

    On a CPU, `#schedule.gemm<threads = [1, 1], points = [16, 6], vector = 8, repeat = 16, pack = 256>`: a thread keeps
    its sums in vectors of 8, and computes 16 blocks of points along the second coordinate one after the other. `pack`:
    steps of the innermost reduction dimension, or of several dimensions if this one has fewer, whose common operands of
    these blocks a thread first copies to contiguous memory; 0 for no copy. `planes`: points along the first of the
    other coordinates whose blocks share each copy. `dynamic`: 1 for a dynamic distribution of blocks over threads, 0
    for a static one.
    """

    name = "schedule.gemm"

    PARAMETERS: ClassVar = {
        "threads": None, "points": None, "unroll": 1, "slice": (), "buffers": 1, "vector": 1, "blocks": 0, "zigzag": 0,
        "repeat": 1, "planes": 1, "pack": 0, "adjacent": 0, "dynamic": 0,
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
        """Unrolled steps."""
        return self.number("unroll")

    @property
    def slice(self) -> tuple[int, ...]:
        """Steps whose operands are staged together, per dimension of the domain; empty without staging."""
        return self.numbers("slice")

    @property
    def buffers(self) -> int:
        """Number of slices in shared memory."""
        return self.number("buffers")

    @property
    def run(self) -> int:
        """Adjacent points of a thread along the first coordinate, with staged operands."""
        return self.number("vector") if self.slice else 1

    @property
    def lanes(self) -> int:
        """Points along x whose sums form a vector on a CPU; 1 leaves vectorisation to the compiler."""
        return 1 if self.slice else self.number("vector")

    @property
    def resident_blocks(self) -> int:
        return self.number("blocks")

    @property
    def zigzag(self) -> bool:
        """Whether warps are patches of 8 by 4 threads."""
        return self.number("zigzag") > 0

    @property
    def adjacent(self) -> bool:
        """Whether a thread's points are adjacent along all coordinates, with staged operands."""
        return self.number("adjacent") > 0

    @property
    def is_dynamic(self) -> bool:
        """Whether CPU threads take blocks dynamically."""
        return self.number("dynamic") > 0

    @property
    def repeat(self) -> int:
        """Blocks of points that a thread computes one after the other, along `rows_dim`."""
        return self.number("repeat")

    @property
    def planes(self) -> int:
        """Points along `planes_dim` whose blocks share the packed operands."""
        return self.number("planes")

    @property
    def planes_dim(self) -> int | None:
        """The first coordinate other than x and `rows_dim`; None if there is none."""
        return next((d for d in range(1, len(self.points)) if d != self.rows_dim), None)

    @property
    def pack(self) -> int:
        """Steps whose shared operands are packed together."""
        return self.number("pack")

    @property
    def rows_dim(self) -> int | None:
        """The coordinate along which a block of vectors has rows; None if x is the only one."""
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
        if self.planes_dim is not None:
            sizes[self.planes_dim] *= self.planes
        return tuple(sizes)

    @property
    def one_thread(self) -> bool:
        """Whether a block is a single thread, as on CPUs, with a loop over its points along x."""
        return math.prod(self.thread_counts) == 1

    def verify(self) -> None:
        if len(self.thread_counts) != len(self.points):
            raise VerifyException(f"threads has {len(self.thread_counts)} dimensions but points has {len(self.points)}")
        counts = (self.unroll, self.buffers, self.number("vector"), self.repeat, self.planes)
        if any(n <= 0 for n in (*self.thread_counts, *self.points, *self.slice, *counts)):
            raise VerifyException("threads, points, unroll, slice, buffers, vector, repeat and planes must be positive")
        if any(n > 1 for n in self.thread_counts[3:]):
            raise VerifyException("threads must be in the first three dimensions")
        written = math.prod(self.points[1:] if self.one_thread else self.points)
        if written > MOST_POINTS_OF_THREAD:
            raise VerifyException(f"a thread has {written} points; {MOST_POINTS_OF_THREAD} at most")
        if self.lanes > 1 and (vectors := written * self.points[0] // self.lanes) > MOST_POINTS_OF_THREAD:
            raise VerifyException(f"a block has {vectors} vectors; {MOST_POINTS_OF_THREAD} at most")
        self._verify_slice()
        self._verify_vectors()

    def _verify_slice(self) -> None:
        if not self.slice:
            if self.buffers > 1 or self.zigzag or self.adjacent:
                raise VerifyException("buffers, zigzag and adjacent need a slice; write slice = [...]")
            return
        if self.one_thread:
            raise VerifyException("a block of one thread stages nothing; remove the slice")
        if self.zigzag and not fits_zigzag(self.thread_counts):
            raise VerifyException("zigzag needs a multiple of 8 threads along x, and of 4 along the other coordinates")
        if self.buffers > MOST_GEMM_BUFFERS:
            raise VerifyException(f"a block has {self.buffers} buffers; {MOST_GEMM_BUFFERS} at most")
        if self.points[0] % self.run:
            raise VerifyException(f"{self.points[0]} points along x are no multiple of runs of {self.run} neighbours")

    def _verify_vectors(self) -> None:
        if self.lanes == 1:
            if self.repeat > 1 or self.planes > 1 or self.pack:
                raise VerifyException("repeat, planes and pack need vector = 2 or more, and no slice")
            return
        if not self.one_thread or self.unroll > 1:
            raise VerifyException("without a slice, vector needs a block of one thread and unroll = 1")
        if self.points[0] % self.lanes or self.lanes & (self.lanes - 1):
            raise VerifyException("vector must be a power of two that divides the points along x")
        if self.planes > 1 and (not self.pack or self.planes_dim is None):
            raise VerifyException("planes need pack, and a coordinate besides x and that of the rows")
        if sum(n > 1 for n in self.points[1:]) > 1:
            raise VerifyException("a block of vectors must have rows along one coordinate only")
