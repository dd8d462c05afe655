"""Eight algorithms with updates on the GPU: device time beside kernels by hand and the bytes moved, as JSON.

python benchmarks/algorithms.py --output algorithms.json [--sizes small] [--only product]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import device
import numpy as np

import tilefuse as hl

SIZES = {"small": (1536, 2560), "large": (8192, 8192)}
MATRICES = {"small": 1024, "large": 4096}
DITHERED = {"small": (384, 256), "large": (384, 256)}
"""Nothing of an error diffusion is parallel: one thread goes over the picture."""
CHECKED = (200, 120)
BY_HAND = {
    "equalised": (11.8, 61.9), "summed_area": (None, 275.0), "product": (55.9, 3102.0),
}  # fmt: skip
"""Microseconds of kernels written by hand on an H200, at the two sizes; of the other algorithms there are none."""
BYTES_PER_US = 4.28e6

x, y, c = hl.vars("x y c")
Made = tuple[hl.Func, list[tuple[type, int]]]


def equalised() -> Made:
    """Histogram, its running sum, and a look-up in that."""
    p, counts, below, out = hl.ImageParam(hl.UInt(8), 2, "p"), hl.Func("counts"), hl.Func("below"), hl.Func("out")
    r, b = hl.RDom(p), hl.RDom([(1, 255)])
    counts[x] = hl.u32(0)
    counts[p[r.x, r.y]] += hl.u32(1)
    below[x] = counts[x]
    below[b] += below[b - 1]
    out[x, y] = hl.u8(hl.f32(below[p[x, y]]) * (hl.f32(255) / hl.f32(p.width() * p.height())))
    return out, [(np.uint8, 2)]


def summed_area() -> Made:
    """Sums of all above and to the left."""
    p, f = hl.ImageParam(hl.Float(32), 2, "p"), hl.Func("f")
    r, q = hl.RDom([(1, p.width() - 1)]), hl.RDom([(1, p.height() - 1)])
    f[x, y] = p[x, y]
    f[r, y] += f[r - 1, y]
    f[x, q] += f[x, q - 1]
    return f, [(np.float32, 2)]


def recursive_blur() -> Made:
    """Down and up again, in the order of the definition."""
    p, f = hl.ImageParam(hl.Float(32), 2, "p"), hl.Func("f")
    n = p.height()
    r = hl.RDom([(1, n - 1)])
    f[x, y] = p[x, y]
    f[x, r] = f[x, r - 1] * hl.f32(0.7) + f[x, r] * hl.f32(0.3)
    up = n - 1 - r
    f[x, up] = f[x, up + 1] * hl.f32(0.7) + f[x, up] * hl.f32(0.3)
    return f, [(np.float32, 2)]


def disk_minimum() -> Made:
    """The least value in a disk of radius 4."""
    p, f = hl.ImageParam(hl.UInt(8), 2, "p"), hl.Func("f")
    edges = hl.BoundaryConditions.repeat_edge(p)
    r = hl.RDom([(-4, 9), (-4, 9)])
    r.where(r.x * r.x + r.y * r.y <= 16)
    f[x, y] = hl.minimum(r, edges[x + r.x, y + r.y])
    return f, [(np.uint8, 2)]


def product() -> Made:
    """Of two square matrices."""
    a, b, f = hl.ImageParam(hl.Float(32), 2, "a"), hl.ImageParam(hl.Float(32), 2, "b"), hl.Func("f")
    r = hl.RDom([(0, a.width())])
    f[x, y] = hl.f32(0)
    f[x, y] += a[r, y] * b[x, r]
    return f, [(np.float32, 2), (np.float32, 2)]


def brightest_channel() -> Made:
    """The first channel of the most light."""
    p, f = hl.ImageParam(hl.UInt(8), 3, "p", layout="planar"), hl.Func("f")
    r = hl.RDom([(0, p.channels())])
    f[x, y] = hl.u8(hl.argmax(r, p[x, y, r])[0])
    return f, [(np.uint8, 3)]


def resized() -> Made:
    """Bilinear, by a factor that is given with each call."""
    p, factor, f = hl.ImageParam(hl.Float(32), 2, "p"), hl.Param(hl.Float(32), "factor", 0.75), hl.Func("f")
    edges = hl.BoundaryConditions.repeat_edge(p)
    at = [(hl.f32(v) + 0.5) / factor - 0.5 for v in (x, y)]
    (i, u), (j, v) = ((hl.i32(hl.floor(a)), a - hl.floor(a)) for a in at)
    rows = [edges[i, j + k] * (1 - u) + edges[i + 1, j + k] * u for k in (0, 1)]
    f[x, y] = rows[0] * (1 - v) + rows[1] * v
    return f, [(np.float32, 2)]


def dithered() -> Made:
    """Floyd and Steinberg's error diffusion."""
    p, g, f = hl.ImageParam(hl.UInt(8), 2, "p"), hl.Func("g"), hl.Func("f")
    dark = hl.BoundaryConditions.constant_exterior(p, hl.u8(0))
    r = hl.RDom(p)
    g[x, y] = (hl.i32(dark[x, y]), 0)
    places = ((-1, 0, 7), (1, -1, 3), (0, -1, 5), (-1, -1, 1))
    spread = [g[r.x + i, r.y + j][1] * n for i, j, n in places]
    value = g[r.x, r.y][0] + (spread[0] + spread[1] + spread[2] + spread[3]) / 16
    dot = hl.select(value > 127, 255, 0)
    g[r.x, r.y] = (dot, value - dot)
    f[x, y] = hl.u8(g[x, y][0])
    return f, [(np.uint8, 2)]


