"""Inputs of three dimensions read where the third moves with the first or second: no plane serves a whole tile."""

import contextlib
import shutil

import numpy as np
import pytest
from emulated_cuda import emulated

import tilefuse as hl
from tilefuse.passes.inline_stages import InlineStages
from tilefuse.passes.pipeline import standard_passes

PICTURE = np.random.default_rng(5).integers(0, 256, (150, 150, 150), dtype=np.uint8)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("third", ["x", "y", "y + 1", "x // 2"])
def test_third_dimension_moves_with_the_tile(third):
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.UInt(8), 3, "image")
    z = {"x": x, "y": y, "y + 1": y + 1, "x // 2": x // 2}[third]
    f = hl.Func("f")
    f[x, y] = image[x, y, z] + image[x + 1, y, z]
    given = {"image": PICTURE, "sizes": (140, 100)}
    expected = hl.Pipeline(f).compile("reference")(**given)
    with emulated():
        found = hl.Pipeline(f).compile("cpu", passes=standard_passes("h200"))(**given)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "target", ["cpu", pytest.param("h200", marks=pytest.mark.skipif(not shutil.which("g++"), reason="needs g++"))]
)
@pytest.mark.parametrize("third", ["x", "y", "y + 1", "x // 2"])
def test_third_dimension_of_a_stage_moves_with_its_reader(third, target):
    """Not a plane of what is computed beside is the same for a whole row, or strip of rows, of its reader."""
    x, y, w = hl.Var("x"), hl.Var("y"), hl.Var("w")
    image, beside, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("beside"), hl.Func("f")
    z = {"x": x, "y": y, "y + 1": y + 1, "x // 2": x // 2}[third]
    beside[x, y, w] = hl.max(hl.i32(image[x, y]), w * 3)
    f[x, y] = beside[x, y + 2, z] - beside[x, y, z]
    passes = [p for p in standard_passes(target) if not isinstance(p, InlineStages)]
    given = {"image": PICTURE[0], "sizes": (140, 100)}
    expected = hl.Pipeline(f).compile("reference")(**given)
    with contextlib.nullcontext() if target == "cpu" else emulated():
        program = hl.Pipeline(f).compile("cpu", passes=passes)
        np.testing.assert_array_equal(program(**given), expected)
