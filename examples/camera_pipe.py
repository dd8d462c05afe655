"""Camera pipeline: a raw Bayer mosaic of 10 bits to RGB bytes (Halide's apps/camera_pipe)."""

import numpy as np
from _run import Example, main

import tilefuse as hl

FLOATS = {"color_temp": 3700.0, "gamma": 2.0, "contrast": 50.0, "sharpen_strength": 1.0}
INTEGERS = {"black_level": 25, "white_level": 1023}
"""The parameters, and what they are where a call does not give them."""
MATRIX_3200 = [
    [1.6697, -0.2693, -0.4004, -42.4346],
    [-0.3576, 1.0615, 1.5949, -37.1158],
    [-0.2175, -1.8751, 6.9640, -26.6970],
]
MATRIX_7000 = [
    [2.2997, -0.4478, 0.1706, -39.0923],
    [-0.3826, 1.5906, -0.2080, -25.4311],
    [-0.0888, -0.7344, 2.2832, -20.0826],
]
"""Colours of the sensor to colours of a screen, by light of 3200 and of 7000 kelvin; the last column is added."""


class Demosaic:
    """Interpolation of red, green and blue at every pixel, along the direction of least change."""

    def __init__(self, deinterleaved, hl):
        self.hl = hl
        self.x, self.y = hl.Var("x"), hl.Var("y")
        sites = {"g_gr": 0, "r_r": 1, "b_b": 2, "g_gb": 3}
        for name, channel in sites.items():
            setattr(self, name, self._func(name, deinterleaved[self.x, self.y, channel]))

    def _func(self, name, value):
        func = self.hl.Func(name)
        func[self.x, self.y] = value
        return func

    def _mean(self, a, b):
        return mean(a, b, self.hl.Int(16), self.hl)

    def _corrected(self, green, before, behind, first, second):
        """Return the mean of two samples of a colour, corrected by the error of such a mean of green."""
        return green - self._mean(before, behind) + self._mean(first, second)

    def _smoother(self, name, one, other):
        """Select the value whose two samples differ less, the second one if both differ equally."""
        absd, (a, *pair), (b, *others) = self.hl.absd, one, other
        return self._func(name, self.hl.select(absd(*pair) < absd(*others), a, b))

    def _greens(self):
        x, y, gr, gb = self.x, self.y, self.g_gr, self.g_gb
        for name, across, along in (
            ("g_r", (gr[x + 1, y], gr[x, y]), (gb[x, y - 1], gb[x, y])),
            ("g_b", (gb[x - 1, y], gb[x, y]), (gr[x, y + 1], gr[x, y])),
        ):
            pairs = [(self._mean(*pair), *pair) for pair in (across, along)]
            setattr(self, name, self._smoother(name, *pairs))

    def _at_green(self, name, green, guide, color, dx, dy):
        """Interpolate red or blue at a green site, between the site's neighbours at (0, 0) and (dx, dy)."""
        x, y = self.x, self.y
        here, there = (x, y), (x + dx, y + dy)
        value = self._corrected(green[x, y], guide[here], guide[there], color[here], color[there])
        return self._func(name, value)

    def _across(self, name, green, guide, color, diagonals):
        """Interpolate red at a blue site, or blue at a red site, along the better of two diagonals."""
        x, y = self.x, self.y
        choices = []
        for (ax, ay), (bx, by) in diagonals:
            first, second = (x + ax, y + ay), (x + bx, y + by)
            value = self._corrected(green[x, y], guide[first], guide[second], color[first], color[second])
            choices.append((value, color[first], color[second]))
        return self._smoother(name, *choices)

    def _interleaved(self, name, top, bottom):
        """Interleave four pictures of the pixels at even and odd positions to one picture."""
        x, y, select = self.x, self.y, self.hl.select
        rows = [
            self._func(f"{name}_{row}", select(x % 2 == 0, even[x // 2, y], odd[x // 2, y]))
            for row, (even, odd) in (("top", top), ("bottom", bottom))
        ]
        return self._func(name, select(y % 2 == 0, rows[0][x, y // 2], rows[1][x, y // 2]))

    def colors(self):
        """Return red, green and blue."""
        self._greens()
        r, b, gr, gb, g_r, g_b = self.r_r, self.b_b, self.g_gr, self.g_gb, self.g_r, self.g_b
        r_gr, b_gr = self._at_green("r_gr", gr, g_r, r, -1, 0), self._at_green("b_gr", gr, g_b, b, 0, -1)
        r_gb, b_gb = self._at_green("r_gb", gb, g_r, r, 0, 1), self._at_green("b_gb", gb, g_b, b, 1, 0)
        r_b = self._across("r_b", g_b, g_r, r, [((0, 0), (-1, 1)), ((-1, 0), (0, 1))])
        b_r = self._across("b_r", g_r, g_b, b, [((0, 0), (1, -1)), ((1, 0), (0, -1))])
        return (
            self._interleaved("r", (r_gr, r), (r_b, r_gb)),
            self._interleaved("g", (gr, g_r), (g_b, gb)),
            self._interleaved("b", (b_gr, b_r), (b, b_gb)),
        )


def mean(a, b, narrow, hl):
    """Return the mean of two numbers of type `narrow`, rounded up."""
    wide = narrow.with_bits(2 * narrow.bits())
    return hl.cast(narrow, (hl.cast(wide, a) + b + 1) / 2)


def color_corrected(f, matrix_3200, matrix_7000, color_temp, hl):
    """Multiply `f` (x, y, channel) by a matrix, interpolated by colour temperature; fixed point of 8.8 bits."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    alpha = (1.0 / color_temp - hl.f32(1 / 3200)) / hl.f32(1 / 7000 - 1 / 3200)
    matrix = hl.Func("matrix")
    matrix[x, y] = hl.i16((matrix_3200[x, y] * alpha + matrix_7000[x, y] * (1.0 - alpha)) * 256.0)
    pixel = [hl.i32(f[x, y, channel]) for channel in range(3)]

    def color(row):
        terms = [hl.i32(matrix[i, row]) * pixel[i] for i in range(3)]
        return hl.i16((hl.i32(matrix[3, row]) + terms[0] + terms[1] + terms[2]) / 256)

    corrected = hl.Func("corrected")
    corrected[x, y, c] = hl.select(c == 0, color(0), c == 1, color(1), color(2))
    return corrected


def curved(f, given, hl):
    """Apply a curve of gamma and contrast to `f` (x, y, channel); return bytes."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    black, white = given["black_level"], given["white_level"]
    b = 2.0 - hl.pow(2.0, given["contrast"] / 100.0)
    a = 2.0 - 2.0 * b
    linear = hl.clamp(hl.f32(x - black) * (1.0 / (white - black)), 0.0, 1.0)
    g = hl.pow(linear, 1.0 / given["gamma"])
    z = hl.select(g > 0.5, 1.0 - (a * (1.0 - g) * (1.0 - g) + b * (1.0 - g)), a * g * g + b * g)
    value = hl.u8(hl.clamp(z * 255.0 + 0.5, 0.0, 255.0))
    curve, output = hl.Func("curve"), hl.Func("curved")
    curve[x] = hl.select(x <= black, hl.u8(0), x > white, hl.u8(255), value)
    output[x, y, c] = curve[hl.clamp(hl.i32(f[x, y, c]), 0, 1023)]
    return output


def sharpened(f, strength, hl):
    """Add to `f` (x, y, channel) the details that its blur loses; the strength has fixed point of 3.5 bits."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    strength_x32 = hl.Func("strength_x32")
    strength_x32[()] = hl.u8_sat(strength * 32)

    def blur(before, here, behind):
        byte = hl.UInt(8)
        return mean(mean(before, behind, byte, hl), here, byte, hl)

    unsharp_y, unsharp, mask = hl.Func("unsharp_y"), hl.Func("unsharp"), hl.Func("mask")
    unsharp_y[x, y, c] = blur(f[x, y - 1, c], f[x, y, c], f[x, y + 1, c])
    unsharp[x, y, c] = blur(unsharp_y[x - 1, y, c], unsharp_y[x, y, c], unsharp_y[x + 1, y, c])
    mask[x, y, c] = hl.i16(f[x, y, c]) - hl.i16(unsharp[x, y, c])
    output = hl.Func("camera_pipe")
    output[x, y, c] = hl.u8_sat(f[x, y, c] + mask[x, y, c] * strength_x32[()] / 32)
    return output


def camera_pipe(raw, matrix_3200, matrix_7000, hl=hl):
    """Return RGB bytes (x, y, channel) of `raw` (x, y) of u16, which is 32 wider and 24 higher.

    The two matrices are (column, row) of f32.
    """
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    given = {name: hl.Param(hl.Float(32), name, value) for name, value in FLOATS.items()}
    given |= {name: hl.Param(hl.Int(32), name, value) for name, value in INTEGERS.items()}
    shifted, denoised = hl.Func("shifted"), hl.Func("denoised")
    shifted[x, y] = hl.i16(raw[x + 16, y + 12])
    around = [shifted[x - 2, y], shifted[x + 2, y], shifted[x, y - 2], shifted[x, y + 2]]
    highest = hl.max(hl.max(around[0], around[1]), hl.max(around[2], around[3]))
    denoised[x, y] = hl.clamp(shifted[x, y], hl.i16(0), highest)

    deinterleaved, demosaiced = hl.Func("deinterleaved"), hl.Func("demosaiced")
    sites = [denoised[2 * x + i, 2 * y + j] for j in range(2) for i in range(2)]
    deinterleaved[x, y, c] = hl.select(c == 0, sites[0], c == 1, sites[1], c == 2, sites[2], hl.Expr(sites[3]))
    red, green, blue = (color[x, y] for color in Demosaic(deinterleaved, hl).colors())
    demosaiced[x, y, c] = hl.select(c == 0, red, c == 1, green, hl.Expr(blue))

    corrected = color_corrected(demosaiced, matrix_3200, matrix_7000, given["color_temp"], hl)
    output = sharpened(curved(corrected, given, hl), given["sharpen_strength"], hl)
    output.bound(output.args()[2], 0, 3)
    return output


def pipeline() -> hl.Pipeline:
    """Return the camera pipeline of a raw picture (x, y) of u16."""
    raw = hl.ImageParam(hl.UInt(16), 2, "raw")
    matrices = [hl.ImageParam(hl.Float(32), 2, name) for name in ("matrix_3200", "matrix_7000")]
    return hl.Pipeline(camera_pipe(raw, *matrices))


def mosaic(photo: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Simulate the sensor for a photograph, linear with 10 bits: rows of green and red, then blue and green."""
    matrices = np.array(MATRIX_3200), np.array(MATRIX_7000)
    alpha = (1 / FLOATS["color_temp"] - 1 / 3200) / (1 / 7000 - 1 / 3200)
    matrix = matrices[0] * alpha + matrices[1] * (1 - alpha)
    black, white = INTEGERS.values()
    screen = black + (photo.astype(np.float64) / 255) ** FLOATS["gamma"] * (white - black) * 0.6
    light = ((screen - matrix[:, 3]) @ np.linalg.inv(matrix[:, :3]).T).clip(0, white)
    raw = light[:, :, 1].copy()
    raw[0::2, 1::2], raw[1::2, 0::2] = light[0::2, 1::2, 0], light[1::2, 0::2, 2]
    return raw.astype(np.uint16), matrices[0].astype(np.float32), matrices[1].astype(np.float32)


EXAMPLES = [
    Example(
        "camera_pipe",
        pipeline,
        camera_pipe,
        mosaic,
        show=lambda _, out: np.moveaxis(out, 0, -1),
        box=lambda shape: {"sizes": (shape[1] - 32, shape[0] - 24, 3), "mins": {"camera_pipe": (0, 0, 0)}},
    )
]

if __name__ == "__main__":
    main(EXAMPLES)
