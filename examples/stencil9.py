"""A 9-point stencil, the mean of 3x3 points, iterated; zeros surround the picture in each iteration."""

from _run import Example, gray_floats, main

import tilefuse as hl

ITERATIONS = 4


def stencil9(image, hl=hl, iterations=ITERATIONS):
    """Apply the 9-point mean `iterations` times to `image` (x, y) of f32; the output has its size."""
    x, y = hl.Var("x"), hl.Var("y")
    box = [(0, image.width()), (0, image.height())]
    current = image
    for i in range(iterations):
        bounded = hl.BoundaryConditions.constant_exterior(current, 0.0, box)
        rows, step = hl.Func(f"rows_{i}"), hl.Func(f"step_{i}")
        rows[x, y] = bounded[x - 1, y] + bounded[x, y] + bounded[x + 1, y]
        step[x, y] = (rows[x, y - 1] + rows[x, y] + rows[x, y + 1]) * hl.f32(1 / 9)
        current = step
    return current


def pipeline(iterations: int = ITERATIONS) -> hl.Pipeline:
    """Return the stencil on a picture (x, y) of f32, `iterations` times (at least once)."""
    return hl.Pipeline(stencil9(hl.ImageParam(hl.Float(32), 2, "image"), iterations=iterations))


EXAMPLES = [Example("stencil9", pipeline, stencil9, gray_floats)]

if __name__ == "__main__":
    main(EXAMPLES)
