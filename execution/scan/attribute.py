"""The schedule of a recurrence whose lines run at once."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.schedule import ScheduleAttr


@irdl_attr_definition(init=False)
class ScanSchedule(ScheduleAttr):
    """`#schedule.scan<threads = [32], width = 1, unroll = 8>`: threads of a block per line coordinate, x first.

    `width`: lines along the first of these coordinates that a thread takes step by step together, in a loop; lines
    along x are written out.
    `unroll`: steps whose inputs are loaded before the first of them is computed; 1 with a width of several.
    """

    name = "schedule.scan"

    PARAMETERS: ClassVar = {"threads": None, "width": 1, "unroll": 1}

    @property
    def thread_counts(self) -> tuple[int, ...]:
        return self.numbers("threads")

    @property
    def width(self) -> int:
        """Lines of a thread."""
        return self.number("width")

    @property
    def unroll(self) -> int:
        """Steps that are written out."""
        return self.number("unroll")

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        first, *others = self.thread_counts or (1,)
        return (first * self.width, *others)[: len(self.thread_counts)]

    def verify(self) -> None:
        if any(n <= 0 for n in (*self.thread_counts, self.width, self.unroll)):
            raise VerifyException("threads, width and unroll must be positive")
        if any(n > 1 for n in self.thread_counts[3:]):
            raise VerifyException("threads lie in the first three dimensions")
        if self.width > 1 and self.unroll > 1:
            raise VerifyException("lines that are taken together are taken step by step: unroll is 1")
        if self.width > 1 and not self.thread_counts:
            raise VerifyException("a single line has a width of 1")
