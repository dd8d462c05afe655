"""Block tiles that spill: fewer points per thread, not fewer threads."""

import pytest

from tilefuse.execution.base import Spill
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.execution.block_tile.registers import fewer_points

CASES = [
    # (tile, threads, vector, unroll), missing bytes, (vector, unroll)
    (([256, 4, 3], [64, 4, 1], 4, []), 1800, (4, (1, 1, 1))),
    (([256, 4, 3], [64, 4, 1], 4, []), 16, (4, (1, 1, 1))),
    (([256, 16], [64, 4], 4, []), 16, (4, (1, 2))),
    (([256, 16], [64, 4], 4, []), 4000, (2, (1, 1))),
    (([256, 4], [64, 4], 4, [1, 1]), 100000, (1, (1, 1))),
]


@pytest.mark.parametrize(("given", "missing", "expected"), CASES)
def test_a_thread_computes_fewer_points(given, missing, expected):
    tile, threads, vector, unroll = given
    schedule = BlockSchedule(tile=tile, threads=threads, vector=vector, unroll=unroll)
    found = fewer_points(schedule, Spill(255, missing, 65536))
    assert (found.vector_width, found.unroll_factors) == expected
    assert (found.tile_sizes, found.thread_counts) == (schedule.tile_sizes, schedule.thread_counts)


def test_one_point_stays():
    schedule = BlockSchedule(tile=[64, 4], threads=[64, 4])
    assert fewer_points(schedule, Spill(255, 64, 65536)) is None
