"""Bilateral-guided upsampling: applies a filter's effect on a small picture to a large one (Halide's apps/bgu)."""

import numpy as np
from _run import Example, main, rgb_floats

import tilefuse as hl

SPATIAL, RANGE = 16, 1 / 8
"""Pixels of the small picture, and brightness, from one point of the grid to the next."""
SYMMETRIC = [(i, j) for i in range(4) for j in range(i, 4)]
"""Which sums of products of (red, green, blue, 1) with themselves are kept: a symmetric matrix of 4 x 4."""
PULL = 0.1
"""Regularisation of each fit towards the identity: the weight of a tenth of a pixel."""


def packed(c, values, hl):
    """Select value number `c`; larger numbers give the last value."""
    found = values[-1]
    for i in reversed(range(len(values) - 1)):
        found = hl.select(c == i, values[i], found)
    return found


def solved(a, b):
    """Solve `a x = b` for a symmetric 4 x 4 matrix, by a Cholesky factorization without square roots.

    `a[i][j]` needs j >= i only; `b` has a row for each of 4 equations.
    """
    n, columns = len(a), len(b[0])
    a, b = {(i, j): a[i][j] for i in range(n) for j in range(i, n)}, [list(row) for row in b]
    inverse, lower = {}, {}
    for j in range(n):
        inverse[j] = 1.0 / a[j, j]
        for i in range(j + 1, n):
            lower[i, j] = a[j, i] * inverse[j]
        for i in range(j + 1, n):
            for k in range(i, n):
                a[i, k] = a[i, k] - lower[k, j] * a[j, i]
    for k in range(columns):
        for j in range(n):
            for i in range(j):
                b[j][k] = b[j][k] - lower[j, i] * b[i][k]
        for j in range(n):
            b[j][k] = b[j][k] * inverse[j]
        for j in reversed(range(n)):
            for i in range(j + 1, n):
                b[j][k] = b[j][k] - lower[i, j] * b[i][k]
    return b


class Grid:
    """Grid of affine colour transforms that map the small picture to its filtered form."""

    def __init__(self, small, filtered, hl, s, r_sigma):
        self.hl, self.s, self.r_sigma = hl, s, r_sigma
        self.x, self.y, self.z, self.c = (hl.Var(name) for name in "xyzc")
        self.small = hl.BoundaryConditions.repeat_edge(small)
        self.filtered = hl.BoundaryConditions.repeat_edge(filtered)

    def histogram(self):
        """Sum the terms of the linear fit over the pixels of each cell, separately per brightness."""
        hl, x, y, z, c = self.hl, self.x, self.y, self.z, self.c
        gray = brightness("gray_small", self.small, hl)
        r = hl.RDom([(0, self.s), (0, self.s)])
        sx, sy = x * self.s + r.x - self.s // 2, y * self.s + r.y - self.s // 2
        level = hl.i32(hl.round(hl.clamp(gray[sx, sy], 0.0, 1.0) * hl.f32(1 / self.r_sigma)))
        pixel = [self.small[sx, sy, i] for i in range(3)]
        wanted = [self.filtered[sx, sy, i] for i in range(3)]
        ones = [*pixel, hl.f32(1)]
        products = [ones[i] * ones[j] if j < 3 else ones[i] for i, j in SYMMETRIC]
        products += [value for w in wanted for value in (*(w * p for p in pixel), w)]
        histogram = hl.Func("histogram")
        histogram[x, y, z, c] = 0.0
        histogram[x, y, level, c] += packed(c, [hl.f32(value) for value in products], hl)
        return histogram

    def blurred(self):
        """Blur the histogram; weights fall with the third power of the distance."""
        hl, x, y, z, c = self.hl, self.x, self.y, self.z, self.c
        weights = [hl.f32(w) for w in (1 / 64, 1 / 27, 1 / 8, 1, 1 / 8, 1 / 27, 1 / 64)]
        histogram, blurz, blury, blurx = self.histogram(), hl.Func("blurz"), hl.Func("blury"), hl.Func("blurx")

        def along(f):
            total = f(-3) * weights[0]
            for i in range(1, 7):
                total = total + f(i - 3) * weights[i]
            return total

        blurz[x, y, z, c] = along(lambda d: histogram[x, y, z + d, c])
        blury[x, y, z, c] = along(lambda d: blurz[x, y + d, z, c])
        blurx[x, y, z, c] = along(lambda d: blury[x + d, y, z, c])
        return blurx

    def lines(self):
        """Return the fit of each cell: a 3 x 4 matrix as 12 channels."""
        hl, x, y, z, c = self.hl, self.x, self.y, self.z, self.c
        f = self.blurred()
        a = [[None] * 4 for _ in range(4)]
        for number, (i, j) in enumerate(SYMMETRIC):
            a[i][j] = f[x, y, z, number] + (hl.f32(PULL) if i == j else 0.0)
        b = [[f[x, y, z, 10 + 4 * k + i] + (hl.f32(PULL) if i == k else 0.0) for k in range(3)] for i in range(4)]
        found = solved(a, b)
        line = hl.Func("line")
        line[x, y, z, c] = packed(c, [found[j][i] for i in range(3) for j in range(4)], hl)
        return line


