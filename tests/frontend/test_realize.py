"""Running pipelines from the language: realize, and compiled programs."""

import numpy as np
import pytest

import tilefuse as hl

x, y, c = hl.vars("x y c")
TARGETS = ["reference", "cpu"]


@pytest.mark.parametrize("target", TARGETS)
def test_image_and_param_that_are_set(target):
    array = np.arange(35, dtype=np.float32).reshape(5, 7)
    image, k = hl.ImageParam(hl.Float(32), 2, "image"), hl.Param(hl.Float(32), "k", 2.0)
    image.set(array)
    continued = hl.BoundaryConditions.repeat_edge(image)
    f = hl.Func("f")
    f[x, y] = continued[x + 1, y] * k
    expected = np.pad(array, ((0, 0), (0, 1)), mode="edge")[:, 1:]
    np.testing.assert_array_equal(f.realize([7, 5], target), expected * 2)
    np.testing.assert_array_equal(f.realize([3, 2], target), expected[:2, :3] * 2)
    k.set(3)
    np.testing.assert_array_equal(f.realize(target=target), expected * 3)


@pytest.mark.parametrize("target", TARGETS)
def test_buffers_of_three_dimensions(target):
    array = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    f = hl.Func("f")
    f[x, y, c] = hl.u8(255) - hl.Buffer(array, "b")[x, y, c]
    np.testing.assert_array_equal(f.realize([3, 4, 2], target), 255 - array)


@pytest.mark.parametrize("target", TARGETS)
def test_several_outputs(target):
    f, g = hl.funcs("f g")
    f[x, y] = (x, hl.f32(y) / 2)
    g[x, y] = f[x, y][0] + y
    first, second, third = hl.Pipeline([f, g]).realize([3, 2], target)
    np.testing.assert_array_equal(first, [[0, 1, 2], [0, 1, 2]])
    np.testing.assert_array_equal(second, np.float32([[0, 0, 0], [0.5, 0.5, 0.5]]))
    np.testing.assert_array_equal(third, [[0, 1, 2], [1, 2, 3]])


@pytest.mark.parametrize("target", TARGETS)
def test_compiled_programs_take_arrays(target):
    image, k = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.UInt(8), "k")
    f = hl.Func("f")
    f[x, y] = image[x, y] * k
    array = np.arange(20, dtype=np.uint8).reshape(4, 5)
    program = hl.Pipeline(f).compile(target)
    np.testing.assert_array_equal(program(array, k=100), array * np.uint8(100))
    np.testing.assert_array_equal(program(image=array, k=1), array)


def test_bounds_set_after_a_run_are_seen():
    f = hl.Func("f")
    f[x, c] = x + c
    assert np.asarray(f.realize([4, 3], "reference")).shape == (3, 4)
    f.bound(c, 0, 2)
    with pytest.raises(Exception, match="'f'"):
        f.realize([4, 3], "reference")


def test_a_buffer_of_zeros_is_an_array():
    b = hl.Buffer(hl.UInt(16), [3, 2])
    assert np.asarray(b).shape == (2, 3)
    assert (b.type(), b.dimensions()) == (hl.UInt(16), 2)
