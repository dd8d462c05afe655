"""What updates compute is what the halide wheel computes, with every Func at its root."""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse
from tilefuse.passes.pipeline import standard_passes

halide = pytest.importorskip("halide")

TARGETS = ("reference", "cpu")
RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 256, (7, 9), dtype=np.uint8)
ROW = RNG.integers(0, 12, 40, dtype=np.uint8)


def histogram(hl, im):
    x, f = hl.Var("x"), hl.Func("f")
    r = hl.RDom([(0, im.width()), (0, im.height())])
    f[x] = 0
    f[hl.i32(im[r.x, r.y])] += 1
    return f, [256]


def histogram_of_rows(hl, im):
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    r = hl.RDom([(0, 9)])
    f[x, y] = hl.u16(0)
    f[hl.i32(im[r.x, y]) / 16, y] += hl.u16(1)
    return f, [16, 7]


def summed_area(hl, im):
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    r, q = hl.RDom([(1, 8)]), hl.RDom([(1, 6)])
    f[x, y] = hl.u32(im[x, y])
    f[r.x, y] += f[r.x - 1, y]
    f[x, q.x] += f[x, q.x - 1]
    return f, [9, 7]


def both_ways(hl, im):
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    r = hl.RDom([(1, 8)])
    f[x, y] = hl.f32(im[x, y])
    f[r.x, y] = f[r.x, y] * 0.25 + f[r.x - 1, y] * 0.75
    f[8 - r.x, y] = f[8 - r.x, y] * 0.25 + f[9 - r.x, y] * 0.75
    return f, [9, 7]


def fibonacci(hl, im):
    x, f = hl.Var("x"), hl.Func("f")
    r = hl.RDom([(2, 18)])
    f[x] = 1
    f[r.x] = f[r.x - 1] + f[r.x - 2]
    return f, [20]


def product_of_matrices(hl, im):
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    r = hl.RDom([(0, 7)])
    f[x, y] = 0.0
    f[x, y] += hl.f32(im[r.x, y]) * hl.f32(im[x, r.x])
    return f, [7, 7]


def disk(hl, im):
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    r = hl.RDom([(-2, 5), (-2, 5)])
    r.where(r.x * r.x + r.y * r.y < 5)
    clamped = hl.BoundaryConditions.repeat_edge(im)
    f[x, y] = hl.u8(255)
    f[x, y] = hl.min(f[x, y], clamped[x + r.x, y + r.y])
    return f, [9, 7]


def eight_dimensions(hl, im):
    """In the order of the domain, which what is written last tells, with points left out."""
    x, f = hl.Var("x"), hl.Func("f")
    r = hl.RDom([(0, 2), (-1, 3), (0, 1), (1, 2), (0, 2), (2, 2), (0, 3), (0, 2)])
    number = r[0]
    for d in range(1, 8):
        number = number * 3 + r[d]
    r.where(number % 7 != 3)
    f[x] = (0, 0)
    f[hl.i32(im[number % 9, r[6]] % hl.u8(7))] = (number, f[3][1] + 1)
    return f, [7]


def on_data(hl, im):
    x, f = hl.Var("x"), hl.Func("f")
    r = hl.RDom([(0, 9), (0, 7)])
    r.where(im[r.x, r.y] > 100)
    f[x] = hl.u32(0)
    f[hl.i32(im[r.x, r.y] & hl.u8(3))] += hl.u32(im[r.x, r.y])
    return f, [4]


def tuples(hl, im):
    y, f = hl.Var("y"), hl.Func("f")
    r = hl.RDom([(0, 9)])
    f[y] = (0, hl.u8(0))
    better = im[r.x, y] > f[y][1]
    f[y] = (hl.select(better, r.x, f[y][0]), hl.select(better, im[r.x, y], f[y][1]))
    return f, [7]


def last_one_wins(hl, im):
    x, f = hl.Var("x"), hl.Func("f")
    r = hl.RDom([(0, 9), (0, 7)])
    f[x] = -1
    f[hl.i32(im[r.x, r.y] % hl.u8(5))] = r.x + 100 * r.y
    return f, [5]


def several_updates(hl, im):
    x, f = hl.Var("x"), hl.Func("f")
    r = hl.RDom([(0, 4), (0, 3)])
    f[x] = x
    f[3] = 7
    f[x] *= 2
    f[r.x * 2 + r.y] -= r.y
    f[f[r.x] % 4] += 10
    return f, [9]


