"""The examples on a CUDA GPU, bit for bit against the evaluator with strict floats, in every execution model.

`make sanitize` runs it under memcheck and racecheck, too.
"""

import numpy as np
import pytest
from _all import EXAMPLES, STENCIL_NAMES
from variants import SHAPES

from tilefuse.runtime.program import compile_pipeline

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", STENCIL_NAMES)
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


@pytest.mark.parametrize("name", ["stencil9", "harris", "blur_f32"])
def test_odd_widths_are_the_same_from_launch_to_launch(name, photo):
    """Floats of border tiles may differ from those of others in the last bit: no column may have two writers."""
    import cupy

    example = EXAMPLES[name]
    program = compile_pipeline(example.pipeline().to_module(name), "cuda", extent=(8192, 8192))
    picture = cupy.asarray(example.prepare(photo(1023, 2047)))
    first = program(picture)
    for _ in range(20):
        assert bool((program(picture) == first).all())
