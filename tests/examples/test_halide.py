"""The same algorithm text under Halide's Python bindings and its CPU JIT computes the same pictures."""

import numpy as np
import pytest
from variants import INPUT_IS_LARGER, QUICK

pytest.importorskip("halide")
from wheel import by_halide

BOUNDS = {
    "blur_f32": 4 * 2.0**-24,
    "harris": 64 * 2.0**-24 * 0.02,
    "unsharp": 64 * 2.0**-24 * 2,
    "stencil9": 16 * 2.0**-24,
}
"""Absolute: Halide contracts and reorders floats as it likes. The responses of Harris are below 0.02 here."""


@pytest.mark.parametrize("name", QUICK)
def test_halide_computes_the_same(name, photo):
    example = QUICK[name]
    more = INPUT_IS_LARGER.get(name, 0)
    array = example.prepare(photo(61 + more, 83 + more))
    ours = example.pipeline().compile("cpu", strict_float=True)(array)
    theirs = by_halide(example, [array], ours.shape)
    assert theirs.dtype == ours.dtype
    assert len(np.unique(ours)) > 2
    if name == "canny":
        # Its comparisons turn a last place into another edge, rarely.
        assert (ours != theirs).mean() < 0.001
    elif ours.dtype.kind == "f":
        if name == "harris":
            assert np.abs(theirs).max() < 0.02
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=BOUNDS[name])
    else:
        np.testing.assert_array_equal(ours, theirs)