ALGORITHMS: dict[str, Callable[[], Made]] = {
    made.__name__: made
    for made in (
        equalised, summed_area, recursive_blur, disk_minimum, product, brightest_channel, resized, dithered,
    )
}  # fmt: skip


def _sizes(name: str, size: str) -> tuple[int, int]:
    if name == "product":
        return (MATRICES[size], MATRICES[size])
    return DITHERED[size] if name == "dithered" else SIZES[size]


def _pictures(inputs: list[tuple[type, int]], sizes: tuple[int, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    shapes = [(3,) * (rank - 2) + (sizes[1], sizes[0]) for _, rank in inputs]
    return [
        rng.integers(0, 256, shape, np.uint8) if type is np.uint8 else rng.random(shape, np.float32)
        for (type, _), shape in zip(inputs, shapes, strict=True)
    ]


def _result_sizes(name: str, sizes: tuple[int, int]) -> tuple[int, int]:
    return (sizes[0] * 3 // 4, sizes[1] * 3 // 4) if name == "resized" else sizes


def check(name: str) -> float:
    """The largest error of a small picture against the evaluator, relative to the largest value."""
    import cupy

    func, inputs = ALGORITHMS[name]()
    sizes = (CHECKED[0], CHECKED[0]) if name == "product" else CHECKED
    pictures, results = _pictures(inputs, sizes), _result_sizes(name, sizes)
    wanted = hl.Pipeline(func).compile("reference")(*pictures, sizes=results).astype(np.float64)
    found = hl.Pipeline(func).compile("cuda")(*map(cupy.asarray, pictures), sizes=results).get()
    return float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))


def measure(name: str, size: str, repeat: int) -> dict[str, Any]:
    """Time one algorithm."""
    import cupy

    func, inputs = ALGORITHMS[name]()
    sizes = _sizes(name, size)
    sets = device.L2_SETS if size == "small" else 2
    program = hl.Pipeline(func).compile("cuda", extent=sizes)
    given = [[cupy.asarray(a) for a in _pictures(inputs, sizes)] for _ in range(sets)]
    outputs = [program(*arrays, sizes=_result_sizes(name, sizes)) for arrays in given]
    calls = [lambda a=a, o=o: program(*a, out=o) for a, o in zip(given, outputs, strict=True)]
    us = device.cupy_graph_us(calls * (4 if size == "small" and name != "dithered" else 1), repeat)
    moved = sum(a.nbytes for a in given[0]) + outputs[0].nbytes
    found: dict[str, Any] = {"size": sizes, "us": us, "bytes": moved, "times_the_bytes": us / (moved / BYTES_PER_US)}
    if name in BY_HAND and (hand := BY_HAND[name][size == "large"]) is not None:
        found |= {"by_hand_us": hand, "ratio": us / hand}
    found["kernels"] = [f"{k.name}: {k.tile} x {k.threads}, {k.registers} registers" for k in program.kernels]
    return found


def main() -> None:
    """Check, measure, and write after each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=list(SIZES))
    parser.add_argument("--only", action="append", choices=ALGORITHMS)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    results: dict[str, Any] = {"environment": device.facts()}
    for name in options.only or ALGORITHMS:
        try:
            results[name] = {"error": check(name)}
            for size in options.sizes:
                results[name][size] = measure(name, size, options.repeat)
                line = {k: v for k, v in results[name][size].items() if k in ("us", "by_hand_us", "times_the_bytes")}
                print(name, size, {k: round(v, 1) for k, v in line.items()}, flush=True)
        except Exception as error:  # of one algorithm: the others are still to be measured
            results[name] = results.get(name, {}) | {"failure": repr(error)[:500]}
            print(name, repr(error)[:150], flush=True)
        options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
