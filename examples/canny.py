"""Canny's edge detector: 1 on strong edges, 0.5 on weak ones; or, with hysteresis, 1 on weak ones near strong ones."""

from _run import Example, gray_floats, main

import tilefuse as hl

WEAK, STRONG = 0.08, 0.20
TAN_22, TAN_67 = 0.41421356, 2.41421356
"""Tangents of 22.5 and 67.5 degrees, between which a gradient counts as diagonal."""


def canny(image, hl=hl):
    """Return the edges of `image` (x, y) of f32 in [0, 1], whose edge is repeated; the output has its size."""
    x, y = hl.Var("x"), hl.Var("y")
    bounded = hl.BoundaryConditions.repeat_edge(image)

    def binomial(a, b, c, d, e):
        return (a + e + 4 * (b + d) + 6 * c) * (1 / 16)

    blur_x, blur_y = hl.Func("blur_x"), hl.Func("blur_y")
    blur_x[x, y] = binomial(*(bounded[x + i, y] for i in range(-2, 3)))
    blur_y[x, y] = binomial(*(blur_x[x, y + i] for i in range(-2, 3)))

    f = blur_y
    gx, gy = hl.Func("gx"), hl.Func("gy")
    gx[x, y] = (
        f[x + 1, y - 1] - f[x - 1, y - 1]
        + 2 * (f[x + 1, y] - f[x - 1, y])
        + f[x + 1, y + 1] - f[x - 1, y + 1]
    )  # fmt: skip
    gy[x, y] = (
        f[x - 1, y + 1] - f[x - 1, y - 1]
        + 2 * (f[x, y + 1] - f[x, y - 1])
        + f[x + 1, y + 1] - f[x + 1, y - 1]
    )  # fmt: skip
    magnitude = hl.Func("magnitude")
    magnitude[x, y] = hl.sqrt(gx[x, y] * gx[x, y] + gy[x, y] * gy[x, y])

    # An edge is a maximum across itself: along its gradient, in one of four sectors.
    dx, dy = gx[x, y], gy[x, y]
    horizontal = hl.abs(dy) <= hl.f32(TAN_22) * hl.abs(dx)
    vertical = hl.abs(dy) > hl.f32(TAN_67) * hl.abs(dx)
    falling = dx * dy > 0.0

    def neighbour(sign):
        return hl.select(
            horizontal, magnitude[x + sign, y],
            vertical, magnitude[x, y + sign],
            falling, magnitude[x + sign, y + sign],
            hl.Expr(magnitude[x - sign, y + sign]),  # Halide would take only bare calls for tuples
        )  # fmt: skip

    here = magnitude[x, y]
    largest = (here >= neighbour(-1)) & (here >= neighbour(1))
    edges = hl.Func("canny")
    edges[x, y] = hl.select(largest & (here > hl.f32(STRONG)), 1.0, largest & (here > hl.f32(WEAK)), 0.5, 0.0)
    return edges


SWEEPS = 8


def canny_linked(image, hl=hl, sweeps=SWEEPS):
    """Return 1 on strong edges of `image`, and on weak edges within `sweeps` steps along weak edges."""
    x, y = hl.Var("x"), hl.Var("y")
    edges = canny(image, hl)
    for sweep in range(sweeps):
        linked = hl.Func(f"linked_{sweep}")
        strongest = edges[x, y]
        for i in range(-1, 2):
            for j in range(-1, 2):
                strongest = hl.max(strongest, edges[x + i, y + j])
        linked[x, y] = hl.select((edges[x, y] > 0.0) & (strongest == 1.0), 1.0, edges[x, y])
        edges = linked
    output = hl.Func("canny_linked")
    output[x, y] = hl.select(edges[x, y] == 1.0, 1.0, 0.0)
    return output


def pipeline(sweeps: int = 0) -> hl.Pipeline:
    """Return the edges of a picture (x, y) of f32: strong and weak ones, or linked ones after `sweeps` sweeps."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    return hl.Pipeline(canny_linked(image, sweeps=sweeps) if sweeps else canny(image))


EXAMPLES = [
    Example("canny", pipeline, canny, gray_floats),
    Example("canny_linked", lambda: pipeline(SWEEPS), canny_linked, gray_floats),
]

if __name__ == "__main__":
    main(EXAMPLES)
