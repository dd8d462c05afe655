"""Device time of eight algorithms with updates, beside hand-written kernels and the bytes moved, as JSON.

python benchmarks/algorithms.py --output algorithms.json [--sizes small] [--only product]
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import device
import numpy as np
from beside_hand import beside, kernels_of, run
from plain_kernels import plain_kernel

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

import short_algorithms

EXAMPLES = {example.name: example for example in short_algorithms.EXAMPLES}

SIZES = {"small": (1536, 2560), "large": (8192, 8192)}
MATRICES = {"small": (1024, 1024), "large": (4096, 4096)}
DITHERED = (384, 256)
"""Nothing of an error diffusion is parallel: one thread goes over the picture."""
CHECKED = (192, 128)
BY_HAND = {"equalised": (11.8, 61.9), "summed_area": (None, 275.0), "product": (55.9, 3102.0)}
"""Microseconds of kernels that are not here, on an H200, at the two sizes; those of others are timed beside."""


def _sizes(name: str, size: str) -> tuple[int, int]:
    if name == "product":
        return MATRICES[size]
    return DITHERED if name == "dithered" else SIZES[size]


def _pictures(name: str, sizes: tuple[int, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    width, height = sizes
    if name in ("equalised", "disk_minimum", "brightest_channel", "dithered"):
        shape = (3, height, width) if name == "brightest_channel" else (height, width)
        return [rng.integers(0, 256, shape, np.uint8)]
    return [rng.random((height, width), np.float32) for _ in range(2 if name == "product" else 1)]


def _error(found: Any, wanted: np.ndarray) -> float:
    """Return the largest error, relative to the largest value."""
    wanted = wanted.astype(np.float64)
    return float(np.max(np.abs(found.get() - wanted)) / max(1e-9, np.max(np.abs(wanted))))


@cache
def _checked(name: str) -> dict[str, float]:
    """Return the errors on a small picture against the evaluator: of the program, and of the hand-written kernel."""
    import cupy

    example, sizes = EXAMPLES[name], (CHECKED[0], CHECKED[0]) if name == "product" else CHECKED
    pictures = _pictures(name, sizes)
    box = example.box(pictures[0].shape)
    wanted = example.pipeline().compile("reference")(*pictures, **box)
    given = [cupy.asarray(a) for a in pictures]
    found = {"error": _error(example.pipeline().compile("cuda")(*given, **box), wanted)}
    if (by_hand := plain_kernel(name, sizes, wanted.shape[::-1])) is not None:
        out = cupy.empty(wanted.shape, wanted.dtype)
        by_hand(given, out)
        found["error_by_hand"] = _error(out, wanted)
    return found


def measure(name: str, size: str, repeat: int) -> dict[str, Any]:
    """Time one algorithm, and the hand-written kernel if there is one, on the same pictures."""
    import cupy

    example, sizes = EXAMPLES[name], _sizes(name, size)
    sets = device.L2_SETS if size == "small" else 2
    program = example.pipeline().compile("cuda", extent=sizes)
    given = [[cupy.asarray(a) for a in _pictures(name, sizes)] for _ in range(sets)]
    box = example.box(given[0][0].shape)
    outputs = [program(*arrays, **box) for arrays in given]
    times = 4 if size == "small" and name != "dithered" else 1

    def timed(call: Any) -> float:
        return device.cupy_graph_us(
            [lambda a=a, o=o: call(a, o) for a, o in zip(given, outputs, strict=True)] * times, repeat
        )

    us = timed(lambda arrays, out: program(*arrays, out=out))
    by_hand_us = BY_HAND[name][size == "large"] if name in BY_HAND else None
    if (by_hand := plain_kernel(name, sizes, outputs[0].shape[::-1])) is not None and by_hand_us is None:
        by_hand_us = timed(by_hand)
    moved = sum(a.nbytes for a in given[0]) + outputs[0].nbytes
    return {"size": sizes} | _checked(name) | beside(us, moved, by_hand_us) | {"kernels": kernels_of(program)}


def prepare(name: str, size: str) -> None:
    """Compile everything that is measured."""
    import cupy

    _checked(name)
    program = EXAMPLES[name].pipeline().compile("cuda", extent=_sizes(name, size))
    pictures = [cupy.asarray(a) for a in _pictures(name, _sizes(name, "small"))]
    program(*pictures, **EXAMPLES[name].box(pictures[0].shape))


if __name__ == "__main__":
    run(__doc__, EXAMPLES, SIZES, measure, prepare)
