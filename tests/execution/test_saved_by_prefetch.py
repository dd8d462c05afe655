"""When it pays to prefetch cache lines."""

from dataclasses import replace

import pytest

from tilefuse.analysis.machine import machine
from tilefuse.execution.features import predict
from tilefuse.execution.warp_tile.features import BUSY_MEMORY, PREFETCH_US, WarpFeatures, saved_by_prefetch

ON = machine("h200")
WORK = WarpFeatures(
    blocks=2 * 8 * ON.cores, at_border=0.1, warps=4, resident_blocks=8, instructions=1200.0, code=1200.0, exchanges=0.0,
    barriers=0, own_bytes=3500.0, other_bytes=1500.0, stored_bytes=1700.0, loads=True, loaded_bytes=128.0,
    touched_bytes=128.0, stored_again=0.0, guarded=False, row_bytes=256, rows=40,
)  # fmt: skip


def saved(**changes):
    work = replace(WORK, **changes)
    return saved_by_prefetch(work, predict(work, ON), ON)


def left(work):
    time = predict(work, ON)
    return time - saved_by_prefetch(work, time, ON)


def test_the_first_wave_gains():
    assert saved() == pytest.approx(PREFETCH_US / 2)
    assert saved(blocks=8 * ON.cores, barriers=2) == pytest.approx(PREFETCH_US)


def test_a_single_wave_takes_what_its_instructions_take():
    """DRAM has worked while the kernel before computed: it does not count, and less is left of the tail."""
    one = replace(WORK, blocks=8 * ON.cores, own_bytes=2000.0)
    left = [predict(w, ON) - saved_by_prefetch(w, predict(w, ON), ON) for w in (one, replace(one, own_bytes=2500.0))]
    assert left[0] == pytest.approx(left[1])
    # the block of a multiprocessor, and the instructions of one thread after the other
    twice = replace(one, instructions=2 * one.instructions)
    time = predict(twice, ON) - saved_by_prefetch(twice, predict(twice, ON), ON)
    assert time - left[0] > 0.9 * one.blocks * one.warps * 32 * one.instructions / ON.instructions_per_us


def test_a_single_wave_that_memory_keeps_busy_gains_as_any_first_one():
    one = replace(WORK, blocks=8 * ON.cores, own_bytes=5000.0)
    assert saved_by_prefetch(one, predict(one, ON), ON) == pytest.approx(PREFETCH_US)


def test_many_small_blocks_begin_late():
    one = replace(WORK, blocks=8 * ON.cores, instructions=300.0, own_bytes=1000.0)
    small = replace(one, blocks=4 * one.blocks, resident_blocks=32, warps=1)
    assert left(small) > left(one) + 0.5


def test_not_where_nothing_is_loaded():
    assert saved(loads=False) == 0.0


def test_not_where_memory_is_busy_anyway():
    work = replace(WORK, own_bytes=14000.0)
    busy = work.blocks * work.warps * work.own_bytes / ON.bytes_per_us
    assert saved_by_prefetch(work, busy / BUSY_MEMORY * 1.01, ON) > 0.0
    assert saved_by_prefetch(work, busy / BUSY_MEMORY * 0.99, ON) == 0.0


@pytest.mark.parametrize("waves", [0.5, 1.1, 5.0])
def test_not_for_small_waves_or_many(waves):
    assert saved(blocks=int(waves * 8 * ON.cores)) == 0.0
