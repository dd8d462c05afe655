"""The same pipelines as a user of an array library writes them: slices of whole pictures.

Each function takes a namespace `B` (NumPy or CuPy, or torch) and one planar picture, `[H, W]` or `[C, H, W]`.
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

    def pad_edge(self, x: Array, n: int) -> Array:
        """The last two axes grown by `n` on all sides, with the nearest pixel."""
        return self.module.pad(x, [(0, 0)] * (x.ndim - 2) + [(n, n)] * 2, mode="edge")

    def pad_zero(self, x: Array, n: int) -> Array:
        """The last two axes grown by `n` zeros on all sides."""
        return self.module.pad(x, [(0, 0)] * (x.ndim - 2) + [(n, n)] * 2)

    def constant(self, value: float, like: Array) -> Any:
        """A number of the type of `like`."""
        return like.dtype.type(value)

    def cast(self, x: Array, dtype: str) -> Array:
        """Pixels of another type."""
        return x.astype(dtype)


class TorchNamespace:
    """torch. It has no arithmetic on uint16 on a GPU: such pictures come, and go, as int16."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.sqrt, self.abs, self.where = torch.sqrt, torch.abs, torch.where

    def pad_edge(self, x: Array, n: int) -> Array:
        """As above; by an index where torch has no padding for the type."""
        if x.is_floating_point():
            pad = (n, n, n, n)
            return self.torch.nn.functional.pad(x[None], pad, mode="replicate")[0]
        rows, columns = (self.torch.arange(-n, size + n, device=x.device).clamp(0, size - 1) for size in x.shape[-2:])
        return x[..., rows[:, None], columns[None]]

    def pad_zero(self, x: Array, n: int) -> Array:
        """As above."""
        return self.torch.nn.functional.pad(x, (n, n, n, n))

    def constant(self, value: float, like: Array) -> Any:
        """torch keeps the type of the tensor that a plain number meets."""
        return value

    def cast(self, x: Array, dtype: str) -> Array:
        """Pixels of another type."""
        return x.to(getattr(self.torch, dtype))


def _sum3(x: Array) -> Array:
    rows = x[:, :-2] + x[:, 1:-1] + x[:, 2:]
    return rows[:-2] + rows[1:-1] + rows[2:]


def _mean3(x: Array) -> Array:
    rows = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) * (1 / 3)
    return (rows[:-2] + rows[1:-1] + rows[2:]) * (1 / 3)


def _gray(x: Array) -> Array:
    return GRAY[0] * x[0] + GRAY[1] * x[1] + GRAY[2] * x[2]


def _sobel(g: Array) -> tuple[Array, Array]:
    """Derivatives along x and y, of the interior."""
    above, here, below = g[:-2], g[1:-1], g[2:]
    across = [r[:, 2:] - r[:, :-2] for r in (above, here, below)]
    dx = across[0] + 2 * across[1] + across[2]
    step = below - above
    dy = step[:, :-2] + 2 * step[:, 1:-1] + step[:, 2:]
    return dx, dy


def blur_float(B: Any, x: Array) -> Array:
    """Separable mean of 3x3, of the interior."""
    return _mean3(x)


def blur_integer(B: Any, x: Array) -> Array:
    """As Halide's blur: each of the two passes divides."""
    rows = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) // 3
    return (rows[:-2] + rows[1:-1] + rows[2:]) // 3


def blur_bytes(B: Any, x: Array) -> Array:
    """As `blur_integer`, with sums of 16 bits."""
    return B.cast(blur_integer(B, B.cast(x, "int16")), "uint8")


def binomial(B: Any, x: Array) -> Array:
    """5-tap binomial weights in x and y, rounded, in integers."""
    x = B.pad_edge(B.cast(x, "int32"), 2)
    rows = x[:, :-4] + x[:, 4:] + 4 * (x[:, 1:-3] + x[:, 3:-1]) + 6 * x[:, 2:-2]
    sums = rows[:-4] + rows[4:] + 4 * (rows[1:-3] + rows[3:-1]) + 6 * rows[2:-2]
    return B.cast((sums + 128) >> 8, "uint8")


def unsharp(B: Any, x: Array) -> Array:
    """Each channel times the sharpened gray over gray; Gaussian of sigma 1.5 and 7 taps."""
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
    """The Harris response of gray, of the interior."""
    dx, dy = _sobel(_gray(x))
    dx, dy = dx * (1 / 12), dy * (1 / 12)
    xx, yy, xy = _sum3(dx * dx), _sum3(dy * dy), _sum3(dx * dy)
    trace = xx + yy
    return xx * yy - xy * xy - 0.04 * trace * trace


def canny(B: Any, x: Array) -> Array:
    """Canny without hysteresis: 0, 0.5 or 1."""
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
    """The mean of 3x3, `times` times, with zeros outside."""

    def run(B: Any, x: Array) -> Array:
        for _ in range(times):
            x = B.pad_zero(x, 1)
            rows = x[:, :-2] + x[:, 1:-1] + x[:, 2:]
            x = (rows[:-2] + rows[1:-1] + rows[2:]) * (1 / 9)
        return x

    return run


def stencil_chain(stages: int) -> Any:
    """`stages` stencils of 5x5 with weights (i+1)(j+1), modulo 2^16; the picture is padded once."""

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
