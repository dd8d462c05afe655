"""Pipelines as users of array libraries write them: slices of whole pictures.

Each function takes a namespace `B` (NumPy or CuPy, or torch) and the arrays that the pipeline takes: most one planar
picture, `[H, W]` or `[C, H, W]`. Layers of networks are `[batch, y, x, channel]`.
"""

from __future__ import annotations

import math
from typing import Any

Array = Any

GRAY = (0.299, 0.587, 0.114)
LOW, HIGH = 0.08, 0.20
TAN_22, TAN_67 = 0.41421356, 2.41421356


class ArrayNamespace:
    """NumPy or CuPy."""

    def __init__(self, module: Any):
        self.module = module
        self.sqrt, self.abs, self.where = module.sqrt, module.abs, module.where
        self.maximum, self.stack = module.maximum, module.stack

    def pad_edge(self, x: Array, n: int) -> Array:
        """Pad the last two axes by `n` on all sides with the nearest pixel."""
        return self.module.pad(x, [(0, 0)] * (x.ndim - 2) + [(n, n)] * 2, mode="edge")

    def pad_mirror(self, x: Array, n: int) -> Array:
        """Pad the last two axes by `n` on all sides by mirroring about the edge pixels."""
        return self.module.pad(x, [(0, 0)] * (x.ndim - 2) + [(n, n)] * 2, mode="reflect")

    def pad_zero(self, x: Array, n: int) -> Array:
        """Pad the last two axes by `n` zeros on all sides."""
        return self.module.pad(x, [(0, 0)] * (x.ndim - 2) + [(n, n)] * 2)

    def constant(self, value: float, like: Array) -> Any:
        """Return a number of the type of `like`."""
        return like.dtype.type(value)

    def cast(self, x: Array, dtype: str) -> Array:
        """Convert pixels to another type."""
        return x.astype(dtype)

    def clip(self, x: Array, low: float, high: float) -> Array:
        """Clip each number to two bounds."""
        return x.clip(low, high)

    def histogram(self, levels: Array) -> Array:
        """Count each of the 256 levels."""
        counts = self.module.zeros(256, "int32")
        self.module.add.at(counts, levels.ravel(), 1)
        return counts

    def running_sum(self, x: Array) -> Array:
        """Return the running sum of a line."""
        return x.cumsum()

    def convolve(self, image: Array, filters: Array) -> Array:
        """Convolve the interior of all channels by `filters` [input, y, x, output]."""
        height, width = image.shape[1] - filters.shape[1] + 1, image.shape[2] - filters.shape[2] + 1
        return sum(
            image[:, j : j + height, i : i + width] @ filters[:, j, i]
            for j in range(filters.shape[1])
            for i in range(filters.shape[2])
        )

    def convolve_each(self, image: Array, filters: Array) -> Array:
        """Convolve each channel by its own one of `filters` [y, x, channel], with zeros outside."""
        size, (height, width) = filters.shape[0], image.shape[1:3]
        margin = [(0, 0), (size // 2,) * 2, (size // 2,) * 2, (0, 0)]
        padded = self.module.pad(image, margin)
        return sum(padded[:, j : j + height, i : i + width] * filters[j, i] for j in range(size) for i in range(size))


class TorchNamespace:
    """The operations on torch. It lacks uint16 arithmetic on GPUs: such pictures are int16."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.sqrt, self.abs, self.where = torch.sqrt, torch.abs, torch.where
        self.maximum, self.stack = torch.maximum, torch.stack

    def pad_edge(self, x: Array, n: int) -> Array:
        """Pad with the nearest pixel; by an index where torch has no padding for the type."""
        if x.is_floating_point():
            pad = (n, n, n, n)
            return self.torch.nn.functional.pad(x[None], pad, mode="replicate")[0]
        rows, columns = (self.torch.arange(-n, size + n, device=x.device).clamp(0, size - 1) for size in x.shape[-2:])
        return x[..., rows[:, None], columns[None]]

    def pad_mirror(self, x: Array, n: int) -> Array:
        """Pad by mirroring."""
        return self.torch.nn.functional.pad(x[None], (n, n, n, n), mode="reflect")[0]

    def pad_zero(self, x: Array, n: int) -> Array:
        """Pad with zeros."""
        return self.torch.nn.functional.pad(x, (n, n, n, n))

    def constant(self, value: float, like: Array) -> Any:
        """Return a number: torch keeps the type of the tensor that a plain number meets."""
        return value

    def cast(self, x: Array, dtype: str) -> Array:
        """Convert pixels to another type."""
        return x.to(getattr(self.torch, dtype))

    def clip(self, x: Array, low: float, high: float) -> Array:
        """Clip each number to two bounds."""
        return x.clamp(low, high)

    def histogram(self, levels: Array) -> Array:
        """Count each of the 256 levels, without synchronising with the GPU."""
        return self.torch.histc(levels.to(self.torch.float32), 256, 0, 256).to(self.torch.int32)

    def running_sum(self, x: Array) -> Array:
        """Return the running sum of a line."""
        return x.cumsum(0)

    def convolve(self, image: Array, filters: Array) -> Array:
        """Convolve all channels by the vendor's library."""
        weights = filters.permute(3, 0, 1, 2)
        return self.torch.nn.functional.conv2d(image.permute(0, 3, 1, 2), weights).permute(0, 2, 3, 1)

    def convolve_each(self, image: Array, filters: Array) -> Array:
        """Convolve each channel by the vendor's library."""
        weights, channels = filters.permute(2, 0, 1)[:, None], image.shape[3]
        convolved = self.torch.nn.functional.conv2d(
            image.permute(0, 3, 1, 2), weights, padding=filters.shape[0] // 2, groups=channels
        )
        return convolved.permute(0, 2, 3, 1)


def _sum3(x: Array) -> Array:
    rows = x[:, :-2] + x[:, 1:-1] + x[:, 2:]
    return rows[:-2] + rows[1:-1] + rows[2:]


def _mean3(x: Array) -> Array:
    rows = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) * (1 / 3)
    return (rows[:-2] + rows[1:-1] + rows[2:]) * (1 / 3)


def _gray(x: Array) -> Array:
    return GRAY[0] * x[0] + GRAY[1] * x[1] + GRAY[2] * x[2]


def _sobel(g: Array) -> tuple[Array, Array]:
    """Compute derivatives along x and y, of the interior."""
    above, here, below = g[:-2], g[1:-1], g[2:]
    across = [r[:, 2:] - r[:, :-2] for r in (above, here, below)]
    dx = across[0] + 2 * across[1] + across[2]
    step = below - above
    dy = step[:, :-2] + 2 * step[:, 1:-1] + step[:, 2:]
    return dx, dy


def blur_float(B: Any, x: Array) -> Array:
    """Compute the separable 3x3 mean, of the interior."""
    return _mean3(x)


def blur_integer(B: Any, x: Array) -> Array:
    """Compute Halide's blur: each of the two passes divides."""
    rows = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) // 3
    return (rows[:-2] + rows[1:-1] + rows[2:]) // 3


