"""The schedule attribute of a reduction."""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.schedule import ScheduleAttr

_MOST_WARPS = 1024
MOST_OF_A_LANE = 32
"""Sums of a lane, in registers."""


@irdl_attr_definition(init=False)
class ReduceSchedule(ScheduleAttr):
    """`#schedule.reduce<tile = [1], threads = [32, 8], vector = 4, unroll = 4, segment = 8, split = 2>`.

    `tile`: pure points of a block, per pure dimension. `threads`: adjacent lanes, and warps. If there are more warps
    than the tile has rows, they split the domain, as do `split` blocks; partial results are combined in a fixed order.

    `pure_lanes = 0`: lanes lie along the first dimension of the domain. A lane takes `vector` points at once, for
    `unroll` rounds of all lanes; after `segment` such rounds the next warp continues, or the next row begins. A row of
    the tile is one pure point. `pure_lanes = 1`: lanes lie along the first pure dimension, with `vector` points each,
    and a warp traverses the domain point by point, `unroll` points of which are unrolled. A row of the tile consists of
    the points of all lanes.
    """

    name = "schedule.reduce"

    PARAMETERS: ClassVar = {
        "tile": None, "threads": None, "vector": 1, "unroll": 1, "segment": 1, "split": 1, "pure_lanes": 0,
    }  # fmt: skip

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        return self.numbers("tile")

    @property
    def thread_counts(self) -> tuple[int, ...]:
        return self.numbers("threads")

    @property
    def lanes(self) -> int:
        """Lanes of a warp; 1 on a CPU."""
        return self.thread_counts[0]

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return self.thread_counts[1]

    @property
    def vector_width(self) -> int:
        """Neighbouring points that a lane loads at once."""
        return self.number("vector")

    @property
    def pure_lanes(self) -> bool:
        """Whether lanes run along the pure points."""
        return bool(self.number("pure_lanes"))

    @property
    def points(self) -> int:
        """Pure points of a block."""
        return math.prod(self.tile_sizes)

    @property
    def rows(self) -> int:
        """Rows of the tile, each with its own warps."""
        return self.points // (self.lanes * self.vector_width if self.pure_lanes else 1)

    @property
    def team(self) -> int:
        """Warps that share the domain for one row of the tile."""
        return self.warps // self.rows

    @property
    def split(self) -> int:
        """Blocks that share the domain of a tile."""
        return self.number("split")

    @property
    def chunk(self) -> int:
        """Points of a domain row that the lanes take per chunk."""
        return self.lanes * self.vector_width * self.number("unroll")

    def verify(self) -> None:
        counts = (*self.tile_sizes, *self.thread_counts, *(self.number(k) for k in ("unroll", "segment", "split")))
        if min(counts) <= 0 or self.vector_width not in [1 << n for n in range(10)]:
            raise VerifyException("all parameters must be positive, and vector a power of two up to 512")
        if len(self.thread_counts) != 2 or self.lanes not in (1, 32):
            raise VerifyException("threads must be [32, warps], or [1, warps] on a CPU")
        if self.warps > _MOST_WARPS:
            raise VerifyException(f"a block has {self.warps} warps; {_MOST_WARPS} at most")
        if self.lanes > 1 and self.vector_width > MOST_OF_A_LANE:
            raise VerifyException(f"a lane has {MOST_OF_A_LANE} sums at most")
        if self.number("pure_lanes") > 1:
            raise VerifyException("pure_lanes must be 0 or 1")
        width = self.lanes * self.vector_width if self.pure_lanes else 1
        own = self.tile_sizes[1:2] if self.pure_lanes else self.tile_sizes[:1]
        if self.pure_lanes and self.tile_sizes[:1] != (width,):
            raise VerifyException(f"lanes and vector have {width} points, so the tile must be as wide")
        if self.points != width * math.prod(own):
            raise VerifyException("the tile must have one point in all dimensions without lanes or warps")
        if self.warps % math.prod(own):
            raise VerifyException(f"{self.warps} warps do not divide {math.prod(own)} rows of the tile evenly")
