"""Occupancy against results of NVIDIA's occupancy calculator."""

import pytest

from tilefuse.targets.gpus import gpu
from tilefuse.targets.occupancy import OccupancyError, exceeded_limits, occupancy


@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "blocks", "limited_by"),
    [
        # Nothing but the warps limits; full.
        ("sm_70", 256, 32, 0, 8, "warps"),
        ("sm_75", 256, 32, 0, 4, "warps"),
        ("sm_80", 256, 32, 0, 8, "warps"),
        ("sm_86", 256, 32, 0, 6, "warps"),
        ("sm_89", 256, 40, 0, 6, "warps"),
        ("sm_90", 1024, 32, 0, 2, "warps"),
        # Small blocks: the number of blocks limits.
        ("sm_70", 32, 16, 0, 32, "blocks"),
        ("sm_75", 32, 16, 0, 16, "blocks"),
        ("sm_86", 64, 16, 0, 16, "blocks"),
        ("sm_89", 32, 16, 0, 24, "blocks"),
        ("sm_90", 32, 16, 0, 32, "blocks"),
        # Registers of a warp come in units of 256: 33 count as 40.
        ("sm_80", 256, 33, 0, 6, "registers"),
        ("sm_80", 256, 40, 0, 6, "registers"),
        ("sm_80", 256, 41, 0, 5, "registers"),
        ("sm_90", 128, 255, 0, 2, "registers"),
        # 65 registers count as 72: 7 warps fit in the 16384 of each partition, so 28 on the SM.
        ("sm_90", 32, 65, 0, 28, "registers"),
        ("sm_90", 192, 65, 0, 4, "registers"),
        ("sm_86", 256, 64, 0, 4, "registers"),
        # Shared memory: 1 KiB of each block is taken from sm_80 on; rounded up to 128 (256 before).
        ("sm_70", 64, 32, 48 * 1024, 2, "shared memory"),
        ("sm_75", 64, 32, 32 * 1024, 2, "shared memory"),
        ("sm_80", 64, 32, 48 * 1024, 3, "shared memory"),
        ("sm_86", 64, 32, 48 * 1024, 2, "shared memory"),
        ("sm_86", 64, 32, 49 * 1024 + 1, 1, "shared memory"),
        ("sm_90", 64, 32, 227 * 1024, 1, "shared memory"),
        ("sm_90", 256, 32, 37 * 1024, 6, "shared memory"),
        ("sm_90", 256, 32, 37 * 1024 + 1, 5, "shared memory"),
        ("sm_70", 128, 32, 6 * 1024, 16, "warps"),
        ("sm_70", 128, 32, 6 * 1024 + 1, 15, "shared memory"),
        ("sm_80", 256, 32, 20 * 1024, 7, "shared memory"),
        ("sm_100", 256, 32, 0, 8, "warps"),
        ("sm_120", 128, 32, 0, 12, "warps"),
    ],
)
def test_blocks_per_sm(arch, threads, registers, shared, blocks, limited_by):
    found = occupancy(gpu(arch), threads, registers, shared)
    assert (found.blocks_per_sm, found.limited_by) == (blocks, limited_by)
    assert found.fraction == blocks * -(-threads // 32) / gpu(arch).max_warps_per_sm


def test_a_part_of_a_warp_counts_as_one():
    assert occupancy(gpu("sm_80"), 33, 32, 0) == occupancy(gpu("sm_80"), 64, 32, 0)


def test_every_limit_that_is_exceeded_is_named():
    with pytest.raises(OccupancyError) as raised:
        occupancy(gpu("h200"), 2048, 300, 300_000)
    assert str(raised.value) == (
        "the block does not fit on h200 (sm_90): 2048 threads, where a block has 1 to 1024; "
        "300 registers per thread, at most 255; 300000 bytes of shared memory, at most 232448"
    )
    assert len(raised.value.limits) == 3
    assert exceeded_limits(gpu("h200"), 1024, 65, 0) == (
        "73728 registers per block (1024 threads of 65), at most 65536",
    )
    assert exceeded_limits(gpu("h200"), 0, 32, 0)
    # 5 warps are checked as 8: one in each of the 4 partitions at a time.
    assert exceeded_limits(gpu("h200"), 29 * 32, 72, 0) == (
        "73728 registers per block (928 threads of 72), at most 65536",
    )
    assert exceeded_limits(gpu("h200"), 28 * 32, 72, 0) == ()


def test_what_just_fits_has_one_block():
    assert occupancy(gpu("sm_90"), 1024, 64, 227 * 1024).blocks_per_sm == 1
    assert occupancy(gpu("sm_75"), 1024, 64, 64 * 1024).blocks_per_sm == 1
