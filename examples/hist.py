"""Histogram equalisation of the luminance of an RGB picture of bytes (Halide's apps/hist)."""

from _run import Example, main

import tilefuse as hl


def hist(image, hl=hl):
    """Equalise the luminance histogram of `image` (x, y, channel) of u8; the output has its size."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")

    Y = hl.Func("Y")
    Y[x, y] = hl.f32(0.299) * image[x, y, 0] + hl.f32(0.587) * image[x, y, 1] + hl.f32(0.114) * image[x, y, 2]
    Cr, Cb = hl.Func("Cr"), hl.Func("Cb")
    Cr[x, y] = (image[x, y, 0] - Y[x, y]) * hl.f32(0.713) + 128
    Cb[x, y] = (image[x, y, 2] - Y[x, y]) * hl.f32(0.564) + 128

    def level(luminance):
        return hl.clamp(luminance, 0.0, 255.0)

    rx = hl.RDom([(0, image.width())])
    hist_rows = hl.Func("hist_rows")
    hist_rows[x, y] = 0
    hist_rows[hl.i32(level(Y[rx.x, y])), y] += 1

    ry = hl.RDom([(0, image.height())])
    histogram = hl.Func("histogram")
    histogram[x] = 0
    histogram[x] += hist_rows[x, ry.x]

    b = hl.RDom([(1, 255)])
    cdf = hl.Func("cdf")
    cdf[x] = histogram[0]
    cdf[b.x] = cdf[b.x - 1] + histogram[b.x]

    equalized = hl.Func("equalized")
    share = hl.f32(255) / (image.height() * image.width())
    equalized[x, y] = level(cdf[hl.i32(hl.u8(level(Y[x, y])))] * share)

    e, cr, cb = equalized[x, y], Cr[x, y] - 128, Cb[x, y] - 128
    red = hl.u8(level(e + cr * hl.f32(1.4)))
    green = hl.u8(level(e - hl.f32(0.343) * cb - hl.f32(0.711) * cr))
    blue = hl.u8(level(e + hl.f32(1.765) * cb))
    output = hl.Func("hist")
    output[x, y, c] = hl.select(c == 0, red, c == 1, green, blue)
    output.bound(c, 0, 3)
    return output


def pipeline() -> hl.Pipeline:
    """Return the equalisation of a picture (x, y, channel) of u8."""
    return hl.Pipeline(hist(hl.ImageParam(hl.UInt(8), 3, "image")))


EXAMPLES = [Example("hist", pipeline, hist, lambda photo: photo)]

if __name__ == "__main__":
    main(EXAMPLES)