def blur_bytes(B: Any, x: Array) -> Array:
    """Compute `blur_integer` with 16-bit sums."""
    return B.cast(blur_integer(B, B.cast(x, "int16")), "uint8")


def binomial(B: Any, x: Array) -> Array:
    """Blur by 5-tap binomial weights in x and y, rounded, in integers."""
    x = B.pad_edge(B.cast(x, "int32"), 2)
    rows = x[:, :-4] + x[:, 4:] + 4 * (x[:, 1:-3] + x[:, 3:-1]) + 6 * x[:, 2:-2]
    sums = rows[:-4] + rows[4:] + 4 * (rows[1:-3] + rows[3:-1]) + 6 * rows[2:-2]
    return B.cast((sums + 128) >> 8, "uint8")


def unsharp(B: Any, x: Array) -> Array:
    """Multiply each channel by sharpened gray over gray; Gaussian of sigma 1.5 and 7 taps."""
    k = [math.exp(-i * i / (2 * 1.5 * 1.5)) / (math.sqrt(2 * math.pi) * 1.5) for i in range(4)]
    gray = _gray(x)
    padded = B.pad_edge(gray, 3)
    height, width = gray.shape

    def row(i: int) -> Array:
        return padded[3 + i : 3 + i + height]

    def column(i: int) -> Array:
        return blur_y[:, 3 + i : 3 + i + width]

    blur_y = k[0] * row(0)
    for i in (1, 2, 3):
        blur_y = blur_y + k[i] * (row(-i) + row(i))
    blur = k[0] * column(0)
    for i in (1, 2, 3):
        blur = blur + k[i] * (column(-i) + column(i))
    return ((2 * gray - blur) / gray)[None] * x


