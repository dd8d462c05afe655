"""Examples under Halide's Python bindings and its CPU JIT."""

import warnings

import halide
import numpy as np

STRICT = halide.get_jit_target_from_environment().with_feature(halide.TargetFeature.StrictFloat)
"""Halide contracts and reorders floats as it likes, unless its target says not to."""


class Recording:
    """Halide's module, remembering the Funcs that are made: the schedule is no part of the algorithm."""

    def __init__(self):
        self.funcs = []

    def __getattr__(self, name):
        return getattr(halide, name)

    def Func(self, name):
        self.funcs.append(halide.Func(name))
        return self.funcs[-1]


def is_interleaved(shape):
    return len(shape) == 3 and shape[-1] in (3, 4)


def by_halide(example, arrays, shape):
    """Compute by Halide: `arrays` and result in NumPy's order, channels of pictures last."""
    planar = [np.ascontiguousarray(np.moveaxis(a, -1, 0)) if is_interleaved(a.shape) else a for a in arrays]
    buffers = [halide.Buffer(array) for array in planar]
    images = [halide.ImageParam(b.type(), b.dimensions(), f"image_{i}") for i, b in enumerate(buffers)]
    recording = Recording()
    with warnings.catch_warnings():
        # Halide warns of every Python float that is no float32.
        warnings.simplefilter("ignore", RuntimeWarning)
        output = example.algorithm(*images, recording)
    for func in recording.funcs:
        func.compute_root()
    for image, buffer in zip(images, buffers, strict=True):
        image.set(buffer)
    sizes = [shape[1], shape[0], shape[2]] if is_interleaved(shape) else list(reversed(shape))
    result = np.asarray(output.realize(sizes, STRICT))
    return np.moveaxis(result, 0, -1) if is_interleaved(shape) else result
