"""Harris corners of an RGB picture (Halide's apps/harris): `make demo` runs this."""

import numpy as np
from _run import Example, main, rgb_floats

import tilefuse as hl


def sum3x3(f, x, y):
    """Return the sum of f over the 3x3 points around (x, y)."""
    return (
        f[x - 1, y - 1] + f[x - 1, y] + f[x - 1, y + 1]
        + f[x, y - 1] + f[x, y] + f[x, y + 1]
        + f[x + 1, y - 1] + f[x + 1, y] + f[x + 1, y + 1]
    )  # fmt: skip


def harris(image, hl=hl):
    """Return the corner response of `image` (x, y, channel), f32; the output is 4 smaller in x and y."""
    x, y = hl.Var("x"), hl.Var("y")

    gray = hl.Func("gray")
    gray[x, y] = hl.f32(0.299) * image[x, y, 0] + hl.f32(0.587) * image[x, y, 1] + hl.f32(0.114) * image[x, y, 2]

    Iy = hl.Func("Iy")
    Iy[x, y] = (
        gray[x - 1, y - 1] * hl.f32(-1 / 12) + gray[x - 1, y + 1] * hl.f32(1 / 12)
        + gray[x, y - 1] * hl.f32(-2 / 12) + gray[x, y + 1] * hl.f32(2 / 12)
        + gray[x + 1, y - 1] * hl.f32(-1 / 12) + gray[x + 1, y + 1] * hl.f32(1 / 12)
    )  # fmt: skip
    Ix = hl.Func("Ix")
    Ix[x, y] = (
        gray[x - 1, y - 1] * hl.f32(-1 / 12) + gray[x + 1, y - 1] * hl.f32(1 / 12)
        + gray[x - 1, y] * hl.f32(-2 / 12) + gray[x + 1, y] * hl.f32(2 / 12)
        + gray[x - 1, y + 1] * hl.f32(-1 / 12) + gray[x + 1, y + 1] * hl.f32(1 / 12)
    )  # fmt: skip

    Ixx, Iyy, Ixy = hl.Func("Ixx"), hl.Func("Iyy"), hl.Func("Ixy")
    Ixx[x, y] = Ix[x, y] * Ix[x, y]
    Iyy[x, y] = Iy[x, y] * Iy[x, y]
    Ixy[x, y] = Ix[x, y] * Iy[x, y]

    Sxx, Syy, Sxy = hl.Func("Sxx"), hl.Func("Syy"), hl.Func("Sxy")
    Sxx[x, y] = sum3x3(Ixx, x, y)
    Syy[x, y] = sum3x3(Iyy, x, y)
    Sxy[x, y] = sum3x3(Ixy, x, y)

    det, trace = hl.Func("det"), hl.Func("trace")
    det[x, y] = Sxx[x, y] * Syy[x, y] - Sxy[x, y] * Sxy[x, y]
    trace[x, y] = Sxx[x, y] + Syy[x, y]

    response, output = hl.Func("response"), hl.Func("harris")
    response[x, y] = det[x, y] - hl.f32(0.04) * trace[x, y] * trace[x, y]
    output[x, y] = response[x + 2, y + 2]
    return output


def pipeline() -> hl.Pipeline:
    """Return the Harris corner pipeline of a picture (x, y, channel) of f32."""
    return hl.Pipeline(harris(hl.ImageParam(hl.Float(32), 3, "image")))


def corners(photo: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Return the photograph, darker, with its corners in red."""
    picture = photo[2:-2, 2:-2] * 0.6
    picture[response > 0.01 * response.max()] = (1, 0.1, 0.1)
    return picture


EXAMPLES = [Example("harris", pipeline, harris, rgb_floats, show=corners)]

if __name__ == "__main__":
    main(EXAMPLES)
