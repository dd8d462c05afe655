"""Histograms and histogram equalisation of bytes on the GPU: device time beside the bytes they read, as JSON.

python benchmarks/histograms.py --output histograms.json [--sizes small]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import device
import numpy as np

import tilefuse as hl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

SIZES = {"small": (1536, 2560), "large": (8192, 8192)}
BINS = 256


def counts() -> hl.Pipeline:
    """Return the pipeline of the histogram of a plane of bytes."""
    x, p, h = hl.Var("x"), hl.ImageParam(hl.UInt(8), 2, "p"), hl.Func("h")
    r = hl.RDom(p)
    h[x] = hl.u32(0)
    h[p[r.x, r.y]] += hl.u32(1)
    h.bound(x, 0, BINS)
    return hl.Pipeline(h)


def equalisation() -> hl.Pipeline:
    """Return the pipeline of the luminance equalisation of an RGB picture, by one histogram."""
    x, y, c, im = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.ImageParam(hl.UInt(8), 3, "im")
    red, green, blue = (hl.f32(im[x, y, i]) for i in range(3))
    luma, hist, cdf, out = hl.Func("luma"), hl.Func("hist"), hl.Func("cdf"), hl.Func("out")
    luma[x, y] = hl.f32(0.299) * red + hl.f32(0.587) * green + hl.f32(0.114) * blue
    r, b = hl.RDom([(0, im.width()), (0, im.height())]), hl.RDom([(1, BINS - 1)])
    hist[x] = hl.u32(0)
    hist[hl.i32(hl.u8(hl.clamp(luma[r.x, r.y], 0, 255)))] += hl.u32(1)
    cdf[x] = hist[0]
    cdf[b] = cdf[b - 1] + hist[b]
    share = hl.f32(255) / hl.f32(im.width() * im.height())
    even = hl.clamp(hl.f32(cdf[hl.i32(hl.u8(hl.clamp(luma[x, y], 0, 255)))]) * share, 0, 255)
    cr = (red - luma[x, y]) * hl.f32(0.713)
    cb = (blue - luma[x, y]) * hl.f32(0.564)
    values = [even + cr * hl.f32(1.4), even - hl.f32(0.343) * cb - hl.f32(0.711) * cr, even + hl.f32(1.765) * cb]
    red, green, blue = (hl.u8(hl.clamp(v, 0, 255)) for v in values)
    out[x, y, c] = hl.select(c == 0, red, c == 1, green, blue)
    out.bound(c, 0, 3)
    return hl.Pipeline(out)


def as_halide() -> hl.Pipeline:
    """Return the histogram equalisation of Halide's app: a histogram per row, and their sum."""
    import hist

    return hist.pipeline()


CASES: dict[str, tuple[Callable[[], hl.Pipeline], int]] = {
    "histogram_u8": (counts, 0),
    "equalisation": (equalisation, 3),
    "equalisation_by_rows": (as_halide, 3),
}
"""Each pipeline, and its channels."""


def pictures(size: str, channels: int) -> dict[str, np.ndarray]:
    """Return pictures of noise, of a peak of few values, and of one value: the worst for tables with conflicts."""
    width, height = SIZES[size]
    shape = (channels, height, width) if channels else (height, width)
    rng = np.random.default_rng(3)
    noise = rng.integers(0, 256, shape, dtype=np.uint8)
    return {"noise": noise, "peak": (100 + noise // 32).astype(np.uint8), "flat": np.full(shape, 77, np.uint8)}


def measure(name: str, size: str, repeat: int) -> dict[str, Any]:
    """Measure one case at one size."""
    import cupy

    made, channels = CASES[name]
    program = made().compile("cuda", extent=SIZES[size])
    entry: dict[str, Any] = {}
    for kind, picture in pictures(size, channels).items():
        sets = 2 if size == "large" else 12
        inputs = [cupy.asarray(picture) for _ in range(sets)]
        outputs = [program(i) for i in inputs]
        calls = [lambda i=i, o=o: program(i, out=o) for i, o in zip(inputs, outputs, strict=True)]
        entry[kind] = {"us": device.cupy_graph_us(calls * (1 if size == "large" else 6), repeat)}
        if name == "histogram_u8":
            expected = np.bincount(picture.ravel(), minlength=BINS)
            entry[kind]["wrong"] = int(np.count_nonzero(outputs[-1].get() != expected))
        elif size == "small":
            expected = made().compile("cpu")(picture)
            entry[kind]["wrong"] = int(np.count_nonzero(outputs[-1].get() != expected))
    entry["bytes"] = inputs[0].nbytes + outputs[0].nbytes
    entry["schedules"] = [line.strip() for line in program.ir("tile").split("\n") if "img.group" in line]
    entry["kernels"] = [(k.name, k.registers, k.shared_bytes, k.spill_bytes, k.grid) for k in program.kernels]
    return entry


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default=os.path.join(os.environ.get("OUT", "."), "histograms.json"))
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in options.only:
        for size in options.sizes:
            try:
                found[f"{name} {size}"] = measure(name, size, options.repeat)
            except Exception as error:  # the others still run
                found[f"{name} {size}"] = {"error": f"{type(error).__name__}: {error}"}
            Path(options.output).write_text(json.dumps(found, indent=1, default=str))
            print(name, size, {k: v for k, v in found[f"{name} {size}"].items() if k not in ("schedules", "kernels")})


if __name__ == "__main__":
    main()
