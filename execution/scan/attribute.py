"""The schedule attribute of a recurrence whose lines run concurrently."""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.schedule import ScheduleAttr

MOST_SLICE_BUFFERS = 5


@irdl_attr_definition(init=False)
class ScanSchedule(ScheduleAttr):
    """`#schedule.scan<threads = [32], width = 1, unroll = 8, slice = 32, buffers = 3>`.

    `threads` of a block per line coordinate, x first.

    `width`: lines along the first of these coordinates that a thread takes step by step together, in a loop; lines
    along x are written out.
    `unroll`: steps whose inputs are loaded before the first of them is computed; 1 with a width of several.

    `slice`: steps whose inputs a block puts into shared memory at once, in the order of memory, so that lines along x
    are read and written by lanes side by side; 0 for none. `buffers`: slices there, or on their way, at a time. `rows`:
    rows of threads, as many as `threads` says in each, that share the copies; the first goes along the lines. Of a
    thread with a width of several: steps whose results it stores at once, along the rows of what it gives.

    `chunk`: steps that each of `rows` threads takes of a line that blocks share out; 0 for a line that is one thread's.
    Lines across memory are side by side in a block, as many as `threads` says.

    `workers`: blocks on a CPU that share out the strips of `width` lines, where several updates go along them, and have
    memory for one each; 0 for a single update.

    `prefetch`: steps ahead whose writes are prefetched, or slices, on CPUs; 0 for none. It needs several lines.
    """

    name = "schedule.scan"

    PARAMETERS: ClassVar = {
        "threads": None, "width": 1, "unroll": 1, "slice": 0, "buffers": 1, "rows": 1, "chunk": 0, "workers": 0,
        "prefetch": 0,
    }  # fmt: skip

    @property
    def lines(self) -> tuple[int, ...]:
        """Threads with separate lines, per line coordinate."""
        return self.numbers("threads")

    @property
    def thread_counts(self) -> tuple[int, ...]:
        if self.chunk:
            return (self.number("rows"),) if self.adjacent_lines == 1 else (self.adjacent_lines, self.number("rows"))
        return (*self.lines[:1], self.number("rows")) if self.slice else self.lines

    @property
    def adjacent_lines(self) -> int:
        """Adjacent lines of a block along the first line coordinate, each by one or several threads."""
        return self.lines[0] if self.lines else 1

    @property
    def width(self) -> int:
        """Lines per thread."""
        return self.number("width")

    @property
    def unroll(self) -> int:
        """Unrolled steps."""
        return self.number("unroll")

    @property
    def slice(self) -> int:
        """Steps whose inputs are staged together; 0 without staging."""
        return self.number("slice")

    @property
    def stores_slices(self) -> bool:
        """Whether a thread takes several lines and stores a slice of their steps at once, along rows."""
        return self.slice > 0 and self.width > 1

    @property
    def buffers(self) -> int:
        """Number of slices in shared memory."""
        return self.number("buffers")

    @property
    def chunk(self) -> int:
        """Steps of a thread if blocks share a line; else 0."""
        return self.number("chunk")

    @property
    def workers(self) -> int:
        """Blocks that share out strips of lines; 0 where each line, or lines taken together, is a block's."""
        return self.number("workers")

    @property
    def prefetch(self) -> int:
        """Steps, or slices of several lines, from a prefetch to the write."""
        return self.number("prefetch")

    @property
    def steps_of_block(self) -> int:
        """Steps of a block's chunk of a line."""
        return self.chunk * self.number("rows")

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        first, *others = self.lines or (1,)
        return (first * self.width, *others)[: len(self.lines)]

    def verify(self) -> None:
        if any(n <= 0 for n in (*self.lines, self.width, self.unroll, self.buffers, self.number("rows"))):
            raise VerifyException("threads, width, unroll, buffers and rows must be positive")
        if any(n > 1 for n in self.lines[3:]):
            raise VerifyException("threads must be in the first three dimensions")
        if self.width > 1 and self.unroll > 1:
            raise VerifyException("with a width of several lines, unroll must be 1")
        if self.width > 1 and not self.lines:
            raise VerifyException("without line coordinates, width must be 1")
        if self.buffers > (MOST_SLICE_BUFFERS if self.slice else 1):
            raise VerifyException(f"{self.buffers} buffers; {MOST_SLICE_BUFFERS} at most, of a slice")
        if self.chunk:
            if max((*self.lines[1:], self.width, self.unroll, self.buffers)) > 1 or self.slice:
                raise VerifyException("chunk needs slice = 0, and 1 for width, unroll, buffers and further threads")
            if self.adjacent_lines not in (1, 32):
                raise VerifyException("chunk needs 1 line, or 32 adjacent lines")
            if self.number("rows") not in [1 << n for n in range(1, 11)] or math.prod(self.thread_counts) not in range(
                32, 1025
            ):
                raise VerifyException("chunk needs 32 to 1024 threads, a power of two of them along a line")
        elif self.number("rows") > 1 and not self.slice:
            raise VerifyException("rows need a slice; write slice = ...")
        if self.slice % self.unroll and self.slice:
            raise VerifyException(f"a slice of {self.slice} steps is not a multiple of the unroll factor {self.unroll}")
        if self.slice and (not self.lines or any(n > 1 for n in self.lines[1:])):
            raise VerifyException("a slice needs adjacent lines along the first line coordinate")
        if self.workers and (self.width == 1 or any(n > 1 for n in self.lines) or self.chunk):
            raise VerifyException("workers need a width of several lines, one thread, and no chunk")
        if self.stores_slices and (self.lines[0], self.buffers, self.number("rows")) != (1, 1, 1):
            raise VerifyException("a slice with a width of several lines needs one thread, one row and one buffer")
        if self.prefetch < 0 or (self.prefetch and self.width == 1):
            raise VerifyException("prefetch must not be negative, and 0 without a width of several lines")
