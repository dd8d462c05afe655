"""Unsharp mask of an RGB picture: adds the difference of its luminance and a blur of it (Halide's apps/unsharp)."""

import math

from _run import Example, main, rgb_floats

import tilefuse as hl

SIGMA = 1.5


def gauss(i: int, sigma: float = SIGMA) -> float:
    """Return the weight at distance `i` of a Gaussian whose standard deviation is `sigma` pixels."""
    return math.exp(-i * i / (2 * sigma * sigma)) / (math.sqrt(2 * math.pi) * sigma)


def unsharp(image, hl=hl):
    """Sharpen `image` (x, y, channel) of f32; the output has its size."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image.dim(2).set_bounds(0, 3)
    bounded = hl.BoundaryConditions.repeat_edge(image)

    gray = hl.Func("gray")
    gray[x, y] = hl.f32(0.299) * bounded[x, y, 0] + hl.f32(0.587) * bounded[x, y, 1] + hl.f32(0.114) * bounded[x, y, 2]

    w = [hl.f32(gauss(i)) for i in range(4)]
    blur_y = hl.Func("blur_y")
    blur_y[x, y] = (
        w[0] * gray[x, y]
        + w[1] * (gray[x, y - 1] + gray[x, y + 1])
        + w[2] * (gray[x, y - 2] + gray[x, y + 2])
        + w[3] * (gray[x, y - 3] + gray[x, y + 3])
    )
    blur_x = hl.Func("blur_x")
    blur_x[x, y] = (
        w[0] * blur_y[x, y]
        + w[1] * (blur_y[x - 1, y] + blur_y[x + 1, y])
        + w[2] * (blur_y[x - 2, y] + blur_y[x + 2, y])
        + w[3] * (blur_y[x - 3, y] + blur_y[x + 3, y])
    )

    sharpen, ratio, output = hl.Func("sharpen"), hl.Func("ratio"), hl.Func("unsharp")
    sharpen[x, y] = 2 * gray[x, y] - blur_x[x, y]
    ratio[x, y] = sharpen[x, y] / gray[x, y]
    output[x, y, c] = ratio[x, y] * image[x, y, c]
    output.bound(c, 0, 3)
    return output


def pipeline() -> hl.Pipeline:
    """Return the unsharp mask of a picture (x, y, channel) of f32."""
    return hl.Pipeline(unsharp(hl.ImageParam(hl.Float(32), 3, "image")))


# A black pixel has no ratio: 0 / 0. Photographs have them, so the darkest is a little above.
EXAMPLES = [Example("unsharp", pipeline, unsharp, lambda photo: rgb_floats(photo).clip(1 / 512, 1))]

if __name__ == "__main__":
    main(EXAMPLES)
