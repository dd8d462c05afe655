"""Sums and maxima of a plane, of its rows and of its columns on the GPU: device time beside the bytes read, as JSON.

python benchmarks/reductions.py --output reductions.json [--sizes small]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import device
import numpy as np
from beside_hand import beside, kernels_of, run

import tilefuse as hl

SIZES = {"small": (1536, 2560), "large": (8192, 8192)}
BY_HAND = {
    "sum": (6.8, 61.0), "max": (6.8, 61.0), "rows": (5.0, 59.0), "columns": (6.6, 63.0),
}  # fmt: skip
"""Microseconds of kernels written by hand, of f32 on an H200, at the two sizes."""

x, y = hl.vars("x y")
P = hl.ImageParam(hl.Float(32), 2, "p")
BYTES = hl.ImageParam(hl.UInt(8), 2, "p")


def _plane(start: float, join: Callable[[Any, Any], Any]) -> hl.Func:
    f, r = hl.Func("f"), hl.RDom(P)
    f[()] = hl.f32(start)
    f[()] = join(f[()], P[r.x, r.y])
    return f


def _lines(of_rows: bool) -> hl.Func:
    f, v = hl.Func("f"), y if of_rows else x
    r = hl.RDom([(0, P.width() if of_rows else P.height())])
    f[v] = hl.f32(0)
    f[v] += P[r.x, v] if of_rows else P[v, r.x]
    return f


def _bytes() -> hl.Func:
    f, r = hl.Func("f"), hl.RDom(BYTES)
    f[()] = hl.u32(0)
    f[()] += hl.u32(BYTES[r.x, r.y])
    return f


CASES: dict[str, tuple[Callable[[], hl.Func], type, Callable[[np.ndarray], np.ndarray]]] = {
    "sum": (lambda: _plane(0, lambda a, b: a + b), np.float32, lambda a: a.sum(dtype=np.float64)),
    "max": (lambda: _plane(-1, hl.max), np.float32, lambda a: a.max()),
    "rows": (lambda: _lines(True), np.float32, lambda a: a.sum(1, dtype=np.float64)),
    "columns": (lambda: _lines(False), np.float32, lambda a: a.sum(0, dtype=np.float64)),
    "sum_u8": (_bytes, np.uint8, lambda a: a.sum(dtype=np.uint64)),
}


def measure(name: str, size: str, repeat: int) -> dict[str, Any]:
    """Time one reduction; the first launch of a call forms the old values, so there are two."""
    import cupy

    make, dtype, exact = CASES[name]
    width, height = SIZES[size]
    sets = device.L2_SETS if size == "small" else 2
    rng = np.random.default_rng(1)
    picture = (rng.random((height, width)) * 200).astype(dtype)
    inputs = [cupy.asarray(picture) for _ in range(sets)]
    program = hl.Pipeline(make()).compile("cuda", extent=SIZES[size])
    lines = {"rows": (height,), "columns": (width,)}.get(name, ())
    outputs = [program(a, sizes=lines) for a in inputs]
    wanted = exact(picture)
    error = float(np.max(np.abs(outputs[0].get().astype(np.float64) - wanted) / np.maximum(np.abs(wanted), 1)))
    calls = [lambda a=a, o=o: program(a, out=o) for a, o in zip(inputs, outputs, strict=True)]
    us = device.cupy_graph_us(calls * (4 if size == "small" else 2), repeat)
    by_hand_us = BY_HAND[name][size == "large"] if name in BY_HAND else None
    return {"error": error} | beside(us, picture.nbytes, by_hand_us) | {"kernels": kernels_of(program)}


if __name__ == "__main__":
    run(__doc__, CASES, SIZES, measure)
