"""Vectors of generated CUDA lie where they may: kernels of random pipelines run on a CPU, address by address."""

import shutil

import pytest
import random_pipelines
from emulated_cuda import arguments, emulate
from random_pipelines import random_pipeline
from random_programs import passes

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.runtime.program import compile_pipeline

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture
def misaligned(monkeypatch, tmp_path):
    # pictures as wide as vectors like, and larger than a tile
    monkeypatch.setattr(random_pipelines, "SIZES", [256])
    return emulate(monkeypatch, tmp_path)


@pytest.mark.parametrize("seed", [9, 45, 17, 41])
@pytest.mark.parametrize("shape", ["auto", "block_tile", "warp_tile", "warp_exchange"])
def test_vectors_lie_where_they_may(seed, shape, misaligned):
    case = random_pipeline(seed, stages=8)
    try:
        program = compile_pipeline(case.module, "cpu", strict_float=True, passes=passes("h200", shape=shape))
    except PipelineError as error:
        pytest.skip(str(error))
    program(**arguments(case))
    assert misaligned, "no kernel ran"
    assert not any(misaligned), f"seed {seed}, {shape}: misaligned accesses per kernel {misaligned}"