def brightness(name, f, hl):
    """Return the brightness: a quarter of red, a quarter of blue, half of green."""
    x, y = hl.Var("x"), hl.Var("y")
    gray = hl.Func(name)
    gray[x, y] = 0.25 * f[x, y, 0] + 0.5 * f[x, y, 1] + 0.25 * f[x, y, 2]
    return gray


def bgu(small, filtered, large, hl=hl, s=SPATIAL, r_sigma=RANGE):
    """Transform `large` (x, y, channel) as `small` was transformed to `filtered`; all of f32."""
    x, y, z, c = (hl.Var(name) for name in "xyzc")
    line = Grid(small, filtered, hl, s, r_sigma).lines()

    ratios = [hl.i32(hl.ceil(hl.f32(large.dim(d).extent()) / hl.f32(small.dim(d).extent()))) for d in range(2)]
    cell = s * hl.max(ratios[0], ratios[1])

    def between(name, coordinate, at):
        f = hl.Func(name)
        position = hl.f32(coordinate) / hl.f32(cell)
        first = hl.i32(hl.floor(position))
        f[x, y, z, c] = hl.lerp(at(first), at(first + 1), position - hl.f32(first))
        return f

    matrix_y = between("matrix_y", y, lambda yi: line[x, yi, z, c])
    matrix_x = between("matrix_x", x, lambda xi: matrix_y[xi, y, z, c])

    gray = brightness("gray_large", large, hl)
    level = hl.clamp(gray[x, y], 0.0, 1.0) * hl.f32(int(1 / r_sigma))
    slice_z, matrix_z = hl.Func("slice_z"), hl.Func("matrix_z")
    slice_z[x, y] = hl.Tuple([hl.i32(level), level - hl.f32(hl.i32(level))])
    zi, zf = slice_z[x, y][0], slice_z[x, y][1]
    matrix_z[x, y, c] = hl.lerp(matrix_x[x, y, zi, c], matrix_x[x, y, zi + 1, c], zf)
    changed, output = hl.Func("changed"), hl.Func("bgu")
    row = [matrix_z[x, y, 4 * c + i] for i in range(4)]
    changed[x, y, c] = row[0] * large[x, y, 0] + row[1] * large[x, y, 1] + row[2] * large[x, y, 2] + row[3]
    output[x, y, c] = hl.clamp(changed[x, y, c], 0.0, 1.0)
    output.bound(c, 0, 3)
    return output


def pipeline(s: int = SPATIAL, photo: tuple[int, int] = (1536, 2560), factor: int = 8) -> hl.Pipeline:
    """Return the upsampling of a picture (x, y, channel) of f32, guided by a small picture and its filtered form.

    `photo`, `factor`: sizes for which schedules are chosen, of the large picture, which is so often as wide as others.
    """
    small, filtered, large = (hl.ImageParam(hl.Float(32), 3, name) for name in ("small", "filtered", "large"))
    for image in (small, filtered):
        for dim, extent in enumerate(photo):
            image.dim(dim).set_estimate(0, extent // factor)
    return hl.Pipeline(bgu(small, filtered, large, s=s))


def with_small(photo: np.ndarray, factor: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the photograph downsampled by `factor`, its warmer version with more contrast, and the photograph."""
    large = rgb_floats(photo)
    small = np.ascontiguousarray(large[::factor, ::factor])
    contrast = small * small * (3 - 2 * small)
    return small, contrast ** np.array([0.8, 1.0, 1.3], np.float32), large


EXAMPLES = [Example("bgu", pipeline, bgu, with_small)]

if __name__ == "__main__":
    main(EXAMPLES)
