"""Random pipelines on a CUDA GPU, bit for bit against the evaluator with strict floats.

`make sanitize` runs it under memcheck and racecheck, too.
"""

from dataclasses import replace

import pytest
from random_pipelines import random_pipeline
from random_programs import Shape, assert_equal, call, evaluated, passes, pieces

from tilefuse.passes.tile import Tile
from tilefuse.runtime.program import compile_pipeline

pytestmark = pytest.mark.gpu

SCHEDULES = {
    "standard": lambda: None,
    "all": lambda: passes("h200", algorithm="all"),
    "blocks": lambda: passes("h200", shape="block_tile"),
    "blocks-all": lambda: passes("h200", shape="block_tile", algorithm="all"),
}
TILES: dict[str, Shape] = {"warps": "warp_tile", "warps-exchange": "warp_exchange"}
"""Not every pipeline has such tiles."""
PIECES = {
    "vectors": Tile(sizes=(32, 8), threads=(8, 4), vector=4),
    "unrolled": Tile(sizes=(64, 8), threads=(8, 4), vector=4, more="unroll = [1, 2]"),
}
"""Block tiles by hand."""
WARP_SEEDS = (10, 16, 23, 33, 44, 300)


def on_gpu(program, case):
    import cupy

    # cupy.asarray makes strided views dense; strides are tested on the CPU and in tests/runtime
    there = replace(case, inputs={name: cupy.asarray(array) for name, array in case.inputs.items()})
    return {name: cupy.asnumpy(array) for name, array in call(program, there).items()}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("seed", range(34))
def test_random_pipelines(seed, schedule):
    case = random_pipeline(seed)
    program = compile_pipeline(case.module, "cuda", strict_float=True, passes=SCHEDULES[schedule]())
    assert_equal(on_gpu(program, case), evaluated(case), f"seed {seed}, {schedule}")


@pytest.mark.parametrize("tiles", TILES)
@pytest.mark.parametrize("seed", WARP_SEEDS)
def test_warp_tiles(seed, tiles):
    case = random_pipeline(seed)
    schedule = passes("h200", shape=TILES[tiles])
    program = compile_pipeline(case.module, "cuda", strict_float=True, passes=schedule)
    assert_equal(on_gpu(program, case), evaluated(case), f"seed {seed}, {tiles}")


@pytest.mark.parametrize("tiles", PIECES)
@pytest.mark.parametrize("seed", range(400, 406))
def test_pieces_of_rows(seed, tiles):
    case = random_pipeline(seed)
    program = compile_pipeline(case.module, "cuda", strict_float=True, passes=pieces("h200", PIECES[tiles]))
    assert_equal(on_gpu(program, case), evaluated(case), f"seed {seed}, {tiles}")
