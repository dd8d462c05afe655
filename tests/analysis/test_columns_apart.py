"""How far the two columns of a register lie from each other."""

import pytest

from tilefuse.analysis.subwords import columns_apart, pairs_between


@pytest.mark.parametrize(
    ("vector", "reach", "in_memory", "between", "apart"),
    [
        (8, 2, 13.0, 10.0, 2),  # a word less to permute in each of 13 rows, a pair more to put together in 5, twice
        (8, 2, 5.0, 10.0, 4),
        (8, 2, 0.0, 0.0, 4),  # all rows lie where vectors do
        (8, 3, 100.0, 6.0, 4),  # pairs 2 apart do not reach as far
        (16, 1, 9.0, 12.0, 8),  # of four words, the pairs between three
        (16, 1, 9.0, 11.0, 2),
        (4, 2, 4.0, 100.0, 2),
        (2, 1, 4.0, 0.0, 1),
        (6, 1, 4.0, 0.0, 3),
    ],
)
def test_where_rows_take_fewer_permutations(vector, reach, in_memory, between, apart):
    assert columns_apart(vector, reach, in_memory, between) == apart


def test_pairs_between_two_words():
    assert [pairs_between(reach) for reach in [(0, 0), (1, 0), (1, 1), (2, 2)]] == [0, 1, 2, 2]
