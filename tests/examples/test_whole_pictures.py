"""Algorithms with updates end to end on a photograph, on every back end, against NumPy, to the bit."""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.passes.pipeline import standard_passes

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
TARGETS = [
    "reference",
    "cpu",
    pytest.param("emulated", marks=pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")),
    pytest.param("cuda", marks=pytest.mark.gpu),
]
HEIGHT, WIDTH = 96, 150


def photograph():
    """(channel, height, width) of a face."""
    data = pytest.importorskip("skimage.data")
    return np.ascontiguousarray(np.moveaxis(data.astronaut()[60 : 60 + HEIGHT, 150 : 150 + WIDTH], 2, 0))


def planes():
    """A picture of any number of channels."""
    return hl.ImageParam(hl.UInt(8), 3, "photo", layout="planar")


def equalised():
    """Histogram, its running sum, and a look-up in that."""
    p, counts, below, out = planes(), hl.Func("counts"), hl.Func("below"), hl.Func("out")
    r, b = hl.RDom([(0, p.width()), (0, p.height())]), hl.RDom([(1, 255)])
    counts[x] = hl.u32(0)
    counts[p[r.x, r.y, 1]] += hl.u32(1)
    below[x] = counts[x]
    below[b] += below[b - 1]
    out[x, y] = hl.u8(below[p[x, y, 1]] * hl.u32(255) / hl.u32(p.width() * p.height()))

    def expected(photo):
        running = np.cumsum(np.bincount(photo[1].ravel(), minlength=256))
        return (running[photo[1]] * 255 // photo[1].size).astype(np.uint8)

    return out, (WIDTH, HEIGHT), expected


def summed_area():
    """Sums of all above and to the left."""
    p, f = planes(), hl.Func("f")
    r, q = hl.RDom([(1, WIDTH - 1)]), hl.RDom([(1, HEIGHT - 1)])
    f[x, y] = hl.u32(p[x, y, 0])
    f[r, y] += f[r - 1, y]
    f[x, q] += f[x, q - 1]
    return f, (WIDTH, HEIGHT), lambda photo: photo[0].cumsum(0).cumsum(1).astype(np.uint32)


def recursive_blur():
    """Down and up again, in powers of two that floats hold."""
    p, f = planes(), hl.Func("f")
    r = hl.RDom([(1, HEIGHT - 1)])
    f[x, y] = hl.f32(p[x, y, 0])
    f[x, r] = f[x, r - 1] * 0.5 + f[x, r] * 0.5
    up = HEIGHT - 1 - r
    f[x, up] = f[x, up + 1] * 0.25 + f[x, up] * 0.75

    def expected(photo):
        f = photo[0].astype(np.float32)
        for i in range(1, HEIGHT):
            f[i] = f[i - 1] * np.float32(0.5) + f[i] * np.float32(0.5)
        for i in range(HEIGHT - 2, -1, -1):
            f[i] = f[i + 1] * np.float32(0.25) + f[i] * np.float32(0.75)
        return f

    return f, (WIDTH, HEIGHT), expected


def disk_minimum():
    """The least value in a disk of radius 4."""
    p, f = planes(), hl.Func("f")
    edges = hl.BoundaryConditions.repeat_edge(p)
    r = hl.RDom([(-4, 9), (-4, 9)])
    r.where(r.x * r.x + r.y * r.y <= 16)
    f[x, y] = hl.minimum(r, edges[x + r.x, y + r.y, 2])

    def expected(photo):
        padded = np.pad(photo[2], 4, "edge")
        offsets = [(i, j) for i in range(-4, 5) for j in range(-4, 5) if i * i + j * j <= 16]
        return np.min([padded[4 + i : 4 + i + HEIGHT, 4 + j : 4 + j + WIDTH] for i, j in offsets], axis=0)

    return f, (WIDTH, HEIGHT), expected


def product():
    """Of the picture and its transpose."""
    p, f = planes(), hl.Func("f")
    r = hl.RDom([(0, p.width())])
    f[x, y] = hl.u32(0)
    f[x, y] += hl.u32(p[r, y, 0]) * hl.u32(p[r, x, 1])
    return f, (HEIGHT, HEIGHT), lambda photo: photo[0].astype(np.uint32) @ photo[1].T.astype(np.uint32)


def brightest_channel():
    """The first channel of the most light."""
    p, f = planes(), hl.Func("f")
    r = hl.RDom([(0, p.channels())])
    f[x, y] = hl.argmax(r, p[x, y, r])[0]
    return f, (WIDTH, HEIGHT), lambda photo: photo.argmax(0)


def resized():
    """Bilinear, by a factor that is given with each call."""
    p, factor, f = planes(), hl.Param(hl.Float(32), "factor", 0.75), hl.Func("f")
    edges = hl.BoundaryConditions.repeat_edge(p)
    at = [(hl.f32(v) + 0.5) / factor - 0.5 for v in (x, y)]
    (i, u), (j, v) = ((hl.i32(hl.floor(a)), a - hl.floor(a)) for a in at)
    rows = [hl.f32(edges[i, j + k, c]) * (1 - u) + hl.f32(edges[i + 1, j + k, c]) * u for k in (0, 1)]
    f[x, y, c] = rows[0] * (1 - v) + rows[1] * v
    size = int(WIDTH * 0.75), int(HEIGHT * 0.75)

    def expected(photo):
        one, half = np.float32(1), np.float32(0.5)
        at = [(np.arange(n, dtype=np.float32) + half) / np.float32(0.75) - half for n in size]
        (i, u), (j, v) = ((np.floor(a).astype(int), a - np.floor(a)) for a in at)
        columns = [np.clip(i + k, 0, WIDTH - 1) for k in (0, 1)]
        lines = [photo[:, np.clip(j + k, 0, HEIGHT - 1)].astype(np.float32) for k in (0, 1)]
        rows = [line[..., columns[0]] * (one - u) + line[..., columns[1]] * u for line in lines]
        return rows[0] * (one - v)[:, None] + rows[1] * v[:, None]

    return f, (*size, 3), expected


def dithered():
    """Floyd and Steinberg's error diffusion: nothing of it is parallel."""
    height, width = 20, 60
    p, g, f = planes(), hl.Func("g"), hl.Func("f")
    dark = hl.BoundaryConditions.constant_exterior(p, hl.u8(0))
    r = hl.RDom([(0, width), (0, height)])
    g[x, y] = (hl.i32(dark[x, y, 0]), 0)
    places = ((-1, 0, 7), (1, -1, 3), (0, -1, 5), (-1, -1, 1))
    spread = [g[r.x + i, r.y + j][1] * n for i, j, n in places]
    value = g[r.x, r.y][0] + (spread[0] + spread[1] + spread[2] + spread[3]) / 16
    dot = hl.select(value > 127, 255, 0)
    g[r.x, r.y] = (dot, value - dot)
    f[x, y] = hl.u8(g[x, y][0])

    def expected(photo):
        errors, dots = np.zeros((height + 1, width + 2), int), np.zeros((height, width), np.uint8)
        for j, i in np.ndindex(height, width):
            spread = errors[j + 1, i] * 7 + errors[j, i + 2] * 3 + errors[j, i + 1] * 5 + errors[j, i]
            value = int(photo[0, j, i]) + spread // 16
            dots[j, i] = 255 if value > 127 else 0
            errors[j + 1, i + 1] = value - int(dots[j, i])
        return dots

    return f, (width, height), expected


ALGORITHMS = (
    equalised, summed_area, recursive_blur, disk_minimum, product, brightest_channel, resized, dithered,
)  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.__name__)
def test_as_numpy(algorithm, target, monkeypatch, tmp_path):
    func, sizes, expected = algorithm()
    options = {"strict_float": True}
    if target == "emulated":
        emulate(monkeypatch, tmp_path)
        options["passes"] = standard_passes("h200")
    photo = given = photograph()
    if target == "cuda":
        import cupy

        given = cupy.asarray(photo)
    found = hl.Pipeline(func).compile("cpu" if target == "emulated" else target, **options)(given, sizes=sizes)
    np.testing.assert_array_equal(found.get() if target == "cuda" else found, expected(photo))
