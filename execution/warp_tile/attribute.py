"""The schedule attribute of a warp tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from tilefuse.execution.tile_schedule import TileSchedule

ROWS_OF_WARP, EXCHANGE = "rows", "exchange"
"""Parameters of a tile by hand from which its size and the places of its stages follow."""


@irdl_attr_definition(init=False)
class WarpSchedule(TileSchedule):
    """`#schedule.warp_tile<tile = [120, 28], threads = [32, 8], vector = 4, blocks = 3>`: lanes in x, warps in y.

    `prefetch_rows = 23`: the blocks of 23 rows of tiles run at once. Those of the first 23 rows ask for what
    lies in their tiles of the pipeline's inputs to come to the L2 cache before they wait for the kernels before to end;
    each block, when it has begun its own loads, asks for what lies in the tile 23 rows of tiles below.
    """

    name = "schedule.warp_tile"

    PARAMETERS: ClassVar = {**TileSchedule.PARAMETERS, "prefetch_rows": 0}

    @property
    def prefetch_rows(self) -> int:
        """Distance in tile rows between a block's tile and the one that it prefetches; 0 for none."""
        return self.number("prefetch_rows")

    @property
    def few_waves(self) -> bool:
        return bool(self.prefetch_rows)

    @property
    def knows_inputs(self) -> bool:
        return bool(self.prefetch_rows)  # no other functions' lines are there to prefetch when a kernel begins

    def for_many_waves(self) -> Self:
        return self.changed(prefetch_rows=0)

    def changed(self, **changes: int | Sequence[int]) -> Self:
        """Copy the schedule with changed parameters; `prefetch_rows` becomes 0 if resident blocks change."""
        return super().changed(**{"prefetch_rows": 0, **changes}) if changes else self

    def verify(self) -> None:
        super().verify()
        tile, rows = self.tile_sizes, self.prefetch_rows
        if not 0 <= rows * max(tile, default=1) < 1 << 31:
            raise VerifyException(f"prefetch_rows = {rows}: a number of rows of tiles, 0 for none")
        if rows and len(tile) < 2:
            raise VerifyException("prefetch_rows needs a tile of two dimensions or more")
