"""The same algorithm text under Halide's Python bindings and its CPU JIT computes the same pictures."""

import numpy as np
import pytest
from variants import INPUT_IS_LARGER, QUICK

pytest.importorskip("halide")
from wheel import by_halide


@pytest.mark.parametrize("name", QUICK)
def test_halide_computes_the_same(name, photo):
    example = QUICK[name]
    more = INPUT_IS_LARGER.get(name, 0)
    array = example.prepare(photo(61 + more, 83 + more))
    ours = example.pipeline().compile("cpu", strict_float=True)(array)
    theirs = by_halide(example, [array], ours.shape)
    assert theirs.dtype == ours.dtype
    assert len(np.unique(ours)) > 1
    # Integers, and floats that neither side contracts or reorders, are the same bit for bit.
    np.testing.assert_array_equal(ours, theirs)
