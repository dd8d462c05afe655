"""Maximum over a disk of radius 26, of an RGB picture of floats (Halide's apps/max_filter)."""

import math

from _run import Example, main, rgb_floats

import tilefuse as hl

RADIUS = 26


def max_filter(image, hl=hl, radius=RADIUS):
    """Return the maximum of `image` (x, y, channel) over the disk around each pixel; the output has its size."""
    x, y, c, t = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("t")
    clamped = hl.BoundaryConditions.repeat_edge(image)
    slices = math.ceil(math.log2(radius)) + 1

    # Slice t is the maximum of 2^t pixels, here and below: each from the one before.
    r = hl.RDom([(-radius, image.height() + radius), (1, slices - 1)])
    vert_log = hl.Func("vert_log")
    vert_log[x, y, c, t] = clamped[x, y, c]
    below = r.x + hl.clamp(1 << (r.y - 1), 0, radius * 2)
    vert_log[x, r.x, c, r.y] = hl.max(vert_log[x, r.x, c, r.y - 1], vert_log[x, below, c, r.y - 1])

    # A column of 2 t + 1 pixels is covered by two of the largest slice that is not higher.
    slice_for_radius = hl.Func("slice_for_radius")
    slice_for_radius[t] = hl.i32(hl.floor(hl.log(hl.f32(2 * t + 1)) / hl.f32(math.log(2))))
    which = hl.clamp(slice_for_radius[t], 0, slices - 1)
    vert = hl.Func("vert")
    last = y + t + 1 - hl.clamp(1 << which, 0, 2 * radius)
    vert[x, y, c, t] = hl.max(vert_log[x, y - t, c, which], vert_log[x, last, c, which])

    # How high the disk is, from its middle, at each distance from it.
    filter_height = hl.Func("filter_height")
    dy = hl.RDom([(0, radius + 1)])
    inside = hl.f32(x * x + dy.x * dy.x) < hl.f32((radius + 0.25) ** 2)
    filter_height[x] = hl.sum(dy, hl.select(inside, 1, 0))

    dx = hl.RDom([(-radius, 2 * radius + 1)])
    output = hl.Func("max_filter")
    height = hl.clamp(filter_height[dx.x], 0, radius + 1)
    output[x, y, c] = hl.maximum(dx, vert[x + dx.x, y, c, height])
    output.bound(c, 0, 3)
    return output


def pipeline(radius: int = RADIUS) -> hl.Pipeline:
    """Return the maximum over a disk for a picture (x, y, channel) of f32."""
    return hl.Pipeline(max_filter(hl.ImageParam(hl.Float(32), 3, "image"), radius=radius))


EXAMPLES = [Example("max_filter", pipeline, max_filter, rgb_floats)]

if __name__ == "__main__":
    main(EXAMPLES)
