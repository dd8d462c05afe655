"""Random algorithms of usual stages, as the benchmark beside Halide draws them, against the evaluator."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def random_example(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), str(BENCHMARKS.parent / "examples"), *sys.path])
    from random_algorithms import random_example

    return random_example


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [*range(12), *range(1000, 1012)])
def test_cpu(random_example, seed):
    example = random_example(seed)
    photo = np.random.default_rng(seed).integers(0, 256, (53, 70, 3), dtype=np.uint8)
    (picture,) = example.inputs(photo)
    picture = np.ascontiguousarray(np.moveaxis(picture, -1, 0)) if picture.ndim == 3 else picture
    expected = example.pipeline().compile("reference", strict_float=True)(picture)
    found = example.pipeline().compile("cpu", extent=(70, 53), strict_float=True)(picture)
    np.testing.assert_array_equal(found, expected)
