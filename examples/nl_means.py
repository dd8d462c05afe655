"""Denoising by non-local means: the mean of pixels with similar neighbourhoods (Halide's apps/nl_means)."""

import numpy as np
from _run import Example, main, rgb_floats

import tilefuse as hl

PATCH, SEARCH, SIGMA = 7, 7, 0.12
"""Pixels along the side of what is compared, and of where it is looked for; the noise."""


def nl_means(image, hl=hl, patch=PATCH, search=SEARCH, sigma=SIGMA):
    """Remove noise from `image` (x, y, channel) of f32 in [0, 1]; the output has its size."""
    x, y, c, dx, dy = (hl.Var(name) for name in ("x", "y", "c", "dx", "dy"))
    scale = hl.f32(-1 / (sigma * sigma * patch * patch))
    clamped = hl.BoundaryConditions.repeat_edge(image)

    # How much pixels differ from those (dx, dy) away, and a box sum of it along y, then x.
    by_channel, difference = hl.Func("by_channel"), hl.Func("difference")
    by_channel[x, y, dx, dy, c] = hl.pow(clamped[x, y, c] - clamped[x + dx, y + dy, c], 2)
    channels = hl.RDom([(0, 3)])
    difference[x, y, dx, dy] = hl.sum(channels, by_channel[x, y, dx, dy, channels.x])
    p = hl.RDom([(-patch // 2, patch)])
    blur_y, blur = hl.Func("blur_y"), hl.Func("blur")
    blur_y[x, y, dx, dy] = hl.sum(p, difference[x, y + p.x, dx, dy])
    blur[x, y, dx, dy] = hl.sum(p, blur_y[x + p.x, y, dx, dy])

    weight, with_alpha = hl.Func("weight"), hl.Func("with_alpha")
    weight[x, y, dx, dy] = hl.fast_exp(blur[x, y, dx, dy] * scale)
    with_alpha[x, y, c] = hl.select(
        c == 0, hl.Expr(clamped[x, y, 0]), c == 1, hl.Expr(clamped[x, y, 1]), c == 2, hl.Expr(clamped[x, y, 2]), 1.0
    )

    s = hl.RDom([(-search // 2, search), (-search // 2, search)])
    total, output = hl.Func("total"), hl.Func("nl_means")
    total[x, y, c] = 0.0
    total[x, y, c] += weight[x, y, s.x, s.y] * with_alpha[x + s.x, y + s.y, c]
    output[x, y, c] = hl.clamp(total[x, y, c] / total[x, y, 3], 0.0, 1.0)
    output.bound(c, 0, 3)
    return output


def pipeline() -> hl.Pipeline:
    """Return the non-local means of a picture (x, y, channel) of f32."""
    return hl.Pipeline(nl_means(hl.ImageParam(hl.Float(32), 3, "image")))


def noisy(photo: np.ndarray) -> np.ndarray:
    """Return the photograph with noise."""
    noise = np.random.default_rng(0).normal(0, 0.06, photo.shape)
    return (rgb_floats(photo) + noise).clip(0, 1).astype(np.float32)


EXAMPLES = [Example("nl_means", pipeline, nl_means, noisy)]

if __name__ == "__main__":
    main(EXAMPLES)
