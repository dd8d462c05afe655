"""Constants of any size anywhere: right, or one error, in seconds; see tests/random_constants.py."""

from random import Random

import pytest
import random_constants
import random_pipelines
import random_programs
from random_constants import target_option
from random_floats import float_constant, python_float
from random_programs import assert_equal
from random_shifts import python_shift, shift

from tilefuse.runtime.program import compile_pipeline

SEEDS = [*range(40), 200, 2002733, 3000567, 3002430]
"""200 asks for more memory than there is; 63 was shifted by 32 and more as an int; a quotient beyond f32 was folded."""


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize("seed", SEEDS)
def test_constants(seed):
    random_constants.check(seed)


@pytest.mark.parametrize("seed", range(40))
def test_float_constants(seed):
    float_constant(Random(seed))
    python_float(Random(seed))


@pytest.mark.parametrize("seed", range(40))
def test_shifts(seed):
    shift(Random(seed))
    python_shift(Random(seed))


@pytest.mark.parametrize("block", range(2))
def test_options_of_targets(block):
    for seed in range(block, 40, 2):
        target_option(Random(seed))


@pytest.mark.parametrize("seed", range(24))
def test_functions_read_at_computed_places_and_elsewhere(seed):
    case = random_pipelines.random_pipeline(seed, stages=5, computed=0.7)
    expected = random_programs.evaluated(case)
    if seed % 8 == 0:
        found = random_programs.call(compile_pipeline(case.module, "cpu"), case)
        assert_equal(found, expected, f"seed {seed}", case.tolerance)
