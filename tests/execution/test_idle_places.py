"""Cost of blocks whose warps leave their places together."""

from dataclasses import replace

from tilefuse.analysis.machine import machine
from tilefuse.execution.features import predict
from tilefuse.execution.warp_tile.features import IDLE_PLACES, PARTITIONS, WarpFeatures

ON = machine("h200")
WORK = WarpFeatures(
    blocks=64 * ON.cores, at_border=0.0, warps=4, resident_blocks=6, instructions=1200.0, code=1200.0, exchanges=0.0,
    barriers=0, own_bytes=3500.0, other_bytes=1500.0, stored_bytes=1700.0, loads=True, loaded_bytes=128.0,
    touched_bytes=128.0, stored_again=0.0, guarded=False, row_bytes=256, rows=20,
)  # fmt: skip


def test_places_of_large_blocks_are_idle_until_their_last_warp_ends():
    large = replace(WORK, blocks=WORK.blocks // 2, warps=2 * PARTITIONS, resident_blocks=3)
    assert WORK.resident_threads(ON) == 6 * 4 * 32
    assert large.resident_threads(ON) == (1.0 - IDLE_PLACES) * 6 * 4 * 32
    assert predict(large, ON) > predict(WORK, ON)


def test_blocks_of_a_warp_for_each_part_are_as_good_as_smaller_ones():
    small = replace(WORK, blocks=2 * WORK.blocks, warps=2, resident_blocks=12)
    assert small.resident_threads(ON) == WORK.resident_threads(ON)
