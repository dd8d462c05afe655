"""Calls after calls of random pipelines with parameters; see `random_calls`."""

import pytest
from random_calls import check


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [*range(11), 51054])
def test_calls(seed):
    check(seed)
