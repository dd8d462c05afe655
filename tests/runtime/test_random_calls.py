"""Calls after calls of random pipelines with parameters; see `random_calls`."""

import pytest
from random_calls import check


# 175: an integer of 8 bytes as a vector of one; 207: an arena larger than any; 1139: a default of 2^64 - 1
@pytest.mark.parametrize("seed", [*range(14), 175, 207, 1139])
def test_calls(seed):
    check(seed)
