"""Loads of block tiles: what threads share, and where lanes meet in the banks of shared memory."""

import pytest

from tilefuse.analysis.index import Index
from tilefuse.analysis.machine import machine
from tilefuse.execution.block_tile.features import BlockFeatures
from tilefuse.execution.block_tile.loads import passes, piece_loads, shared_loads, times_of, warp_passes
from tilefuse.execution.block_tile.registers import LiveValues

TRIPLE = ((-1, 0), (0, 0), (1, 0))


def meeting(bytes, apart):
    """Passes of a warp, by going over the lanes: 128 bytes of neighbouring lanes at once, a word of a bank each."""
    lanes, total = max(1, min(32, 128 // bytes)), 0
    for first in range(0, 32, lanes):
        words = {w for lane in range(first, first + lanes) for w in _words(lane * apart, bytes)}
        total += max(sum(w % 32 == bank for w in words) for bank in range(32))
    return total


def _words(first, bytes):
    return range(first // 4, (first + bytes - 1) // 4 + 1)


@pytest.mark.parametrize("bytes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("times", [1, 2, 3, 4, 8])
def test_passes_are_those_of_the_banks(bytes, times):
    assert passes(bytes, bytes * times) == meeting(bytes, bytes * times)


def test_lanes_at_twice_their_coordinates_meet():
    assert warp_passes(TRIPLE, 1, 1, 4, (1, 1)) == 3
    assert warp_passes(TRIPLE, 1, 1, 4, (2, 1)) == 6
    # columns -1, 0 to 3 and 4 for four points
    assert warp_passes(TRIPLE, 4, 1, 4, (1, 1)) == (4 + 4 + 4) / 4
    # columns -1, 0 to 3, 4 to 7: eight lanes of 16 bytes lie twice as far apart
    assert warp_passes(TRIPLE, 4, 1, 4, (2, 1)) == (8 + 8 + 8) / 4


def test_lanes_get_a_value_without_dimensions_at_once():
    assert warp_passes(((),), 1, 1, 4, (1, 1)) == 1
    assert warp_passes(((),), 4, 2, 4, (1, 1)) == 1 / 8


def test_what_all_points_of_a_row_read_is_loaded_once():
    row, other = Index(1, 1), Index(1, -1, 0, 2)
    assert times_of((row, other)) == (0, 1)
    assert times_of((Index(None, 0, 3), row)) == (0, 1)
    assert times_of((Index(0, 1), row)) == (1, 1)
    # two places of a row, three of two rows: for four points in one pass each
    assert warp_passes(((0, 0), (2, 0)), 4, 1, 4, (0, 1)) == 2 / 4
    assert piece_loads(((0, 0), (2, 0)), 4, 1, 4, (0, 1)) == (2 / 4, 2)
    assert piece_loads(((0, 0), (0, 1)), 4, 2, 4, (0, 1)) == (3 / 8, 3)
    assert warp_passes(((0, 0), (0, 1)), 4, 2, 4, (0, 1)) == 3 / 8


def test_points_at_twice_their_coordinates_share_less():
    assert shared_loads(((0, -1), (0, 0), (0, 1)), 4) == 6 / 4
    assert shared_loads(((0, -1), (0, 0), (0, 1)), 4, 2) == 9 / 4
    assert piece_loads(TRIPLE, 4, 1, 4) == (3 / 4, 6)
    assert piece_loads(TRIPLE, 4, 1, 4, (2, 1)) == (3 / 4, 9)


def test_few_blocks_take_longer():
    on = machine("h200")

    def us(resident_blocks, passes=0.0):
        return BlockFeatures(
            blocks=10000, bytes=16384.0, instructions=65536.0, resident_threads=1024, resident_blocks=resident_blocks,
            passes=passes,
        ).analytical(on)  # fmt: skip

    assert us(2) > us(4) > us(8)
    assert us(4, passes=65536.0) > us(4, passes=1024.0) == us(4)


def test_many_rows_of_a_thread_take_longer_to_compute():
    on = machine("h200")

    def us(thread_rows, bytes=16384.0):
        return BlockFeatures(
            blocks=10000, bytes=bytes, instructions=65536.0, resident_threads=1024, thread_rows=thread_rows
        ).analytical(on)

    assert us(8) > us(4) == us(1)
    # of what memory takes only the part that arithmetic does not hide behind
    assert us(8, bytes=1e6) - us(4, bytes=1e6) < us(8) - us(4)


def test_rounds_along_x_take_registers():
    held = LiveValues(stored=12.0, loaded=30.0)
    assert held.registers(3, 2, 2) > held.registers(3, 2)


def test_columns_far_apart_are_counted_at_once():
    assert warp_passes(((0, 0), (2**40, 0)), 1, 1, 4, (1, 1)) == 2
    assert warp_passes(((0, 0), (1, 0), (2**40, 0)), 2, 1, 4, (1, 1)) == (2 + 2 + 2 + 2 + 2) / 2
