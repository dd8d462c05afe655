"""The same algorithm text under Halide's Python bindings and its CPU JIT computes the same pictures."""

import warnings

import numpy as np
import pytest
from variants import INPUT_IS_LARGER, QUICK

halide = pytest.importorskip("halide")

BOUNDS = {
    "blur_f32": 4 * 2.0**-24,
    "harris": 64 * 2.0**-24 * 0.02,
    "unsharp": 64 * 2.0**-24 * 2,
    "stencil9": 16 * 2.0**-24,
}
"""Absolute: Halide contracts and reorders floats as it likes. The responses of Harris are below 0.02 here."""


class Recording:
    """Halide's module, remembering the Funcs that are made: the schedule is no part of the algorithm."""

    def __init__(self):
        self.funcs = []

    def __getattr__(self, name):
        return getattr(halide, name)

    def Func(self, name):
        self.funcs.append(halide.Func(name))
        return self.funcs[-1]


def by_halide(example, array, shape):
    """What Halide computes: `array` and the result in NumPy's order, channels last."""
    planar = np.ascontiguousarray(np.moveaxis(array, -1, 0)) if array.ndim == 3 else array
    buffer = halide.Buffer(planar)
    image = halide.ImageParam(buffer.type(), array.ndim, "image")
    recording = Recording()
    with warnings.catch_warnings():
        # Halide warns of every Python float that is no float32.
        warnings.simplefilter("ignore", RuntimeWarning)
        output = example.algorithm(image, recording)
    for func in recording.funcs:
        func.compute_root()
    image.set(buffer)
    sizes = [shape[1], shape[0], *shape[2:]]
    result = np.asarray(output.realize(sizes))
    return np.moveaxis(result, 0, -1) if array.ndim == 3 and result.ndim == 3 else result


@pytest.mark.parametrize("name", QUICK)
def test_halide_computes_the_same(name, photo):
    example = QUICK[name]
    more = INPUT_IS_LARGER.get(name, 0)
    array = example.prepare(photo(61 + more, 83 + more))
    ours = example.pipeline().compile("cpu", strict_float=True)(array)
    theirs = by_halide(example, array, ours.shape)
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