def harris(B: Any, x: Array) -> Array:
    """Compute the Harris response of gray, of the interior."""
    dx, dy = _sobel(_gray(x))
    dx, dy = dx * (1 / 12), dy * (1 / 12)
    xx, yy, xy = _sum3(dx * dx), _sum3(dy * dy), _sum3(dx * dy)
    trace = xx + yy
    return xx * yy - xy * xy - 0.04 * trace * trace


def canny(B: Any, x: Array) -> Array:
    """Detect edges (Canny without hysteresis): 0, 0.5 or 1."""
    p = B.pad_edge(x, 4)
    p = (p[:, :-4] + p[:, 4:] + 4 * (p[:, 1:-3] + p[:, 3:-1]) + 6 * p[:, 2:-2]) * (1 / 16)
    p = (p[:-4] + p[4:] + 4 * (p[1:-3] + p[3:-1]) + 6 * p[2:-2]) * (1 / 16)
    dx, dy = _sobel(p)
    magnitude = B.sqrt(dx * dx + dy * dy)
    height, width = magnitude.shape

    def at(y: int, x: int) -> Array:
        return magnitude[1 + y : height - 1 + y, 1 + x : width - 1 + x]

    here, dx, dy = at(0, 0), dx[1:-1, 1:-1], dy[1:-1, 1:-1]
    flat, steep = B.abs(dy) <= TAN_22 * B.abs(dx), B.abs(dy) > TAN_67 * B.abs(dx)
    falling = dx * dy > 0

    def neighbour(sign: int) -> Array:
        diagonal = B.where(falling, at(sign, sign), at(sign, -sign))
        return B.where(flat, at(0, sign), B.where(steep, at(sign, 0), diagonal))

    peak = (here >= neighbour(-1)) & (here >= neighbour(1))
    one, half, zero = (B.constant(v, here) for v in (1.0, 0.5, 0.0))
    return B.where(peak & (here > HIGH), one, B.where(peak & (here > LOW), half, zero))


def box(times: int) -> Any:
    """Return the 3x3 mean, applied `times` times, with zeros outside."""

    def run(B: Any, x: Array) -> Array:
        for _ in range(times):
            x = B.pad_zero(x, 1)
            rows = x[:, :-2] + x[:, 1:-1] + x[:, 2:]
            x = (rows[:-2] + rows[1:-1] + rows[2:]) * (1 / 9)
        return x

    return run


def stencil_chain(stages: int) -> Any:
    """Return `stages` stencils of 5x5 with weights (i+1)(j+1), modulo 2^16; the picture is padded once."""

    def run(B: Any, x: Array) -> Array:
        x = B.pad_edge(x, 2 * stages)
        for _ in range(stages):
            height, width = x.shape[0] - 4, x.shape[1] - 4
            total = None
            for i in range(5):
                for j in range(5):
                    term = x[j : j + height, i : i + width] * ((i + 1) * (j + 1))
                    total = term if total is None else total + term
            x = total
        return x

    return run


def hist(B: Any, x: Array) -> Array:
    """Equalise the histogram of the luminance."""
    red, green, blue = (B.cast(x[i], "float32") for i in range(3))
    luminance = GRAY[0] * red + GRAY[1] * green + GRAY[2] * blue
    cr, cb = (red - luminance) * 0.713, (blue - luminance) * 0.564
    levels = B.cast(B.clip(luminance, 0, 255), "int32")
    share = 255 / (x.shape[1] * x.shape[2])
    table = B.clip(B.cast(B.running_sum(B.histogram(levels)), "float32") * share, 0, 255)
    even = table[levels]
    colours = (even + cr * 1.4, even - 0.343 * cb - 0.711 * cr, even + 1.765 * cb)
    return B.stack([B.cast(B.clip(colour, 0, 255), "uint8") for colour in colours])


