"""The examples on a CUDA GPU, bit for bit against the evaluator with strict floats, in every execution model.

Also under `compute-sanitizer --tool memcheck` and `--tool racecheck`.
"""

import numpy as np
import pytest
from _all import EXAMPLES
from variants import SHAPES

from tilefuse.runtime.program import compile_pipeline

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_bit_for_bit(name, shape, photo):
    import cupy

    example = EXAMPLES[name]
    module = example.pipeline().to_module(name)
    program = compile_pipeline(module, "cuda", strict_float=True, passes=SHAPES[shape].passes())
    meaning = compile_pipeline(module, "reference")
    for height, width in ((143, 301), (96, 256), (17, 23)):
        picture = example.prepare(photo(height, width))
        out = program(cupy.asarray(picture))
        np.testing.assert_array_equal(cupy.asnumpy(out), meaning(picture), err_msg=f"{height}x{width}")
