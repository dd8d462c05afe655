"""Eight short algorithms with updates, reductions, scans, gathers: a summed-area table, a dither and others."""

from collections.abc import Sequence

import numpy as np
from _run import Example, gray_floats, main

import tilefuse as hl


def equalised(image, hl=hl):
    """Equalise `image` (x, y) of u8: a histogram, its running sum, and a lookup in this sum."""
    x, y = hl.Var("x"), hl.Var("y")
    counts, below, output = hl.Func("counts"), hl.Func("below"), hl.Func("equalised")
    r, b = hl.RDom([(0, image.width()), (0, image.height())]), hl.RDom([(1, 255)])
    counts[x] = hl.u32(0)
    counts[image[r.x, r.y]] += hl.u32(1)
    below[x] = counts[x]
    below[b.x] += below[b.x - 1]
    share = hl.f32(255) / hl.f32(image.width() * image.height())
    output[x, y] = hl.u8(hl.f32(below[image[x, y]]) * share)
    return output


def summed_area(image, hl=hl):
    """Return the sum of `image` (x, y) of f32 over all points above and to the left, inclusively."""
    x, y, output = hl.Var("x"), hl.Var("y"), hl.Func("summed_area")
    r, q = hl.RDom([(1, image.width() - 1)]), hl.RDom([(1, image.height() - 1)])
    output[x, y] = image[x, y]
    output[r.x, y] += output[r.x - 1, y]
    output[x, q.x] += output[x, q.x - 1]
    return output


def recursive_blur(image, hl=hl):
    """Blur `image` (x, y) of f32 down its columns and up again by a recursive filter."""
    x, y, output = hl.Var("x"), hl.Var("y"), hl.Func("recursive_blur")
    height = image.height()
    r = hl.RDom([(1, height - 1)])
    output[x, y] = image[x, y]
    output[x, r.x] = output[x, r.x - 1] * hl.f32(0.7) + output[x, r.x] * hl.f32(0.3)
    up = height - 1 - r.x
    output[x, up] = output[x, up + 1] * hl.f32(0.7) + output[x, up] * hl.f32(0.3)
    return output


def disk_minimum(image, hl=hl):
    """Return the minimum of `image` (x, y) of u8 over a disk of radius 4 around each point."""
    x, y, output = hl.Var("x"), hl.Var("y"), hl.Func("disk_minimum")
    edges = hl.BoundaryConditions.repeat_edge(image)
    r = hl.RDom([(-4, 9), (-4, 9)])
    r.where(r.x * r.x + r.y * r.y <= 16)
    output[x, y] = hl.minimum(r, edges[x + r.x, y + r.y])
    return output


def product(a, b, hl=hl):
    """Return the product of two matrices (column, row) of f32."""
    x, y, output = hl.Var("x"), hl.Var("y"), hl.Func("product")
    r = hl.RDom([(0, a.width())])
    output[x, y] = hl.f32(0)
    output[x, y] += a[r.x, y] * b[x, r.x]
    return output


def brightest_channel(image, hl=hl):
    """Return the first channel of `image` (x, y, channel) of u8 with the largest sum."""
    x, y, output = hl.Var("x"), hl.Var("y"), hl.Func("brightest_channel")
    r = hl.RDom([(0, image.channels())])
    output[x, y] = hl.u8(hl.argmax(r, image[x, y, r.x])[0])
    return output


def resized(image, factor=None, hl=hl):
    """Resize `image` (x, y) of f32 by `factor`, a Param, with linear interpolation."""
    x, y, output = hl.Var("x"), hl.Var("y"), hl.Func("resized")
    factor = hl.Param(hl.Float(32), "factor", 0.75) if factor is None else factor
    edges = hl.BoundaryConditions.repeat_edge(image)
    at = [(hl.f32(v) + hl.f32(0.5)) / factor - hl.f32(0.5) for v in (x, y)]
    (i, u), (j, v) = ((hl.i32(hl.floor(a)), a - hl.floor(a)) for a in at)
    rows = [edges[i, j + k] * (hl.f32(1) - u) + edges[i + 1, j + k] * u for k in (0, 1)]
    output[x, y] = rows[0] * (hl.f32(1) - v) + rows[1] * v
    return output


def dithered(image, hl=hl):
    """Dither `image` (x, y) of u8 to black and white by Floyd and Steinberg's sequential algorithm."""
    x, y, g, output = hl.Var("x"), hl.Var("y"), hl.Func("g"), hl.Func("dithered")
    dark = hl.BoundaryConditions.constant_exterior(image, hl.u8(0))
    r = hl.RDom([(0, image.width()), (0, image.height())])
    g[x, y] = (hl.i32(dark[x, y]), 0)
    places = ((-1, 0, 7), (1, -1, 3), (0, -1, 5), (-1, -1, 1))
    spread = [g[r.x + i, r.y + j][1] * n for i, j, n in places]
    value = g[r.x, r.y][0] + (spread[0] + spread[1] + spread[2] + spread[3]) / 16
    dot = hl.select(value > 127, 255, 0)
    g[r.x, r.y] = (dot, value - dot)
    output[x, y] = hl.u8(g[x, y][0])
    return output


def _luminance(photo: np.ndarray) -> np.ndarray:
    return np.rint(gray_floats(photo) * 255).astype(np.uint8)


def _of_most(_: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Scale the numbers such that the largest is white."""
    return out.astype(np.float32) / np.float32(max(1, out.max()))


def _smaller(shape: Sequence[int]) -> dict[str, tuple[int, ...]]:
    return {"sizes": tuple(n * 3 // 4 for n in reversed(shape))}


def _matrices(photo: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a square of the photograph, and its transpose or mirror image."""
    n = min(photo.shape[:2])
    square = np.ascontiguousarray(gray_floats(photo)[:n, :n])
    return square, np.ascontiguousarray(square.T)


def _of(algorithm, bits: int, prepare, rank: int = 2, inputs: int = 1, **options) -> Example:
    """Return the example of an algorithm on pictures of f32 or u8."""
    name = algorithm.__name__
    type = hl.Float(32) if bits == 32 else hl.UInt(bits)
    layout = {"layout": "planar"} if rank == 3 else {}

    def pipeline() -> hl.Pipeline:
        return hl.Pipeline(algorithm(*(hl.ImageParam(type, rank, f"image{n}", **layout) for n in range(inputs))))

    return Example(name, pipeline, algorithm, prepare, **options)


EXAMPLES = [
    _of(equalised, 8, _luminance),
    _of(summed_area, 32, gray_floats, show=_of_most),
    _of(recursive_blur, 32, gray_floats),
    _of(disk_minimum, 8, _luminance),
    _of(product, 32, _matrices, inputs=2, show=_of_most),
    _of(brightest_channel, 8, lambda photo: np.ascontiguousarray(np.moveaxis(photo, 2, 0)), rank=3, show=_of_most),
    _of(resized, 32, gray_floats, box=_smaller),
    _of(dithered, 8, _luminance),
]

if __name__ == "__main__":
    main(EXAMPLES)
