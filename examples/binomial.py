"""A blur with the binomial weights 1 4 6 4 1 in x and y, for u8 pixels, in 16-bit integers."""

from _run import Example, as_bytes, gray_floats, main

import tilefuse as hl


def binomial(image, hl=hl):
    """Return the rounded weighted mean of 5x5 pixels of `image` (x, y) of u8, with repeated edges; the output has its
    size."""
    x, y = hl.Var("x"), hl.Var("y")
    bounded = hl.BoundaryConditions.repeat_edge(image)
    wide = hl.UInt(16)

    def weighted(a, b, c, d, e):
        return a + e + 4 * (b + d) + 6 * c

    # 255 * 16 * 16 + 128 is below 2^16
    rows, blurred = hl.Func("rows"), hl.Func("blurred")
    rows[x, y] = weighted(*(hl.cast(wide, bounded[x + i, y]) for i in range(-2, 3)))
    blurred[x, y] = hl.cast(hl.UInt(8), (weighted(*(rows[x, y + i] for i in range(-2, 3))) + 128) >> 8)
    return blurred


def pipeline() -> hl.Pipeline:
    """Return the blur of a picture (x, y) of u8."""
    return hl.Pipeline(binomial(hl.ImageParam(hl.UInt(8), 2, "image")))


EXAMPLES = [Example("binomial", pipeline, binomial, lambda photo: as_bytes(gray_floats(photo)))]

if __name__ == "__main__":
    main(EXAMPLES)
