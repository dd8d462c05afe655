"""A first-order recursive blur, down and up the columns, then along the rows (Halide's apps/iir_blur)."""

from _run import Example, main, rgb_floats

import tilefuse as hl

ALPHA = 0.1
"""The weight of a pixel; the one before it has the rest."""


def iir_blur(image, hl=hl, alpha=ALPHA):
    """Blur `image` (x, y, channel) of f32 by a recursive filter; the output has its size."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    new = hl.f32(alpha)
    old = hl.f32(1) - new

    def blur_columns_and_transpose(source, height):
        blur, transpose = hl.Func("blur"), hl.Func("transpose")
        blur[x, y, c] = hl.undef(hl.Float(32))
        blur[x, 0, c] = source[x, 0, c]
        r = hl.RDom([(1, height - 1)])
        blur[x, r.x, c] = old * blur[x, r.x - 1, c] + new * source[x, r.x, c]
        up = height - r.x - 1
        blur[x, up, c] = old * blur[x, up + 1, c] + new * blur[x, up, c]
        transpose[x, y, c] = blur[y, x, c]
        return transpose

    columns = blur_columns_and_transpose(image, image.height())
    output = blur_columns_and_transpose(columns, image.width())
    output.bound(c, 0, 3)
    return output


def pipeline() -> hl.Pipeline:
    """Return the blur of a picture (x, y, channel) of f32."""
    return hl.Pipeline(iir_blur(hl.ImageParam(hl.Float(32), 3, "image")))


EXAMPLES = [Example("iir_blur", pipeline, iir_blur, rgb_floats)]

if __name__ == "__main__":
    main(EXAMPLES)
