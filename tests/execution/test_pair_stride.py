"""How far the two columns of a register lie from each other."""

import pytest

from tilefuse.execution.warp_tile.subwords import best_pair_stride, gain_beside, gain_in_memory


@pytest.mark.parametrize(
    ("vector", "reach", "gain"),
    [
        # pairs at 0, 1, 2, 3 and 4 apart: -1 and 4 of two, each of another lane's; neighbours: -1, 1, 3, 5, 7
        (8, (1, 1), (2 + 2 * 2) - (5 + 2 * 2)),
        (8, (1, 0), (1 + 2) - (4 + 2)),  # -1; -1, 1, 3, 5
        # -2, -1, 4, 5 and as many shuffles; -1, 1, 3, 5, 7, and the next lanes' at -2 and 8
        (8, (2, 2), (4 + 2 * 4) - (5 + 2 * 2)),
        (8, (0, 0), 0),
        (2, (1, 1), 0),  # half of a lane's columns is 1
        (4, (2, 2), (4 + 2 * 4) - (3 + 2 * 2)),
        (16, (1, 1), (2 + 2 * 2) - (9 + 2 * 2)),
    ],
)
def test_gain_of_a_row_that_is_read_sideways(vector, reach, gain):
    assert gain_beside(vector, reach) == gain


def test_gain_in_memory():
    assert gain_in_memory(8, 1) == 2  # a permutation of each word
    assert gain_in_memory(8, 2) == 4  # none for four


def test_the_sum_of_gains_decides():
    assert [best_pair_stride(8, gain) for gain in (-1.0, 0.0, 3.0)] == [4, 1, 1]