def max_filter(radius: int) -> Any:
    """Return the maximum over a disk: columns of 2^t rows by doubling, two of them for each height."""

    def run(B: Any, x: Array) -> Array:
        height, width = x.shape[1:]
        columns = [B.pad_edge(x, radius + 1)]
        for t in range(math.ceil(math.log2(radius))):
            before, step = columns[-1], 1 << t
            columns.append(B.maximum(before[:, :-step], before[:, step:]))
        found, covered = None, {}
        for dx in range(radius + 1):
            half = sum(1 for dy in range(radius + 1) if dx * dx + dy * dy < (radius + 0.25) ** 2)
            if half not in covered:
                t = int(math.log2(2 * half + 1))
                first, last = radius + 1 - half, radius + 2 + half - (1 << t)
                covered[half] = B.maximum(columns[t][:, first : first + height], columns[t][:, last : last + height])
            for i in {-dx, dx}:
                moved = covered[half][:, :, radius + 1 + i : radius + 1 + i + width]
                found = moved if found is None else B.maximum(found, moved)
        return found

    return run


def mat_mul(B: Any, a: Array, b: Array) -> Array:
    """Compute the product of two matrices."""
    return b @ a


def conv_layer(B: Any, image: Array, filters: Array, bias: Array) -> Array:
    """Compute a layer: 3x3 points, all input channels to all output channels, ReLU."""
    return B.clip(B.convolve(image, filters) + bias, 0, math.inf)


def depthwise_separable_conv(B: Any, image: Array, depthwise: Array, pointwise: Array, bias: Array) -> Array:
    """Convolve each channel separately, then mix all channels, ReLU."""
    return B.clip(B.convolve_each(image, depthwise[..., 0]) @ pointwise + bias, 0, math.inf)


def demosaic(
    B: Any, raw: Array, first: Array, layers: Array, last: Array, final: Array, output_weights: Array
) -> Array:
    """Compute the network of the example on a picture that is padded once; each layer is smaller by its filters."""

    def layer(f: Array, weights: Array) -> Array:
        bias = weights[-1, 1, 1]
        return B.clip(B.convolve(f, weights[:-1]) + bias, 0, math.inf)

    depth, (height, width) = len(layers) + 2, raw.shape
    more = 2 * (depth + 1)
    padded = B.pad_mirror(raw[None], more + 2)[0]
    even = padded[2 : 2 + (height + 1) // 2 * 2 + 2 * more, 2 : 2 + (width + 1) // 2 * 2 + 2 * more]
    f = B.stack([even[j::2, i::2] for j in range(2) for i in range(2)], -1)[None]
    for weights in (first, *layers, last):
        f = layer(f, weights)

    # from (y, x, channel, odd y, odd x) to (y, odd y, x, odd x, channel)
    _, h, w, _ = f.shape
    colours = f.reshape(h, w, 3, 2, 2).swapaxes(2, 4).swapaxes(1, 3).swapaxes(2, 3).reshape(2 * h, 2 * w, 3)
    colours = colours[1 : height + 3, 1 : width + 3]
    pixels = padded[more + 1 : more + height + 3, more + 1 : more + width + 3]  # from -1 on
    known = B.stack([pixels * 0] * 3)
    for channel, places in enumerate([[(1, 0)], [(0, 0), (1, 1)], [(0, 1)]]):  # odd x, odd y
        for i, j in places:
            known[channel, 1 - j :: 2, 1 - i :: 2] = pixels[1 - j :: 2, 1 - i :: 2]
    features = B.stack([*(colours[..., c] for c in range(3)), *known], -1)[None]
    found = layer(features, final)[0] @ output_weights[:-1] + output_weights[-1]
    return B.stack([found[..., c] for c in range(3)])
