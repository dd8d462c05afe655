"""Seamless blend of two pictures along a mask, by Laplacian pyramids (Burt and Adelson)."""

import numpy as np
from _run import Example, main, rgb_floats

import tilefuse as hl

LEVELS = 6


def pyramid_blend(first, second, mask, hl=hl, levels=LEVELS):
    """Blend `first` (x, y, channel) where `mask` (x, y) is 1 with `second` where it is 0; all of f32, of one size."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")

    def downsample(f, rest=()):
        """Halve the size, by the weights 1 3 3 1."""
        downx, downy = hl.Func("downx"), hl.Func("downy")
        middle = f[2 * x, y, *rest] + f[2 * x + 1, y, *rest]
        downx[x, y, *rest] = (f[2 * x - 1, y, *rest] + 3.0 * middle + f[2 * x + 2, y, *rest]) / 8.0
        middle = downx[x, 2 * y, *rest] + downx[x, 2 * y + 1, *rest]
        downy[x, y, *rest] = (downx[x, 2 * y - 1, *rest] + 3.0 * middle + downx[x, 2 * y + 2, *rest]) / 8.0
        return downy

    def upsample(f):
        """Double the size, with weights of a quarter for the farther pixel and three quarters for the nearer."""
        upx, upy = hl.Func("upx"), hl.Func("upy")
        upx[x, y, c] = 0.25 * f[x // 2 - 1 + 2 * (x % 2), y, c] + 0.75 * f[x // 2, y, c]
        upy[x, y, c] = 0.25 * upx[x, y // 2 - 1 + 2 * (y % 2), c] + 0.75 * upx[x, y // 2, c]
        return upy

    def gaussian(name, image, rest=()):
        """Return the picture with repeated edges, and ever smaller ones."""
        found = [hl.BoundaryConditions.repeat_edge(image)]
        for level in range(1, levels):
            f = hl.Func(f"{name}_{level}")
            f[x, y, *rest] = downsample(found[-1], rest)[x, y, *rest]
            found.append(f)
        return found

    def laplacian(name, pyramid):
        """Return the details of each level that the next level lacks; the last level as a whole."""
        found = []
        for level in range(levels - 1):
            f = hl.Func(f"{name}_detail_{level}")
            f[x, y, c] = pyramid[level][x, y, c] - upsample(pyramid[level + 1])[x, y, c]
            found.append(f)
        return [*found, pyramid[-1]]

    one = laplacian("first", gaussian("first", first, (c,)))
    other = laplacian("second", gaussian("second", second, (c,)))
    weight = gaussian("mask", mask)
    result = None
    for level in reversed(range(levels)):
        f = hl.Func(f"result_{level}" if level else "pyramid_blend")
        blended = hl.lerp(other[level][x, y, c], one[level][x, y, c], weight[level][x, y])
        f[x, y, c] = blended if result is None else upsample(result)[x, y, c] + blended
        result = f
    result.bound(c, 0, 3)
    return result


def pipeline(levels: int = LEVELS) -> hl.Pipeline:
    """Return the blend of two pictures (x, y, channel) of f32 along a mask (x, y) of f32."""
    first, second = (hl.ImageParam(hl.Float(32), 3, name) for name in ("first", "second"))
    return hl.Pipeline(pyramid_blend(first, second, hl.ImageParam(hl.Float(32), 2, "mask"), levels=levels))


def with_mirror(photo: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the photograph, its mirrored negative, and a mask of the left half."""
    first = rgb_floats(photo)
    mask = np.zeros(photo.shape[:2], np.float32)
    mask[:, : photo.shape[1] // 2] = 1
    return first, np.ascontiguousarray(1 - first[:, ::-1]), mask


EXAMPLES = [Example("pyramid_blend", pipeline, pyramid_blend, with_mirror)]

if __name__ == "__main__":
    main(EXAMPLES)
