"""The product of two square matrices of f32 (Halide's apps/cuda_mat_mul)."""

import numpy as np
from _run import Example, gray_floats, main

import tilefuse as hl

SIZE = 1024


def mat_mul(a, b, hl=hl, size=SIZE):
    """Sum a(x, r) * b(r, y) over r in order: with x as column, the matrix product b a."""
    x, y = hl.Var("x"), hl.Var("y")
    r = hl.RDom([(0, size)])
    product, output = hl.Func("product"), hl.Func("mat_mul")
    product[x, y] = 0.0
    product[x, y] += a[x, r.x] * b[r.x, y]
    output[x, y] = product[x, y]
    output.bound(x, 0, size).bound(y, 0, size)
    return output


def pipeline(size: int = SIZE) -> hl.Pipeline:
    """Return the product of two matrices of `size` rows and columns."""
    a, b = hl.ImageParam(hl.Float(32), 2, "a"), hl.ImageParam(hl.Float(32), 2, "b")
    return hl.Pipeline(mat_mul(a, b, size=size))


def matrices(photo: np.ndarray, size: int = SIZE) -> tuple[np.ndarray, np.ndarray]:
    """Return a blur along the columns as a matrix, and a photograph repeated until it is large enough."""
    gray = gray_floats(photo)
    times = [-(-size // n) for n in gray.shape]
    picture = np.tile(gray, times)[:size, :size]
    distance = np.arange(size)[:, None] - np.arange(size)
    # nothing beyond six sigma: there the weights would soon be denormal, which processors take many times as long for
    weights = np.where(abs(distance) <= 36, np.exp(-0.5 * (distance / 6.0) ** 2), 0)
    blur = weights / weights.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(picture), blur.astype(np.float32)


EXAMPLES = [Example("mat_mul", pipeline, mat_mul, matrices)]

if __name__ == "__main__":
    main(EXAMPLES)
