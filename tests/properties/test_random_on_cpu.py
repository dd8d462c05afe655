"""Random pipelines give the evaluator's results from the CPU back end, whatever passes they went through.

The generator's floats use only + - * /, square roots, min, max, comparisons, roundings and casts, so with
strict floats everything is compared bit for bit; default floats are held to the generator's proved bound.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from random_pipelines import random_pipeline, random_pipelines
from random_programs import assert_equal, call, evaluated, passes, pieces

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.passes.tile import Tile
from tilefuse.runtime.program import compile_pipeline

# Schedules of a GPU run on the CPU too: blocks by OpenMP, phases of a block one after the other.
SCHEDULES = {
    "none": lambda: passes("cpu", algorithm="none"),
    "all": lambda: passes("cpu", algorithm="all"),
    "dp": lambda: passes("cpu", algorithm="dp"),
    "blocks": lambda: passes("h200", shape="block_tile"),
    "blocks-all": lambda: passes("h200", shape="block_tile", algorithm="all"),
    "blocks-sm_70": lambda: passes("sm_70", shape="block_tile", algorithm="dp"),
}


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def check(case, where, schedule=None, *, strict_float=True):
    program = compile_pipeline(case.module, "cpu", strict_float=strict_float, passes=schedule, verify=True)
    assert_equal(call(program, case), evaluated(case), where, None if strict_float else case.tolerance)


@pytest.mark.parametrize("seed", range(60))
def test_reference(seed):
    case = random_pipeline(seed)
    assert_equal(call(compile_pipeline(case.module, "reference"), case), evaluated(case), f"seed {seed}")


@pytest.mark.parametrize("seed", range(20))
def test_standard_passes(seed):
    check(random_pipeline(seed), f"seed {seed}")


# The C compiler takes most of the time, so each seed meets one of the schedules.
@pytest.mark.parametrize("seed", range(30, 54))
def test_other_schedules(seed):
    name = list(SCHEDULES)[seed % len(SCHEDULES)]
    check(random_pipeline(seed), f"seed {seed}, {name}", SCHEDULES[name]())


@pytest.mark.parametrize("seed", range(100, 110))
def test_default_floats_are_within_the_bound(seed):
    check(random_pipeline(seed), f"seed {seed}", strict_float=False)


PIECES = {
    "vectors": Tile(sizes=(32, 8), threads=(8, 4), vector=4),
    "wide": Tile(sizes=(64, 8), threads=(4, 4), vector=8, more="unroll = [1, 2]"),
    "narrow": Tile(sizes=(16, 8), threads=(4, 2), vector=2, more="unroll = [2, 1]"),
    "one thread": Tile(sizes=(32, 8), threads=(1, 1), more="unroll = [2, 4]"),
}
"""Block tiles whose threads compute several columns and rows at once."""


@pytest.mark.parametrize("seed", range(300, 316))
def test_pieces_of_rows(seed):
    name = list(PIECES)[seed % len(PIECES)]
    check(random_pipeline(seed), f"seed {seed}, {name}", pieces("h200", PIECES[name]))


# Why a pipeline may have no warp tiles.
NO_WARP_TILE = ("as warp tiles must", "third dimension that is tiled", "half of the lanes", "no tile fits")


@pytest.mark.parametrize("shape", ["warp_tile", "warp_exchange"])
def test_warp_tiles_by_phases(shape):
    """Warp tiles have no lanes on a CPU; they give the same points all the same."""
    checked = 0
    for seed in range(200, 240):
        case = random_pipeline(seed, stages=4)
        try:
            check(case, f"seed {seed}, {shape}", passes("h200", shape=shape))
        except PipelineError as error:
            if not any(reason in str(error) for reason in NO_WARP_TILE):
                raise
            continue
        checked += 1
        if checked == 4:
            return
    raise AssertionError(f"only {checked} of 40 pipelines can be warp-tiled")


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(random_pipelines(stages=4))
def test_any_pipeline(case):
    check(case, "standard passes")
