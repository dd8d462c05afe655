"""Interpolation of the holes of a picture, where alpha is 0, over a pyramid (Halide's apps/interpolate)."""

import numpy as np
from _run import Example, main, rgb_floats

import tilefuse as hl

LEVELS = 10


def interpolate(image, hl=hl, levels=LEVELS):
    """Interpolate the colours (x, y, channel) of `image` (x, y, rgba) of f32, known where alpha is 1; same size."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image.dim(2).set_bounds(0, 4)

    def funcs(name):
        return [hl.Func(f"{name}_{level}") for level in range(levels)]

    downsampled, downx, interpolated = funcs("downsampled"), funcs("downx"), funcs("interpolated")
    upsampled, upsampledx = funcs("upsampled"), funcs("upsampledx")
    clamped = hl.BoundaryConditions.repeat_edge(image)
    alpha = clamped[x, y, 3]
    downsampled[0][x, y, c] = hl.select(c < 3, clamped[x, y, c] * alpha, hl.Expr(alpha))

    for level in range(1, levels):
        f = downsampled[level - 1]
        if level == 4:  # what lies far outside of the picture is not computed
            w, h = image.width() / (1 << (level - 1)), image.height() / (1 << (level - 1))
            bounded = hl.Func("bounded")
            bounded[x, y, c] = f[hl.clamp(x, 0, w), hl.clamp(y, 0, h), c]
            f = bounded
        downx[level][x, y, c] = (f[2 * x - 1, y, c] + 2.0 * f[2 * x, y, c] + f[2 * x + 1, y, c]) * 0.25
        f = downx[level]
        downsampled[level][x, y, c] = (f[x, 2 * y - 1, c] + 2.0 * f[x, 2 * y, c] + f[x, 2 * y + 1, c]) * 0.25

    interpolated[-1][x, y, c] = downsampled[-1][x, y, c]
    for level in reversed(range(levels - 1)):
        f = interpolated[level + 1]
        upsampledx[level][x, y, c] = (f[x // 2, y, c] + f[(x + 1) // 2, y, c]) / 2.0
        f = upsampledx[level]
        upsampled[level][x, y, c] = (f[x, y // 2, c] + f[x, (y + 1) // 2, c]) / 2.0
        rest = 1.0 - downsampled[level][x, y, 3]
        interpolated[level][x, y, c] = downsampled[level][x, y, c] + rest * upsampled[level][x, y, c]

    output = hl.Func("interpolate")
    output[x, y, c] = interpolated[0][x, y, c] / interpolated[0][x, y, 3]
    output.bound(c, 0, 3)
    return output


def pipeline(levels: int = LEVELS) -> hl.Pipeline:
    """Return the interpolation of a picture (x, y, rgba) of f32."""
    return hl.Pipeline(interpolate(hl.ImageParam(hl.Float(32), 3, "image"), levels=levels))


def with_holes(photo: np.ndarray) -> np.ndarray:
    """Return the photograph with one known pixel in twenty, and a hole in the middle."""
    height, width = photo.shape[:2]
    known = np.random.default_rng(0).random((height, width)) < 0.05
    known[height * 2 // 5 : height * 3 // 5, width * 2 // 5 : width * 3 // 5] = False
    known[0, 0] = True
    return np.dstack([rgb_floats(photo) * known[:, :, None], known.astype(np.float32)])


EXAMPLES = [Example("interpolate", pipeline, interpolate, with_holes)]

if __name__ == "__main__":
    main(EXAMPLES)
