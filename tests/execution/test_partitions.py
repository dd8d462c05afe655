"""Blocks of warp tiles that a multiprocessor has registers for: the search counts as the hardware does."""

import pytest

from tilefuse.analysis.machine import machine
from tilefuse.execution.warp_tile.cost import _blocks_with_registers, _registers_left
from tilefuse.targets.gpus import gpu
from tilefuse.targets.occupancy import occupancy

WARPS = (2, 4, 8)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("target", ["a100", "h200", "b200"])
def test_search_and_hardware_agree_on_blocks(target, warps):
    for registers in range(32, 256, 8):
        found = _blocks_with_registers(registers, warps, machine(target))
        assert (
            min(found, gpu(target).max_blocks_per_sm) == occupancy(gpu(target), 32 * warps, registers, 0).blocks_per_sm
        )


@pytest.mark.parametrize("warps", WARPS)
def test_blocks_fit_with_the_registers_that_they_leave(warps):
    on = machine("h200")
    for blocks in range(1, 64 // warps + 1):
        left = _registers_left(blocks, warps, on)
        assert _blocks_with_registers(left, warps, on) >= blocks
        assert left == 248 or _blocks_with_registers(left + 8, warps, on) < blocks


def test_nine_blocks_of_two_warps_leave_as_much_as_ten():
    assert _registers_left(9, 2, machine("h200")) == _registers_left(10, 2, machine("h200")) == 96
