"""The examples on a CUDA GPU, bit for bit against the evaluator with strict floats, in both execution models.

Also under `compute-sanitizer --tool memcheck` and `--tool racecheck`.
"""

from dataclasses import replace

import numpy as np
import pytest
from _all import EXAMPLES

from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.runtime.program import compile_pipeline

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("shape", ["auto", "block_tile"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_bit_for_bit(name, shape, photo):
    import cupy

    example = EXAMPLES[name]
    module = example.pipeline().to_module(name)
    passes = [replace(p, shape=shape) if isinstance(p, Tile) else p for p in standard_passes("h200")]
    program = compile_pipeline(module, "cuda", strict_float=True, passes=passes)
    meaning = compile_pipeline(module, "reference")
    for height, width in ((143, 301), (96, 256), (17, 23)):
        picture = example.prepare(photo(height, width))
        out = program(cupy.asarray(picture))
        np.testing.assert_array_equal(cupy.asnumpy(out), meaning(picture), err_msg=f"{height}x{width}")
