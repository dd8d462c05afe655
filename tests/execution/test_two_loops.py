"""Updates on CPUs whose planes share the places that data decide: to the bit, wherever their planes begin."""

import numpy as np
import pytest

import tilefuse as hl

TYPES = {"float32": hl.Float(32), "uint8": hl.UInt(8), "int16": hl.Int(16), "float64": hl.Float(64)}
x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")
LEVELS = 5


def histogram(kind, planes, way="add", cell=4):
    """Return sums, or another combination, of terms of each plane by cell (x, y) and brightness."""
    image, r = hl.ImageParam(hl.UInt(8), 2, "image"), hl.RDom([(0, cell), (0, cell)], name="r")
    pixel = image[x * cell + r.x, y * cell + r.y]
    level, f, output = hl.i32(pixel) * LEVELS / 256, hl.Func("f"), hl.Func("output")
    value = hl.cast(TYPES[kind], pixel)
    f[x, y, z, c] = hl.cast(TYPES[kind], 1)
    terms = [value * hl.cast(TYPES[kind], n + 1) for n in range(planes)]
    term = hl.mux(c, terms) if planes > 1 else value
    if way == "add":
        f[x, y, level, c] += term
    elif way == "max":
        f[x, y, level, c] = hl.max(f[x, y, level, c], term)
    else:
        f[x, y, level, c] = term
    output[x, y, z, c] = f[x, y, z, c]
    return hl.Pipeline(output)


def same(made, *arrays, **box):
    program, reference = made.compile("cpu", strict_float=True), made.compile("reference")
    np.testing.assert_array_equal(program(*arrays, **box), reference(*arrays, **box), err_msg=f"{box}")
    return program


@pytest.mark.sweep
@pytest.mark.parametrize("way", ["add", "max", "set"])
@pytest.mark.parametrize("kind", TYPES)
def test_planes_share_places(kind, way):
    made = histogram(kind, 3, way)
    image = np.random.default_rng(0).integers(0, 256, (24, 600), np.uint8)
    program = same(made, image, sizes=(150, 6, LEVELS, 3))
    assert "planes = 3" in program.ir("tile")
    same(made, image, sizes=(1, 1, LEVELS, 3))


@pytest.mark.parametrize(("first", "count"), [(0, 3), (1, 2), (2, 1), (0, 2), (1, 5), (-1, 3)])
def test_planes_that_a_call_needs(first, count):
    """Of a call that needs fewer planes than the schedule takes together, more, or others."""
    image = np.random.default_rng(1).integers(0, 256, (12, 90), np.uint8)
    same(histogram("float32", 3), image, sizes=(20, 2, LEVELS, count), mins={"output": (1, 1, 0, first)})


def test_places_of_each_plane():
    """Planes whose places differ do not share them."""
    image, r = hl.ImageParam(hl.UInt(8), 3, "image"), hl.RDom([(0, 4), (0, 4)], name="r")
    f, output = hl.Func("f"), hl.Func("output")
    f[x, y, z, c] = hl.u32(0)
    f[x, y, hl.i32(image[x * 4 + r.x, y * 4 + r.y, c]) / 64, c] += hl.u32(1)
    output[x, y, z, c] = f[x, y, z, c]
    made = hl.Pipeline(output)
    program = same(made, np.random.default_rng(2).integers(0, 256, (3, 12, 80), np.uint8), sizes=(20, 3, 4, 3))
    assert "planes = 3" not in program.ir("tile")


def test_steps_that_read_what_earlier_ones_wrote():
    """Each step finds what those before it have written."""
    image, r = hl.ImageParam(hl.UInt(8), 2, "image"), hl.RDom([(0, 6)], name="r")
    f, output = hl.Func("f"), hl.Func("output")
    f[x, z, c] = hl.i32(z)
    level = hl.i32(image[x, r.x]) / 64
    f[x, level, c] = f[x, 3 - level, c] * 3 + f[x, level, c] + c
    output[x, z, c] = f[x, z, c]
    image = np.random.default_rng(3).integers(0, 256, (6, 200), np.uint8)
    same(hl.Pipeline(output), image, sizes=(200, 4, 2))
