"""Halide's apps and the like: our back ends and the halide wheel compute the same, at odd sizes.

Integers and floats are the same bit for bit, but for what functions of floats (`exp`, `pow`) leave open: BOUNDS.
"""

import shutil

import numpy as np
import pytest
from _all import EXAMPLES
from emulated_cuda import emulate
from small import SMALL
from variants import SHAPES

from tilefuse.runtime.program import compile_pipeline

ULP = 2.0**-23
BOUNDS = {
    "local_laplacian": (0.01, 1),  # exp in a table, and a cut to an integer
    "camera_pipe": (0.001, 2),  # pow in a table, and a cut; sharpening doubles it
    "nl_means": (1.0, 16 * ULP),  # a mean whose weights are exp, 8 ulp apart at most
}
"""Which part of the pixels may differ, and by how much."""


def assert_same(ours, theirs, name):
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    part, most = BOUNDS.get(name, (0.0, 0))
    off = np.abs(ours.astype(np.float64) - theirs)
    assert (off > 0).mean() <= part
    assert off.max() <= most
    assert len(np.unique(theirs)) > 20


def reference(example, arrays):
    return example.pipeline().compile("reference")(*arrays, **example.box(arrays[0].shape))


HEAVY_FOR_C = {
    "local_laplacian", "interpolate", "lens_blur", "pyramid_blend", "bgu", "camera_pipe", "demosaic", "max_filter",
}  # fmt: skip
"""Compilers take seconds for their many stages."""


def test_every_example_is_tested():
    from _all import STENCIL_NAMES

    assert sorted(SMALL) == sorted(set(EXAMPLES) - set(STENCIL_NAMES))


@pytest.mark.parametrize("name", SMALL)
def test_halide_computes_the_same(name, photo):
    pytest.importorskip("halide")
    from wheel import by_halide

    arrays = SMALL[name].inputs(photo(61, 83))
    ours = reference(SMALL[name], arrays)
    assert_same(ours, by_halide(SMALL[name], arrays, ours.shape), name)


@pytest.mark.parametrize("name", SMALL)
def test_cpu_computes_the_same(name, photo):
    example = SMALL[name]
    program = example.pipeline().compile("cpu", strict_float=True)
    for height, width in ((61, 83), (38, 47)):
        arrays = example.inputs(photo(height, width))
        assert_same(program(*arrays, **example.box(arrays[0].shape)), reference(example, arrays), name)


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
@pytest.mark.parametrize("name", [n for n in SMALL if n not in HEAVY_FOR_C])
def test_cuda_text_computes_the_same(name, photo, monkeypatch, tmp_path):
    example = SMALL[name]
    arrays = example.inputs(photo(37, 51))
    misaligned = emulate(monkeypatch, tmp_path)
    program = example.pipeline().compile("cpu", strict_float=True, passes=SHAPES["auto"].passes())
    assert_same(program(*arrays, **example.box(arrays[0].shape)), reference(example, arrays), name)
    assert not any(misaligned)


@pytest.mark.gpu
@pytest.mark.parametrize("name", SMALL)
def test_gpu_computes_the_same(name, photo):
    import cupy

    example = SMALL[name]
    module = example.pipeline().to_module(name)
    program = compile_pipeline(module, "cuda", strict_float=True)
    for height, width in ((61, 83), (143, 301)):
        arrays = example.inputs(photo(height, width))
        out = program(*(cupy.asarray(a) for a in arrays), **example.box(arrays[0].shape))
        assert_same(cupy.asnumpy(out), reference(example, arrays), name)
