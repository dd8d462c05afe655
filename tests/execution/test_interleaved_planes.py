"""Gathers of several planes at one place on CPUs (`interleave-planes`): all sizes of grids and rows, to the bit."""

import numpy as np
import pytest

import tilefuse as hl

TYPES = {"float32": hl.Float(32), "int32": hl.Int(32), "uint32": hl.UInt(32)}
x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")


def between(planes, scale, kind="float32"):
    """Return the picture's points between the points of a grid (x, y, level, plane) around them, for each plane."""
    image, grid = hl.ImageParam(hl.Float(32), 2, "image"), hl.ImageParam(TYPES[kind], 4, "grid")
    level = hl.clamp(image[x, y], 0.0, 1.0) * 7.0
    zi = hl.i32(level)
    near = [grid[x / scale + i, y / scale, zi + k, c] for i in (0, 1) for k in (0, 1)]
    found, output = hl.Func("found"), hl.Func("output")
    found[x, y, c] = near[0] + near[1] * hl.cast(TYPES[kind], 3) - near[2] * hl.cast(TYPES[kind], 2) + near[3]
    total = found[x, y, 0]
    for plane in range(1, planes):
        total = total * hl.cast(TYPES[kind], 2) - found[x, y, plane]
    output[x, y] = total
    return hl.Pipeline(output)


def arrays(width, height, scale, planes, kind, levels=9):
    rng = np.random.default_rng(width)
    grid = rng.integers(0, 100, (planes, levels, height // scale + 2, width // scale + 2)).astype(kind)
    return rng.random((height, width), np.float32), grid


@pytest.mark.sweep
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("planes", [2, 3, 5, 12])
@pytest.mark.parametrize("scale", [1, 8])
def test_planes_at_one_place(scale, planes, kind):
    """With a grid as fine as the picture, rows gather; with a coarse one they load planes."""
    made = between(planes, scale, kind)
    program, reference = made.compile("cpu", strict_float=True), made.compile("reference")
    assert f"load_planes_{'f32' if kind == 'float32' else 'i32'}(&" in program.source()
    for width in (1, 15, 16, 33, 300, 1100):
        given = arrays(width, 11, scale, planes, kind)
        np.testing.assert_array_equal(program(*given), reference(*given), err_msg=f"{width} columns")


def test_parts_of_the_output():
    """Rows that begin elsewhere have other places in their tables."""
    made = between(3, 8)
    given = arrays(400, 40, 8, 3, "float32")
    program, reference = made.compile("cpu", strict_float=True), made.compile("reference")
    for mins, sizes in (((0, 0), (400, 40)), ((17, 9), (333, 30)), ((200, 31), (1, 1)), ((389, 0), (11, 40))):
        box = {"mins": {"output": mins}, "sizes": sizes}
        np.testing.assert_array_equal(program(*given, **box), reference(*given, **box), err_msg=f"{box}")


def test_levels_that_data_put_far_away():
    """Places are clamped to the grid, whatever the data are."""
    image, grid = hl.ImageParam(hl.Float(32), 2, "image"), hl.ImageParam(hl.Float(32), 3, "grid")
    f, output = hl.Func("f"), hl.Func("output")
    level = hl.clamp(hl.i32(image[x, y]), 0, grid.dim(1).extent() - 1)
    f[x, y, c] = grid[x / 4, level, c] + grid[x / 4 + 1, level, c]
    output[x, y] = f[x, y, 0] * f[x, y, 1] - f[x, y, 2]
    made = hl.Pipeline(output)
    program, reference = made.compile("cpu", strict_float=True), made.compile("reference")
    rng = np.random.default_rng(0)
    image = rng.normal(4, 6, (9, 203)).astype(np.float32)
    image.flat[:4] = np.nan, np.inf, -np.inf, 3e9
    grid = rng.random((3, 8, 52), np.float32)
    np.testing.assert_array_equal(program(image, grid), reference(image, grid))


def test_rows_of_few_places_alone_have_tables():
    """A grid of many levels for its columns is gathered from."""
    made = between(2, 1)
    given = arrays(64, 5, 1, 2, "float32", levels=5000)
    program, reference = made.compile("cpu", strict_float=True), made.compile("reference")
    np.testing.assert_array_equal(program(*given), reference(*given))
