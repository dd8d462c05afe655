"""Random pipelines with small functions compute what the evaluator does, and no dear function over and over."""

import pytest
from random_tables import check


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(25))
def test_seed(seed):
    check(seed)


@pytest.mark.parametrize("seed", [47, 53])
def test_a_small_function_that_all_tiles_read(seed):
    """Once these were computed for each tile, as if each tile read them from memory."""
    check(seed)
