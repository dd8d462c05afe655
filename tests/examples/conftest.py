"""The examples are scripts in `examples/`, not a package: tests import them as they import each other."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parents[2] / "examples"), str(Path(__file__).parent)]


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def photo():
    """Return (height, width) -> a picture (height, width, 3) of uint8: smooth parts, edges and noise."""

    def make(height, width):
        rng = np.random.default_rng(height * 1000 + width)
        y, x, c = np.mgrid[0:height, 0:width, 0:3]
        smooth = 120 + 60 * np.sin(x / 5 + c) * np.cos(y / 7)
        steps = 50.0 * ((x // 9 + y // 6) % 2)
        return (smooth + steps + rng.integers(0, 12, smooth.shape)).clip(1, 255).astype(np.uint8)

    return make
