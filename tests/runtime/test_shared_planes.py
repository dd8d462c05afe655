"""Groups that read other planes of their functions share one kernel, and each gets its own plane."""

import random
import shutil

import numpy as np
import pytest
from emulated_cuda import emulate
from random_programs import passes

import tilefuse as hl

needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
ANYWHERE = {"mins": {"weights": (0, -3, -7)}, "sizes": (13, 6)}
PLANES = [(0, 1, 2), (5, 0, 3, 5, 1), (-7, 4, 0, 2)]


def layers(planes):
    """A chain of sums over three points along x: those of layer i are weighed by row `i % 2` of a plane."""
    x, y = hl.Var("x"), hl.Var("y")
    image, weights = hl.ImageParam(hl.Float(32), 2, "image"), hl.ImageParam(hl.Float(32), 3, "weights", layout="planar")
    current = hl.BoundaryConditions.repeat_edge(image)
    for i, plane in enumerate(planes):
        layer, r = hl.Func(f"layer_{i}"), hl.RDom([(0, 3)])
        layer[x, y] = weights[1, i % 2, plane]
        layer[x, y] += weights[r, i % 2, plane] * current[x + r - 1, y]
        current = layer
    return hl.Pipeline(current)


def pictures(planes):
    """What `layers` takes, its weights as large as it needs."""
    draw = np.random.default_rng(len(planes)).random
    return draw((6, 13), dtype=np.float32), draw((max(planes) + 8, 5, 3), dtype=np.float32)


def stages(planes):
    """A stage for each plane of a picture, and one for each of another stage; all are stored."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image = hl.ImageParam(hl.UInt(8), 3, "image", layout="planar")
    edge = hl.BoundaryConditions.repeat_edge(image, [(image.dim(d).min(), image.dim(d).extent()) for d in range(2)])
    both, found = hl.Func("both"), []
    both[x, y, c] = hl.cast(hl.UInt(16), edge[x, y - 1, c]) * 3 + edge[x, y + 1, c]
    for i, plane in enumerate(planes):
        of_input, of_stage = hl.Func(f"of_input_{i}"), hl.Func(f"of_stage_{i}")
        of_input[x, y] = hl.cast(hl.UInt(16), image[x + 1, y, plane]) + image[x, y, plane]
        of_stage[x, y] = both[x - 1, y, plane] + both[x + 2, y, plane]
        found += [of_input, of_stage]
    return hl.Pipeline(found)


@needs_cc
@pytest.mark.parametrize("planes", PLANES)
def test_layers_on_a_cpu(planes):
    expected = layers(planes).compile("reference")(*pictures(planes), **ANYWHERE)
    program = layers(planes).compile("cpu", strict_float=True)
    np.testing.assert_array_equal(program(*pictures(planes), **ANYWHERE), expected)


@needs_gxx
@pytest.mark.parametrize("planes", PLANES)
def test_layers_on_the_emulated_gpu(planes, monkeypatch, tmp_path):
    emulate(monkeypatch, tmp_path)
    expected = layers(planes).compile("reference")(*pictures(planes), **ANYWHERE)
    program = layers(planes).compile("cpu", strict_float=True, passes=passes("h200", algorithm="none"))
    np.testing.assert_array_equal(program(*pictures(planes), **ANYWHERE), expected)
    # the first layer alone reads a picture behind a boundary
    assert len({kernel.name for kernel in program.kernels}) == 2


@needs_gxx
@pytest.mark.parametrize("seed", range(6))
def test_stages_on_the_emulated_gpu(seed, monkeypatch, tmp_path):
    emulate(monkeypatch, tmp_path)
    rng = random.Random(seed)
    planes = [rng.randrange(6) for _ in range(3)]
    picture = np.random.default_rng(seed).integers(0, 256, (6, 9, rng.choice([11, 16])), dtype=np.uint8)
    sizes = {"sizes": (picture.shape[2] - 1, 9)}
    expected = stages(planes).compile("reference")(picture, **sizes)
    program = stages(planes).compile("cpu", passes=passes("h200", algorithm="none"))
    for got, wanted in zip(program(picture, **sizes), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
