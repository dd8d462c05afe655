"""Edge-preserving smoothing: a blur over position and brightness, on a coarse grid (Halide's apps/bilateral_grid)."""

from _run import Example, gray_floats, main

import tilefuse as hl

SPATIAL, RANGE = 8, 0.1
"""Pixels, and brightness, from one point of the grid to the next."""


def blurred(f):
    """Sum five binomial samples of `f`, around 0, without division."""
    return f(-2) + f(-1) * 4.0 + f(0) * 6.0 + f(1) * 4.0 + f(2)


def bilateral_grid(image, hl=hl, s=SPATIAL, r_sigma=RANGE):
    """Smooth `image` (x, y) of f32 in [0, 1], except its edges; the output has its size."""
    x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")
    clamped = hl.BoundaryConditions.repeat_edge(image)
    per_level = hl.f32(1) / hl.f32(r_sigma)

    # Each cell sums the brightness of its pixels, and counts them, apart for each level of brightness.
    r = hl.RDom([(0, s), (0, s)])
    value = hl.clamp(clamped[x * s + r.x - s // 2, y * s + r.y - s // 2], 0.0, 1.0)
    histogram = hl.Func("histogram")
    histogram[x, y, z, c] = 0.0
    histogram[x, y, hl.i32(value * per_level + 0.5), c] += hl.mux(c, [value, 1.0])

    blurz, blurx, blury = hl.Func("blurz"), hl.Func("blurx"), hl.Func("blury")
    blurz[x, y, z, c] = blurred(lambda d: histogram[x, y, z + d, c])
    blurx[x, y, z, c] = blurred(lambda d: blurz[x + d, y, z, c])
    blury[x, y, z, c] = blurred(lambda d: blurx[x, y + d, z, c])

    # Each pixel takes its value between the eight points of the grid around it.
    level = hl.clamp(image[x, y], 0.0, 1.0) * per_level
    zi, xi, yi = hl.i32(level), x // s, y // s
    zf, xf, yf = level - zi, hl.f32(x % s) / s, hl.f32(y % s) / s

    def between(z):
        near = hl.lerp(blury[xi, yi, z, c], blury[xi + 1, yi, z, c], xf)
        return hl.lerp(near, hl.lerp(blury[xi, yi + 1, z, c], blury[xi + 1, yi + 1, z, c], xf), yf)

    interpolated, output = hl.Func("interpolated"), hl.Func("bilateral_grid")
    interpolated[x, y, c] = hl.lerp(between(zi), between(zi + 1), zf)
    output[x, y] = interpolated[x, y, 0] / interpolated[x, y, 1]
    return output


def pipeline() -> hl.Pipeline:
    """Return the bilateral grid pipeline of a picture (x, y) of f32."""
    return hl.Pipeline(bilateral_grid(hl.ImageParam(hl.Float(32), 2, "image")))


EXAMPLES = [Example("bilateral_grid", pipeline, bilateral_grid, gray_floats)]

if __name__ == "__main__":
    main(EXAMPLES)
