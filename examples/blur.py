"""3x3 box blur in two passes, for f32, u8 or u16 pixels (Halide's apps/blur)."""

from _run import Example, as_bytes, gray_floats, main

import tilefuse as hl


def blur(image, hl=hl):
    """Return the mean of 3x3 pixels, in the type of `image` (x, y); the output is 2 smaller in x and y.

    u16 sums are u16, as in Halide's app: three pixels must stay below 65536. u8 sums are u16.
    """
    x, y = hl.Var("x"), hl.Var("y")
    pixel = image.type()

    def mean(a, b, c):
        if pixel.is_float():
            return (a + b + c) * hl.f32(1 / 3)
        if pixel.bits() == 8:
            return hl.cast(pixel, (hl.cast(hl.UInt(16), a) + b + c) / 3)
        return (a + b + c) / 3

    blur_x, blur_y = hl.Func("blur_x"), hl.Func("blur_y")
    blur_x[x, y] = mean(image[x, y], image[x + 1, y], image[x + 2, y])
    blur_y[x, y] = mean(blur_x[x, y], blur_x[x, y + 1], blur_x[x, y + 2])
    return blur_y


def pipeline(pixel: hl.Type = hl.Float(32)) -> hl.Pipeline:
    """Blur of a picture (x, y) of `pixel`."""
    return hl.Pipeline(blur(hl.ImageParam(pixel, 2, "image")))


def _u16(photo):
    return as_bytes(gray_floats(photo)).astype("uint16") * 16  # 12 bits, as cameras give


EXAMPLES = [
    Example("blur_f32", pipeline, blur, gray_floats),
    Example("blur_u8", lambda: pipeline(hl.UInt(8)), blur, lambda photo: as_bytes(gray_floats(photo))),
    Example("blur_u16", lambda: pipeline(hl.UInt(16)), blur, _u16, show=lambda _, out: out / 4095),
]

if __name__ == "__main__":
    main(EXAMPLES)