def diagonal(hl, im):
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    r = hl.RDom([(0, 4)])
    f[x, y] = 0
    f[x, x] += 1
    f[x, x + r.x] += 3
    return f, [5, 8]


def no_dimension(hl, im):
    f = hl.Func("f")
    r = hl.RDom([(0, 9), (0, 7)])
    f[()] = hl.f32(0)
    f[()] += hl.f32(im[r.x, r.y])
    return f, []


def inline_reductions(hl, im):
    x, f = hl.Var("x"), hl.Func("f")
    r = hl.RDom([(0, im.width()), (0, im.height())])
    f[x] = (
        hl.sum(r, hl.u32(im[r.x, r.y]) * hl.u32(x)),
        hl.maximum(r, im[r.x, r.y]),
        hl.minimum(r, hl.f32(im[r.x, r.y]) - x),
        hl.product(r, hl.u32(im[r.x, r.y]) | hl.u32(1)),
    )
    return f, [5]


def argmin_and_argmax(hl, im):
    x, f = hl.Var("x"), hl.Func("f")
    r = hl.RDom([(0, 9), (0, 7)])
    least = hl.argmin(r, hl.i32(im[r.x, r.y]) / 8)
    most = hl.argmax(r, hl.i32(im[r.x, r.y]) / 8 - x)
    f[x] = (least[0], least[1], least[2], most[0], most[1], most[2])
    return f, [3]


def undefined_start(hl, im):
    x, f = hl.Var("x"), hl.Func("f")
    r = hl.RDom([(1, 6)])
    f[x] = hl.undef(hl.Int(32))
    f[0] = 1
    f[r.x] = f[r.x - 1] * 3
    return f, [7]


def left_as_it_was(hl, im):
    x, f = hl.Var("x"), hl.Func("f")
    r = hl.RDom([(0, 9)])
    f[x] = x
    f[r.x] = hl.select(im[r.x, 0] > 100, 5, hl.undef(hl.Int(32)))
    return f, [12]


def updates_that_feed_stages(hl, im):
    x, y, g, f = hl.Var("x"), hl.Var("y"), hl.Func("g"), hl.Func("f")
    h = hl.Func("h")
    r, q = hl.RDom([(0, 9), (0, 7)]), hl.RDom([(1, 255)])
    h[x] = 0
    h[hl.i32(im[r.x, r.y])] += 1
    g[x] = h[x]
    g[q.x] += g[q.x - 1]
    f[x, y] = g[hl.i32(im[x, y])] * 2 + h[x]
    h.compute_root() if hl is halide else None
    g.compute_root() if hl is halide else None
    return f, [9, 7]


PROGRAMS = [
    argmin_and_argmax, both_ways, diagonal, disk, eight_dimensions, fibonacci, histogram, histogram_of_rows,
    inline_reductions, last_one_wins, left_as_it_was, no_dimension, on_data, product_of_matrices, several_updates,
    summed_area, tuples, undefined_start, updates_that_feed_stages,
]  # fmt: skip


def arrays(made):
    return [np.array(a) for a in made] if isinstance(made, tuple | list) else [np.array(made)]


def by_halide(program):
    func, sizes = program(halide, halide.Buffer(PICTURE))
    return arrays(func.realize(sizes))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("target", TARGETS)
def test_as_halide(program, target):
    check(program, target)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_halide_on_emulated_gpu(program, monkeypatch, tmp_path):
    misaligned = emulate(monkeypatch, tmp_path)
    check(program, "cpu", passes=standard_passes("h200"))
    assert misaligned, "no kernel ran"
    assert not any(misaligned)


def check(program, target, **options):
    expected = by_halide(program)
    func, sizes = program(tilefuse, tilefuse.Buffer(PICTURE))
    got = arrays(func.realize(sizes, target, strict_float=True, **options))
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("points", [7, 7000])
def test_terms_that_do_not_depend_on_the_point(points, target):
    """Each point counts, written out or not; Halide takes one term where none of the RVars is read."""
    x, f = tilefuse.Var("x"), tilefuse.Func("f")
    f[x] = tilefuse.sum(tilefuse.RDom([(0, points)]), x)
    np.testing.assert_array_equal(f.realize([4], target), points * np.arange(4))
