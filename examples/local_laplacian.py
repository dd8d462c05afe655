"""Local Laplacian filter: amplifies the details of an RGB picture of 16 bits (Halide's apps/local_laplacian)."""

import numpy as np
from _run import Example, main

import tilefuse as hl

PYRAMID, LEVELS = 8, 8
"""Levels of the pyramid, and of brightness."""


def local_laplacian(image, hl=hl, pyramid=PYRAMID, levels=LEVELS, alpha=1 / (LEVELS - 1), beta=1.0):
    """Amplify the details of `image` (x, y, channel) of u16 by `alpha`; the output has its size."""
    x, y, c, k = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("k")

    def downsample(f, rest=()):
        """Halve the size, by the weights 1 3 3 1."""
        downx, downy = hl.Func("downx"), hl.Func("downy")
        first, second = f[2 * x - 1, y, *rest], f[2 * x, y, *rest] + f[2 * x + 1, y, *rest]
        downx[x, y, *rest] = (first + 3.0 * second + f[2 * x + 2, y, *rest]) / 8.0
        first, second = downx[x, 2 * y - 1, *rest], downx[x, 2 * y, *rest] + downx[x, 2 * y + 1, *rest]
        downy[x, y, *rest] = (first + 3.0 * second + downx[x, 2 * y + 2, *rest]) / 8.0
        return downy

    def upsample(f, rest=()):
        """Double the size, with weights of a quarter for the farther pixel and three quarters for the nearer."""
        upx, upy = hl.Func("upx"), hl.Func("upy")
        upx[x, y, *rest] = 0.25 * f[x // 2 - 1 + 2 * (x % 2), y, *rest] + 0.75 * f[x // 2, y, *rest]
        upy[x, y, *rest] = 0.25 * upx[x, y // 2 - 1 + 2 * (y % 2), *rest] + 0.75 * upx[x, y // 2, *rest]
        return upy

    def pyramid_func(name):
        return [hl.Func(f"{name}_{j}") for j in range(pyramid)]

    # How a pixel moves by its distance to a level of brightness, as a table: 256 entries a level.
    i = hl.Var("i")
    remap = hl.Func("remap")
    distance = hl.f32(i) / 256.0
    remap[i] = hl.f32(alpha) * distance * hl.exp(-distance * distance / 2.0)

    clamped = hl.BoundaryConditions.repeat_edge(image)
    floating, gray = hl.Func("floating"), hl.Func("gray")
    floating[x, y, c] = clamped[x, y, c] / 65535.0
    gray[x, y] = (
        hl.f32(0.299) * floating[x, y, 0] + hl.f32(0.587) * floating[x, y, 1] + hl.f32(0.114) * floating[x, y, 2]
    )

    # Gaussian pyramids of the pictures remapped around each level, and their Laplacian pyramids.
    processed, details = pyramid_func("processed"), pyramid_func("details")
    level = k * hl.f32(1 / (levels - 1))
    entry = hl.clamp(hl.i32(gray[x, y] * hl.f32((levels - 1) * 256)), 0, (levels - 1) * 256)
    processed[0][x, y, k] = hl.f32(beta) * (gray[x, y] - level) + level + remap[entry - 256 * k]
    for j in range(1, pyramid):
        processed[j][x, y, k] = downsample(processed[j - 1], (k,))[x, y, k]
    details[-1][x, y, k] = processed[-1][x, y, k]
    for j in reversed(range(pyramid - 1)):
        details[j][x, y, k] = processed[j][x, y, k] - upsample(processed[j + 1], (k,))[x, y, k]

    # The Gaussian pyramid of the input says between which two levels each detail is taken.
    gaussian, chosen, result = pyramid_func("gaussian"), pyramid_func("chosen"), pyramid_func("result")
    gaussian[0][x, y] = gray[x, y]
    for j in range(1, pyramid):
        gaussian[j][x, y] = downsample(gaussian[j - 1])[x, y]
    for j in range(pyramid):
        level = gaussian[j][x, y] * hl.f32(levels - 1)
        low = hl.clamp(hl.i32(level), 0, levels - 2)
        part = level - hl.f32(low)
        chosen[j][x, y] = (1.0 - part) * details[j][x, y, low] + part * details[j][x, y, low + 1]
    result[-1][x, y] = chosen[-1][x, y]
    for j in reversed(range(pyramid - 1)):
        result[j][x, y] = upsample(result[j + 1])[x, y] + chosen[j][x, y]

    color, output = hl.Func("color"), hl.Func("local_laplacian")
    epsilon = hl.f32(0.01)
    color[x, y, c] = result[0][x, y] * (floating[x, y, c] + epsilon) / (gray[x, y] + epsilon)
    output[x, y, c] = hl.u16(hl.clamp(color[x, y, c], 0.0, 1.0) * 65535.0)
    output.bound(c, 0, 3)
    return output


def pipeline(pyramid: int = PYRAMID) -> hl.Pipeline:
    """Return the filter for a picture (x, y, channel) of u16."""
    return hl.Pipeline(local_laplacian(hl.ImageParam(hl.UInt(16), 3, "image"), pyramid=pyramid))


EXAMPLES = [
    Example(
        "local_laplacian",
        pipeline,
        local_laplacian,
        lambda photo: photo.astype(np.uint16) * 257,
        show=lambda _, out: out / 65535,
    )
]

if __name__ == "__main__":
    main(EXAMPLES)
