"""Indices that are clamped to the sizes of an image, as in lesson 7 of Halide's tutorial, at any size."""

import numpy as np
import pytest
from random_programs import passes

import tilefuse as hl
from tilefuse.runtime.errors import CallError

x, y = hl.vars("x y")
SCHEDULES = {
    "standard": lambda: None,
    "blocks": lambda: passes("h200", shape="block_tile"),
    "warps": lambda: passes("h200", shape="warp_tile"),
    "warps, exchange": lambda: passes("h200", shape="warp_exchange"),
}
# (height, width): one point, less than a stencil, several tiles of odd sizes
SIZES = [(1, 1), (2, 5), (45, 67), (130, 301)]


def blurred(image, clamped):
    """Lesson 7: both blurs in 16 bits, over an image that is clamped at its edges."""
    wide, blur_x, blur_y = hl.funcs("wide blur_x blur_y")
    wide[x, y] = hl.cast(hl.UInt(16), clamped[x, y])
    blur_x[x, y] = (wide[x - 1, y] + 2 * wide[x, y] + wide[x + 1, y]) / 4
    blur_y[x, y] = (blur_x[x, y - 1] + 2 * blur_x[x, y] + blur_x[x, y + 1]) / 4
    out = hl.Func("out")
    out[x, y] = hl.cast(hl.UInt(8), blur_y[x, y])
    return hl.Pipeline(out)


def lesson_7():
    image = hl.ImageParam(hl.UInt(8), 2, name="input")
    clamped = hl.Func("clamped")
    clamped[x, y] = image[hl.clamp(x, 0, image.width() - 1), hl.clamp(y, 0, image.height() - 1)]
    return blurred(image, clamped)


def by_params():
    """The same, with the last coordinates given as Params: those are no boundary, but are checked too."""
    image = hl.ImageParam(hl.UInt(8), 2, name="input")
    right, bottom = hl.Param(hl.Int(32), "right"), hl.Param(hl.Int(32), "bottom")
    clamped = hl.Func("clamped")
    clamped[x, y] = image[hl.clamp(x, 0, right), hl.clamp(y, 0, bottom)]
    return blurred(image, clamped)


def photo(height, width):
    return np.random.default_rng(height * 1000 + width).integers(0, 256, (height, width), dtype=np.uint8)


@pytest.fixture(scope="module")
def expected():
    """The same by a boundary condition, in the evaluator."""
    image = hl.ImageParam(hl.UInt(8), 2, name="input")
    program = blurred(image, hl.BoundaryConditions.repeat_edge(image)).compile("reference")
    return {size: program(photo(*size)) for size in SIZES}


@pytest.mark.sweep
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lesson_7(schedule, expected):
    program = lesson_7().compile("cpu", passes=SCHEDULES[schedule]())
    for size, wanted in expected.items():
        np.testing.assert_array_equal(program(photo(*size)), wanted, err_msg=f"{schedule}, {size}")


@pytest.mark.sweep
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_ends_that_are_parameters(schedule, expected):
    program = by_params().compile("cpu", passes=SCHEDULES[schedule]())
    assert "img.boundary" not in program.ir("raise-clamps")
    for (height, width), wanted in expected.items():
        found = program(photo(height, width), right=width - 1, bottom=height - 1)
        np.testing.assert_array_equal(found, wanted, err_msg=f"{schedule}, {height} x {width}")


def test_a_clamp_to_the_image_becomes_a_boundary():
    text = lesson_7().compile("h200").ir("raise-clamps")
    assert "img.boundary repeat_edge %input dims [0, 1]" in text
    assert "arith.minsi" not in text


def coarse_level():
    """The mean of each four columns of a picture with repeated edges, clamped to a quarter of its width."""
    image = hl.ImageParam(hl.UInt(8), 2, name="input")
    clamped = hl.BoundaryConditions.repeat_edge(image)
    level, out = hl.funcs("level out")
    level[x, y] = clamped[4 * x - 2, y] / 2 + clamped[4 * x + 1, y] / 2
    last = image.width() / 4
    out[x, y] = level[hl.clamp(x - 1, 0, last), y] / 2 + level[hl.clamp(x + 3, 0, last), y] / 2
    return hl.Pipeline(out)


def test_ends_that_are_quotients():
    program, reference = coarse_level().compile("cpu"), coarse_level().compile("reference")
    assert "img.boundary repeat_edge %level" in program.ir("raise-clamps")
    for size in SIZES:
        np.testing.assert_array_equal(program(photo(*size)), reference(photo(*size)), err_msg=f"{size}")


def test_an_image_without_points():
    program = lesson_7().compile("cpu")
    with pytest.raises(CallError):
        program(np.zeros((0, 5), np.uint8), sizes=(5, 5))


def test_lesson_7_in_the_evaluator(expected):
    program = lesson_7().compile("reference")
    for size, wanted in expected.items():
        np.testing.assert_array_equal(program(photo(*size)), wanted)


def test_the_first_coordinate_counts_too():
    image = hl.ImageParam(hl.UInt(8), 1, name="input")
    f = hl.Func("f")
    f[x] = image[hl.clamp(x, image.left(), image.right())]
    array = np.arange(7, dtype=np.uint8)
    out = hl.Pipeline(f).compile("cpu")(array, sizes=(12,), mins={"input": (-3,), "f": (-5,)})
    np.testing.assert_array_equal(out, np.clip(np.arange(-5, 7), -3, 3) + 3)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_a_parameter_bounds_an_index(target):
    image = hl.ImageParam(hl.UInt(8), 1, name="input")
    last, narrow = hl.Param(hl.Int(32), "last"), hl.Param(hl.UInt(8), "narrow")
    f = hl.Func("f")
    f[x] = image[hl.clamp(x, 0, last)] + image[hl.min(hl.i32(narrow), hl.i32(image[x]))]
    program = hl.Pipeline(f).compile(target)
    array = np.full(200, 199, np.uint8)
    array[:3] = 1, 2, 3
    out = program(array, last=2, narrow=150)
    np.testing.assert_array_equal(out[:4], np.uint8([1 + 2, 2 + 3, 3 + 199, 3 + 199]))
    with pytest.raises(CallError, match=r"input 'input' is read at 0 to 250 in dimension 0 \(x\), but holds 0 to 199"):
        program(array, last=2, narrow=250)


def test_one_too_many_is_refused():
    image = hl.ImageParam(hl.UInt(8), 2, name="input")
    f = hl.Func("f")
    f[x, y] = image[hl.clamp(x, 0, image.width()), y]
    with pytest.raises(CallError, match=r"input 'input' is read at 0 to 5 in dimension 0 \(x\), but holds 0 to 4"):
        hl.Pipeline(f).compile("cpu")(photo(3, 5), sizes=(6, 3))
