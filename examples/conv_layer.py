"""A convolution layer: 3x3 points, 128 to 128 channels, ReLU (Halide's apps/conv_layer)."""

import numpy as np
from _run import Example, main

import tilefuse as hl

CHANNELS = 128
SIZES = (128, 100, 80, 5)
"""Of the output: channels, width, height, batch."""


def conv_layer(image, filters, bias, hl=hl, channels=CHANNELS, sizes=SIZES):
    """Return (channel, x, y, batch) of f32, 2 smaller in x and y than `image`; `filters` is (output, x, y, input)."""
    c, x, y, n = hl.Var("c"), hl.Var("x"), hl.Var("y"), hl.Var("n")
    r = hl.RDom([(0, channels), (0, 3), (0, 3)])
    conv, output = hl.Func("conv"), hl.Func("conv_layer")
    conv[c, x, y, n] = bias[c]
    conv[c, x, y, n] += filters[c, r.y, r.z, r.x] * image[r.x, x + r.y, y + r.z, n]
    output[c, x, y, n] = hl.max(0.0, conv[c, x, y, n])
    for dimension, extent in zip((c, x, y, n), sizes, strict=True):
        output.bound(dimension, 0, extent)
    return output


def pipeline(channels: int = CHANNELS, sizes: tuple[int, ...] = SIZES) -> hl.Pipeline:
    """Return the layer for `channels` input channels and an output of `sizes`."""
    image, filters = hl.ImageParam(hl.Float(32), 4, "image"), hl.ImageParam(hl.Float(32), 4, "filters")
    bias = hl.ImageParam(hl.Float(32), 1, "bias")
    return hl.Pipeline(conv_layer(image, filters, bias, channels=channels, sizes=sizes))


def channels_of(photo: np.ndarray, shape: tuple[int, int, int, int]) -> np.ndarray:
    """Return [batch, y, x, channel]: pieces of the photograph; each channel mixes the colours at random."""
    n, height, width, channels = shape
    mix = np.random.default_rng(0).normal(0, 1, (3, channels)).astype(np.float32)
    rows = np.arange(n * height).reshape(n, height) % photo.shape[0]
    columns = np.arange(width) % photo.shape[1]
    pieces = photo[rows[:, :, None], columns].astype(np.float32) / np.float32(255)
    return np.ascontiguousarray(pieces @ mix)


def layer(photo: np.ndarray, channels: int = CHANNELS, sizes: tuple[int, ...] = SIZES) -> tuple[np.ndarray, ...]:
    """Return the input, filters with random weights, and a bias."""
    random = np.random.default_rng(1)
    outputs, width, height, batch = sizes
    filters = random.normal(0, (9 * channels) ** -0.5, (channels, 3, 3, outputs)).astype(np.float32)
    image = channels_of(photo, (batch, height + 2, width + 2, channels))
    return image, filters, random.normal(0, 0.1, outputs).astype(np.float32)


def first_channels(_: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return the first three channels of the first picture as colours."""
    return out[0, :, :, :3] / max(out[0, :, :, :3].max(), 1e-6)


EXAMPLES = [Example("conv_layer", pipeline, conv_layer, layer, show=first_channels)]

if __name__ == "__main__":
    main(EXAMPLES)
