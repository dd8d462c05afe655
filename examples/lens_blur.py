"""Synthetic depth of field from a stereo pair (Halide's apps/lens_blur)."""

import numpy as np
from _run import Example, main

import tilefuse as hl

SLICES, FOCUS, RADIUS_SCALE, SAMPLES, LEVELS = 32, 13, 0.5, 32, 8
"""Shifts to compare; the sharp one; blur per shift; samples of the aperture; levels of the pyramid."""


class Depth:
    """Choice of the best shift between the pictures at each pixel."""

    def __init__(self, left, right, hl, slices, levels):
        self.hl, self.slices, self.levels = hl, slices, levels
        self.x, self.y, self.z, self.c = (hl.Var(name) for name in "xyzc")
        self.left, self.right = (hl.BoundaryConditions.repeat_edge(image) for image in (left, right))
        self.size = (left.width(), left.height())

    def _downsampled(self, f):
        """Halve the size, by the weights 1 3 3 1."""
        x, y, z, c = self.x, self.y, self.z, self.c
        downx, downy = self.hl.Func("downx"), self.hl.Func("downy")
        middle = f[2 * x, y, z, c] + f[2 * x + 1, y, z, c]
        downx[x, y, z, c] = (f[2 * x - 1, y, z, c] + 3.0 * middle + f[2 * x + 2, y, z, c]) / 8.0
        middle = downx[x, 2 * y, z, c] + downx[x, 2 * y + 1, z, c]
        downy[x, y, z, c] = (downx[x, 2 * y - 1, z, c] + 3.0 * middle + downx[x, 2 * y + 2, z, c]) / 8.0
        return downy

    def _upsampled(self, f):
        """Double the size, with weights of a quarter for the farther pixel and three quarters for the nearer."""
        x, y, z, c = self.x, self.y, self.z, self.c
        upx, upy = self.hl.Func("upx"), self.hl.Func("upy")
        upx[x, y, z, c] = 0.25 * f[x // 2 - 1 + 2 * (x % 2), y, z, c] + 0.75 * f[x // 2, y, z, c]
        upy[x, y, z, c] = 0.25 * upx[x, y // 2 - 1 + 2 * (y % 2), z, c] + 0.75 * upx[x, y // 2, z, c]
        return upy

    def _cost(self):
        """Return the cost of each shift, and its confidence: the variance over the shifts."""
        hl, x, y, z, c = self.hl, self.x, self.y, self.z, self.c
        difference, cost, confidence = hl.Func("difference"), hl.Func("cost"), hl.Func("confidence")
        here = self.left[x, y, c]
        shifted = [hl.absd(here, self.right[x + 2 * z + i, y, c]) for i in range(2)]
        difference[x, y, z, c] = hl.min(shifted[0], shifted[1])
        squares = [hl.pow(hl.f32(difference[x, y, z, i]), 2) for i in range(3)]
        cost[x, y, z] = squares[0] + squares[1] + squares[2]
        r = hl.RDom([(0, self.slices)])
        of_squares = hl.sum(r, hl.pow(cost[x, y, r.x], 2)) / self.slices
        confidence[x, y] = of_squares - hl.pow(hl.sum(r, cost[x, y, r.x] / self.slices), 2)
        return cost, confidence

    def depth(self):
        """Return the cheapest shift, after confident costs are spread over a pyramid."""
        hl, x, y, z, c = self.hl, self.x, self.y, self.z, self.c
        cost, confidence = self._cost()
        push, pull = ([hl.Func(f"{name}_{i}") for i in range(self.levels)] for name in ("push", "pull"))
        sure = confidence[x, y]
        push[0][x, y, z, c] = hl.select(c == 0, cost[x, y, z] * sure, hl.Expr(sure))
        width, height = self.size
        for i in range(1, self.levels):
            push[i][x, y, z, c] = self._downsampled(push[i - 1])[x, y, z, c]
            width, height = width / 2, height / 2
            push[i] = hl.BoundaryConditions.repeat_edge(push[i], [(0, width), (0, height)])
        pull[-1][x, y, z, c] = push[-1][x, y, z, c]
        for i in reversed(range(self.levels - 1)):
            pull[i][x, y, z, c] = hl.lerp(self._upsampled(pull[i + 1])[x, y, z, c], push[i][x, y, z, c], hl.f32(0.5))
        filtered, depth = hl.Func("filtered"), hl.Func("depth")
        filtered[x, y, z] = pull[0][x, y, z, 0] / pull[0][x, y, z, 1]
        r = hl.RDom([(0, self.slices)])
        depth[x, y] = hl.argmin(r, filtered[x, y, r.x])[0]
        return depth


def lens_blur(left, right, hl=hl, slices=SLICES, focus=FOCUS, samples=SAMPLES, levels=LEVELS, random=None):
    """Blur `left` (x, y, channel) of u8 except at the depth `focus`, as f32; `right` is the second view.

    `random(hl, x, y, z, number)` takes the place of `random_float`, whose numbers differ from one compiler to another.
    """
    x, y, z, c = (hl.Var(name) for name in "xyzc")
    depths = Depth(left, right, hl, slices, levels)
    depth = depths.depth()
    farthest = int(max(slices - focus, focus) * RADIUS_SCALE)

    radius, radius_squared = hl.Func("bokeh_radius"), hl.Func("bokeh_radius_squared")
    radius[x, y] = hl.abs(depth[x, y] - focus) * hl.f32(RADIUS_SCALE)
    radius_squared[x, y] = hl.pow(radius[x, y], 2)
    worst_y, worst = hl.Func("worst_y"), hl.Func("worst")
    r = hl.RDom([(-farthest, 2 * farthest + 1)])
    worst_y[x, y] = hl.maximum(r, radius[x, y + r.x])
    worst[x, y] = hl.maximum(r, worst_y[x + r.x, y])

    with_alpha, blurred = hl.Func("with_alpha"), hl.Func("blurred")
    colors = [hl.f32(depths.left[x, y, i]) for i in range(3)]
    with_alpha[x, y, c] = hl.select(c == 0, colors[0], c == 1, colors[1], c == 2, colors[2], 255.0)
    blurred[x, y, c] = with_alpha[x, y, c]

    # Random places of the aperture, and whether the pixel there is blurred over this one.
    places = hl.Func("places")
    draws = [hl.random_float() if random is None else random(hl, x, y, z, i) for i in range(2)]
    steps = [hl.i32((draw - 0.5) * 2 * worst[x, y]) for draw in draws]
    places[x, y, z] = hl.Tuple([hl.clamp(step, -farthest, farthest) for step in steps])
    u, v = places[x, y, z][0], places[x, y, z][1]
    distance = hl.f32(u * u + v * v)
    reaches_back = distance < radius_squared[x, y]
    reaches = distance < radius_squared[x + u, y + v]
    in_front = depth[x + u, y + v] < depth[x, y]
    weight = hl.Func("weight")
    weight[x, y, z] = hl.select((reaches_back | in_front) & reaches, 1.0, 0.0)

    s = hl.RDom([(0, samples)])
    sx, sy = x + places[x, y, s.x][0], y + places[x, y, s.x][1]
    blurred[x, y, c] += weight[x, y, s.x] * with_alpha[sx, sy, c]
    output = hl.Func("lens_blur")
    output[x, y, c] = blurred[x, y, c] / blurred[x, y, 3]
    output.bound(c, 0, 3)
    return output


def pipeline(**arguments: int) -> hl.Pipeline:
    """Return the blur of a picture (x, y, channel) of u8 by its distance, which a second view gives."""
    left, right = (hl.ImageParam(hl.UInt(8), 3, name) for name in ("left", "right"))
    return hl.Pipeline(lens_blur(left, right, **arguments))


def two_views(photo: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the photograph and a second view from further left, with a near middle."""
    height, width = photo.shape[:2]
    y, x = np.mgrid[0:height, 0:width]
    near = (x / width - 0.45) ** 2 + (y / height - 0.5) ** 2 < 0.1
    shift = np.where(near, 2 * FOCUS, 4)
    return photo, np.ascontiguousarray(photo[y, (x - shift).clip(0)])


def motorcycle() -> tuple[np.ndarray, np.ndarray]:
    """Return two photographs of a motorcycle, the right view first: near objects are further right in the other."""
    from skimage import data

    left, right, _ = data.stereo_motorcycle()
    return right, left


EXAMPLES = [Example("lens_blur", pipeline, lens_blur, two_views, sample=motorcycle)]

if __name__ == "__main__":
    main(EXAMPLES)
