"""Stencils of 8 and 16 bits, two points to a register where that is possible: bit for bit the evaluator's results.

On the CPU the same bodies run one point at a time: that checks what `pack-subwords` makes of them. Registers of two
points are a GPU's.
"""

import numpy as np
import pytest
import random_subwords
from random_programs import passes

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.execution.warp_tile.pack_subwords import PackSubwords
from tilefuse.passes.lower_groups import LowerGroups
from tilefuse.passes.pipeline import run_passes

SEEDS = range(8)
ON_GPU = range(60)
SHAPES = ("warp_tile", "warp_exchange")


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def run(pipeline, target, shape, picture):
    schedule = passes("h200", shape=shape, algorithm="all") if target != "reference" else None
    return pipeline.compile(target=target, passes=schedule)(picture)


def test_most_are_packed():
    packed = 0
    for seed in SEEDS:
        pipeline, _ = random_subwords.pipeline(seed)
        lowering = [*passes("h200", shape="warp_tile", algorithm="all"), LowerGroups(), PackSubwords()]
        try:
            packed += "packed = 2" in str(run_passes(pipeline.to_module(), lowering))
        except PipelineError:
            continue  # not every pipeline can be one warp tile
    assert packed >= len(SEEDS) // 2


@pytest.mark.parametrize("seed", SEEDS)
def test_bodies(seed):
    pipeline, picture = random_subwords.pipeline(seed)
    shape = SHAPES[seed % 2]
    try:
        result = run(pipeline, "cpu", shape, picture)
    except PipelineError as error:
        pytest.skip(str(error))
    np.testing.assert_array_equal(result, run(pipeline, "reference", shape, picture))


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", ON_GPU)
def test_registers(seed, shape):
    import cupy

    pipeline, picture = random_subwords.pipeline(seed)
    try:
        result = run(pipeline, "cuda", shape, cupy.asarray(picture))
    except PipelineError as error:
        pytest.skip(str(error))
    np.testing.assert_array_equal(cupy.asnumpy(result), run(pipeline, "reference", shape, picture))
