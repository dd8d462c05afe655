"""Chains of like stages in warp tiles, as loops where they are long: bit for bit the evaluator's results."""

import shutil
from random import Random

import numpy as np
import pytest
import random_chains
from emulated_cuda import emulate
from random_programs import warp_tiles

from tilefuse.execution.warp_tile import roll_stages
from tilefuse.execution.warp_tile.pack_subwords import PackSubwords
from tilefuse.execution.warp_tile.roll_stages import RollStages, unrolled_instructions
from tilefuse.passes.lower_groups import LowerGroups
from tilefuse.passes.pipeline import run_passes

SEEDS = range(8)
ON_GPU = range(40)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        # small tiles are compiled faster; as if their code were long
        patch.setattr(roll_stages, "unrolled_instructions", lambda ops: 10 * unrolled_instructions(ops))
        yield


def schedule(seed, vector):
    """All steps in one group, whose rows go from warp to warp; tiles as high as the halo needs."""
    random = Random(seed)
    return warp_tiles(vector, random.choice([4, 6, 8]), rows=random.choice([8, 12]), exchange=1)


def run(seed, target, to_device=np.asarray):
    pipeline, picture, vector = random_chains.pipeline(seed)
    chosen = schedule(seed, vector) if target != "reference" else None
    return pipeline.compile(target=target, passes=chosen, strict_float=True)(to_device(picture))


def rolled(seed, roll):
    """The tiles of a chain after `roll-stages`, as text."""
    pipeline, _, vector = random_chains.pipeline(seed)
    return str(run_passes(pipeline.to_module(), [*schedule(seed, vector), LowerGroups(), PackSubwords(), roll]))


def test_most_become_loops():
    loops = sum("iter_args" in rolled(seed, RollStages()) for seed in SEEDS)
    assert loops >= len(SEEDS) // 2


def test_loops_can_be_asked_for():
    def loops(least):
        return sum("iter_args" in rolled(seed, RollStages(min_repetitions=least, min_instructions=0)) for seed in SEEDS)

    assert loops(2) > loops(6) > loops(99) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_on_cpu(seed):
    np.testing.assert_array_equal(run(seed, "cpu"), run(seed, "reference"))


@pytest.mark.gpu
@pytest.mark.parametrize("seed", ON_GPU)
def test_on_gpu(seed):
    import cupy

    np.testing.assert_array_equal(cupy.asnumpy(run(seed, "cuda", cupy.asarray)), run(seed, "reference"))


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("seed", range(4))
def test_on_emulated_gpu(seed, monkeypatch, tmp_path):
    expected = run(seed, "reference")
    misaligned = emulate(monkeypatch, tmp_path)
    np.testing.assert_array_equal(run(seed, "cpu"), expected)
    assert misaligned, "no kernel ran"
    assert not any(misaligned)
