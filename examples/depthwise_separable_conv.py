"""Depthwise separable convolution with ReLU (Halide's apps/depthwise_separable_conv)."""

import numpy as np
from _run import Example, main
from conv_layer import channels_of, first_channels

import tilefuse as hl

CHANNELS, OUTPUTS = 32, 16
SHAPE = (4, 112, 112, CHANNELS)
"""[batch, y, x, channel] of the input: the second layer of MobileNet v2."""


def depthwise_separable_conv(image, depthwise, pointwise, bias, hl=hl, multiplier=1, channels=CHANNELS, size=3):
    """Return (channel, x, y, batch) of f32, of the size of `image`, with zeros outside.

    `depthwise` is (multiplier, input channel, x, y) and `pointwise` (output channel, multiplier * input channel).
    """
    d, x, y, b = hl.Var("d"), hl.Var("x"), hl.Var("y"), hl.Var("b")
    width, height = image.dim(1).extent(), image.dim(2).extent()
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    bounded = hl.Func("bounded")
    near = image[d, hl.clamp(x, 0, width - 1), hl.clamp(y, 0, height - 1), b]
    bounded[d, x, y, b] = hl.select(inside, near, 0.0)

    r = hl.RDom([(0, multiplier), (0, size), (0, size)])
    by_channel = hl.Func("by_channel")
    moved = bounded[d // multiplier, x + r.y - size // 2, y + r.z - size // 2, b]
    by_channel[d, x, y, b] = 0.0
    by_channel[d, x, y, b] += depthwise[r.x, d, r.y, r.z] * moved

    rc = hl.RDom([(0, multiplier * channels)])
    mixed = hl.Func("mixed")
    mixed[d, x, y, b] = bias[d]
    mixed[d, x, y, b] += pointwise[d, rc.x] * by_channel[rc.x, x, y, b]

    output = hl.Func("depthwise_separable_conv")
    output[d, x, y, b] = hl.max(mixed[d, x, y, b], 0.0)
    return output


def pipeline(channels: int = CHANNELS) -> hl.Pipeline:
    """Return the two convolutions of `channels` input channels."""
    image, depthwise = hl.ImageParam(hl.Float(32), 4, "image"), hl.ImageParam(hl.Float(32), 4, "depthwise")
    pointwise, bias = hl.ImageParam(hl.Float(32), 2, "pointwise"), hl.ImageParam(hl.Float(32), 1, "bias")
    return hl.Pipeline(depthwise_separable_conv(image, depthwise, pointwise, bias, channels=channels))


def layer(
    photo: np.ndarray, shape: tuple[int, int, int, int] = SHAPE, outputs: int = OUTPUTS
) -> tuple[np.ndarray, ...]:
    """Return the input, random weights for each of the two convolutions, and a bias."""
    random = np.random.default_rng(1)
    channels = shape[3]
    depthwise = random.normal(0, 1 / 3, (3, 3, channels, 1)).astype(np.float32)
    pointwise = random.normal(0, 1 / channels**0.5, (channels, outputs)).astype(np.float32)
    return channels_of(photo, shape), depthwise, pointwise, random.normal(0, 0.1, outputs).astype(np.float32)


EXAMPLES = [
    Example("depthwise_separable_conv", pipeline, depthwise_separable_conv, layer, show=first_channels),
]

if __name__ == "__main__":
    main(EXAMPLES)
