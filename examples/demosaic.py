"""Demosaicing of a raw Bayer picture by a convolutional network (the structure of Gharbi et al., 2016)."""

import numpy as np
from _run import Example, main, rgb_floats

import tilefuse as hl

DEPTH, WIDTH = 15, 64
"""Layers at half the size, and channels of each."""


def demosaic(raw, first, layers, last, final, output_weights, hl=hl, depth=DEPTH, width=WIDTH):
    """Return red, green and blue (x, y, channel) of `raw` (x, y): rows of green and red, then of blue and green; all of
    f32.

    Weights of 3 x 3 points are (output, x, y, input): `first` of 4 to `width` channels, `layers`, (.., layer), of the
    layers between, `last` to 12 channels, `final` of 6 to `width`; `output_weights` (output, input) mix `width` to 3.
    In each, one input more than there are channels is the bias.
    """
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    bounded = hl.BoundaryConditions.mirror_interior(raw)

    def layer(name, f, inputs, weight):
        """Convolve all channels by 3 x 3 points, add a bias, apply ReLU."""
        total, output = hl.Func(f"{name}_sum"), hl.Func(name)
        r = hl.RDom([(0, 3), (0, 3), (0, inputs)])
        total[x, y, c] = weight(c, 1, 1, inputs)
        total[x, y, c] += weight(c, r.x, r.y, r.z) * f[x + r.x - 1, y + r.y - 1, r.z]
        output[x, y, c] = hl.max(total[x, y, c], 0.0)
        return output

    packed = hl.Func("packed")
    packed[x, y, c] = bounded[2 * x + c % 2, 2 * y + c // 2]
    f = layer("layer_1", packed, 4, lambda k, i, j, n: first[k, i, j, n])
    for d in range(2, depth):
        f = layer(f"layer_{d}", f, width, lambda k, i, j, n, d=d: layers[k, i, j, n, d - 2])
    f = layer(f"layer_{depth}", f, width, lambda k, i, j, n: last[k, i, j, n])

    # Four channels at half the size are one at full size; beside them the raw pixels, zero where the colour is unknown.
    green, red, blue = (x + y) % 2 == 0, (x % 2 == 1) & (y % 2 == 0), (x % 2 == 0) & (y % 2 == 1)
    known = hl.select(c == 3, red, c == 4, green, blue)
    features = hl.Func("features")
    site = hl.clamp(4 * c + x % 2 + 2 * (y % 2), 0, 11)
    features[x, y, c] = hl.select(c < 3, f[x // 2, y // 2, site], known, bounded[x, y], 0.0)
    full = layer("full", features, 6, lambda k, i, j, n: final[k, i, j, n])

    r = hl.RDom([(0, width)])
    output = hl.Func("demosaic")
    output[x, y, c] = output_weights[c, width]
    output[x, y, c] += output_weights[c, r.x] * full[x, y, r.x]
    output.bound(c, 0, 3)
    return output


def pipeline(depth: int = DEPTH, width: int = WIDTH) -> hl.Pipeline:
    """Return the network for a raw picture (x, y) of f32."""
    ranks = {"raw": 2, "first": 4, "layers": 5, "last": 4, "final": 4, "output_weights": 2}
    inputs = [hl.ImageParam(hl.Float(32), rank, name) for name, rank in ranks.items()]
    return hl.Pipeline(demosaic(*inputs, depth=depth, width=width))


def weights(depth: int = DEPTH, width: int = WIDTH) -> tuple[np.ndarray, ...]:
    """Return harmless random weights: three channels of the last layer interpolate the raw pixels.

    The published weights belong to others; these make the same work and a picture that can be looked at.
    """
    random = np.random.default_rng(0)

    def drawn(*shape: int, scale: float) -> np.ndarray:
        return random.normal(0, scale, shape).astype(np.float32)

    deep = (2 / (9 * width)) ** 0.5
    first, last = drawn(5, 3, 3, width, scale=0.2), drawn(width + 1, 3, 3, 12, scale=deep * 0.1)
    layers, final = drawn(depth - 2, width + 1, 3, 3, width, scale=deep), drawn(7, 3, 3, width, scale=0.1)
    cross, square = np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 4, np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4
    output_weights = drawn(width + 1, 3, scale=0.002)
    final[:, :, :, :3] = 0
    for channel, kernel in enumerate((square, cross, square)):
        final[3 + channel, :, :, channel] = kernel
        output_weights[: width + 1, channel][:3] = 0
        output_weights[channel, channel] = 1
    return first, layers, last, final, output_weights


def mosaic(photo: np.ndarray, depth: int = DEPTH, width: int = WIDTH) -> tuple[np.ndarray, ...]:
    """Return one colour of each pixel of the photograph, and the weights."""
    light = rgb_floats(photo)
    raw = light[:, :, 1].copy()
    raw[0::2, 1::2], raw[1::2, 0::2] = light[0::2, 1::2, 0], light[1::2, 0::2, 2]
    return raw, *weights(depth, width)


EXAMPLES = [
    Example(
        "demosaic",
        pipeline,
        demosaic,
        mosaic,
        show=lambda _, out: np.moveaxis(out, 0, -1),
        box=lambda shape: {"sizes": (shape[1], shape[0], 3)},
    )
]

if __name__ == "__main__":
    main(EXAMPLES)
