"""The schedule of an update that runs in order."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.schedule import ScheduleAttr


@irdl_attr_definition(init=False)
class InOrderSchedule(ScheduleAttr):
    """`#schedule.in_order<threads = [32, 4]>`: threads of a block per pure coordinate, each with a point of its own."""

    name = "schedule.in_order"

    PARAMETERS: ClassVar = {"threads": None}

    @property
    def thread_counts(self) -> tuple[int, ...]:
        return self.numbers("threads")

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        return self.thread_counts

    def verify(self) -> None:
        if any(n <= 0 for n in self.thread_counts):
            raise VerifyException("threads must be positive")
        if any(n > 1 for n in self.thread_counts[3:]):
            raise VerifyException("threads lie in the first three dimensions")
