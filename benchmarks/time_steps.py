"""Steps of a 9-point stencil on a CPU, k of them in one pass over the picture, beside plain C with OpenMP.

    OMP_NUM_THREADS=16 python benchmarks/time_steps.py --sizes 4000 8000 16000 32000 --out steps.json

The plain C is one loop over rows, in parallel, per step; it is compiled with the flags of our kernels. Calls alternate.
`ratio` is its time for 100 steps over ours, of medians. `--plot steps.png` draws it (needs matplotlib).
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cpu import boxes, conditions

import tilefuse
from tilefuse.runtime.cpu.c_compiler import load_library

STEPS = 100
TOGETHER = (1, 2, 4, 5, 10, 20)
"""k: each divides the steps."""

PLAIN = """
void step(const float* restrict in, float* restrict out, int n) {
  #pragma omp parallel for schedule(static)
  for (int y = 0; y < n; ++y) {
    const float* a = in + (long long)(y > 0 ? y - 1 : 0) * n;
    const float* b = in + (long long)y * n;
    const float* c = in + (long long)(y < n - 1 ? y + 1 : y) * n;
    float* to = out + (long long)y * n;
    for (int side = 0; side < n; side += n - 1) {
      const int l = side > 0 ? side - 1 : 0, r = side < n - 1 ? side + 1 : side;
      to[side] = (a[l] + a[side] + a[r] + b[l] + b[side] + b[r] + c[l] + c[side] + c[r]) * (1.0f / 9);
    }
    #pragma omp simd
    for (int x = 1; x < n - 1; ++x)
      to[x] = (a[x - 1] + a[x] + a[x + 1] + b[x - 1] + b[x] + b[x + 1] + c[x - 1] + c[x] + c[x + 1]) * (1.0f / 9);
  }
}
"""


def plain_step(n: int) -> Callable[[np.ndarray, np.ndarray], None]:
    """Return one step in plain C."""
    step = load_library(PLAIN, strict_float=False).step
    return lambda a, b: step(ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(b.ctypes.data), ctypes.c_int(n))


def steps(k: int, n: int) -> Callable[[np.ndarray, np.ndarray], None]:
    """Return our program of k steps."""
    image = tilefuse.ImageParam(tilefuse.Float(32), 2, "image")
    program = tilefuse.Pipeline(boxes(k)(image, tilefuse)).compile("cpu", extent=(n, n))
    return lambda a, b: program(a, out=b)


def measure(n: int, seconds: float) -> dict[str, Any]:
    """Return the milliseconds of 100 steps; calls alternate for `seconds`."""
    a = np.random.default_rng(0).random((n, n), np.float32)
    buffers = [a, np.zeros_like(a)]
    calls = {"plain": (1, plain_step(n)), **{str(k): (k, steps(k, n)) for k in TOGETHER}}
    for _, call in calls.values():
        call(*buffers)
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["plain"]) < 3:
        for name, (k, call) in calls.items():
            start = time.perf_counter()
            call(*buffers)
            times[name].append((time.perf_counter() - start) * 1e3 * STEPS / k)
    ms = {name: statistics.median(found) for name, found in times.items()}
    return {"size": n, "ms": ms, "ratio": {k: ms["plain"] / ms[k] for k in ms if k != "plain"}}


def agrees(n: int = 203, k: int = 4) -> bool:
    """Whether k plain steps are our k steps, but for the edge."""
    a = np.random.default_rng(0).random((n, n), np.float32)
    ours, plain = np.zeros_like(a), [a.copy(), np.zeros_like(a)]
    steps(k, n)(a, ours)
    for _ in range(k):
        plain_step(n)(*plain)
        plain.reverse()
    inner = (slice(k, -k), slice(k, -k))  # at the edge ours extends the first picture, the plain one every step's
    return bool(np.allclose(ours[inner], plain[0][inner], rtol=1e-5))


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the ratios by k, a line for each size."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for row in rows:
        axes.plot([int(k) for k in row["ratio"]], list(row["ratio"].values()), marker="o", label=f"{row['size']}²")
    axes.set_xlabel("steps in one pass (k)")
    axes.set_ylabel("times as fast as plain OpenMP")
    axes.axhline(1, color="gray", linewidth=0.5)
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")


def main() -> None:
    """Print a row per size; write JSON and a plot if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[4000])
    parser.add_argument("--seconds", type=float, default=4.0, help="of each size")
    parser.add_argument("--out", type=Path, help="a JSON file")
    parser.add_argument("--plot", type=Path, help="a PNG file")
    parser.add_argument("--read", type=Path, help="a JSON file to plot, in place of measuring")
    given = parser.parse_args()
    if given.read:
        plot(json.loads(given.read.read_text())["rows"], given.plot or given.read.with_suffix(".png"))
        return
    assert agrees(), "the plain C computes something else"
    rows = []
    for n in given.sizes:
        rows.append(row := measure(n, given.seconds))
        print(
            f"{n:6}",
            f"plain {row['ms']['plain']:9.1f} ms  ",
            "  ".join(f"k={k} {r:.2f}" for k, r in row["ratio"].items()),
            flush=True,
        )
        if given.out:
            given.out.write_text(json.dumps({**conditions(), "rows": rows}, indent=1) + "\n")
    if given.plot:
        plot(rows, given.plot)


if __name__ == "__main__":
    main()
