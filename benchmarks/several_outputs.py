"""Pipelines of several outputs, and long ones: kernels that store several stages against one kernel a stage, as JSON.

python benchmarks/several_outputs.py --output several.json [--sizes small] [--only gradient]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apps
import device
import numpy as np

import tilefuse as hl
from tilefuse.passes.pipeline import standard_passes
from tilefuse.runtime.compile.backend import find_backend

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

SIZES = {"small": (1536, 2560), "large": (8192, 8192)}
x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def gradient() -> hl.Pipeline:
    """Return Sobel's gradient along x and y, and its magnitude."""
    i = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Float(32), 2, "image"))
    dx, dy, magnitude = hl.Func("dx"), hl.Func("dy"), hl.Func("magnitude")
    dx[x, y] = i[x + 1, y - 1] - i[x - 1, y - 1] + 2 * (i[x + 1, y] - i[x - 1, y]) + i[x + 1, y + 1] - i[x - 1, y + 1]
    dy[x, y] = i[x - 1, y + 1] - i[x - 1, y - 1] + 2 * (i[x, y + 1] - i[x, y - 1]) + i[x + 1, y + 1] - i[x + 1, y - 1]
    magnitude[x, y] = hl.sqrt(dx[x, y] * dx[x, y] + dy[x, y] * dy[x, y])
    return hl.Pipeline([dx, dy, magnitude])


def blur_and_difference() -> hl.Pipeline:
    """Return a blur of bytes, and its difference from the picture."""
    i = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.UInt(8), 2, "image"))
    wide, along_x, blur, difference = hl.Func("wide"), hl.Func("along_x"), hl.Func("blur"), hl.Func("difference")
    wide[x, y] = hl.cast(hl.UInt(16), i[x, y])
    along_x[x, y] = wide[x - 1, y] + 2 * wide[x, y] + wide[x + 1, y]
    blur[x, y] = hl.cast(hl.UInt(8), (along_x[x, y - 1] + 2 * along_x[x, y] + along_x[x, y + 1]) / 16)
    difference[x, y] = hl.cast(hl.Int(16), i[x, y]) - hl.cast(hl.Int(16), blur[x, y])
    return hl.Pipeline([blur, difference])


def corners_and_gray() -> hl.Pipeline:
    """Return Harris' response of a colour picture, and the picture in gray."""
    i = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Float(32), 3, "image"))
    gray, ix, iy, response = hl.Func("gray"), hl.Func("ix"), hl.Func("iy"), hl.Func("response")
    gray[x, y] = hl.f32(0.299) * i[x, y, 0] + hl.f32(0.587) * i[x, y, 1] + hl.f32(0.114) * i[x, y, 2]
    ix[x, y] = gray[x + 1, y] - gray[x - 1, y]
    iy[x, y] = gray[x, y + 1] - gray[x, y - 1]

    def around(a: hl.Func, b: hl.Func) -> Any:
        return sum((a[x + u, y + v] * b[x + u, y + v] for u in (-1, 0, 1) for v in (-1, 0, 1)), hl.f32(0))

    xx, yy, xy = around(ix, ix), around(iy, iy), around(ix, iy)
    response[x, y] = xx * yy - xy * xy - hl.f32(0.04) * (xx + yy) * (xx + yy)
    return hl.Pipeline([gray, response])


CASES: dict[str, Callable[[], hl.Pipeline]] = {
    "gradient": gradient,
    "blur_and_difference": blur_and_difference,
    "corners_and_gray": corners_and_gray,
}
LONG = ("interpolate", "local_laplacian", "pyramid_blend", "lens_blur", "camera_pipe")
"""Examples whose stages are read several times."""


@dataclasses.dataclass
class Subject:
    """A pipeline with a call of it."""

    pipeline: hl.Pipeline
    inputs: tuple[np.ndarray, ...]
    box: dict[str, Any]


def subject(name: str, size: str) -> Subject:
    """Return a case for pictures of a size."""
    if name in LONG:
        case = next(case for case in apps.APPS if case.name == name)
        return Subject(case.pipeline(size), tuple(case.inputs(size, 0)), case.box(size))
    width, height = SIZES[size]
    bytes = np.random.default_rng(5).integers(0, 256, (3, height, width), dtype=np.uint8)
    inputs = {"gradient": bytes[0].astype(np.float32) / 255, "blur_and_difference": bytes[0]}
    return Subject(CASES[name](), (inputs.get(name, bytes.astype(np.float32) / 255),), {})


def as_tuple(found: Any) -> tuple[Any, ...]:
    """Return the outputs of a call, one or several, as a tuple."""
    return found if isinstance(found, tuple) else (found,)


def measure(name: str, size: str, repeat: int) -> dict[str, Any]:
    """Measure both variants of a call: microseconds, numbers of kernels, and whether the results are equal."""
    import cupy

    machine, of = find_backend("cuda").machine, subject(name, size)
    inputs = tuple(cupy.asarray(a) for a in of.inputs)
    figures: dict[str, Any] = {}
    results: list[list[np.ndarray]] = []
    for way, several in (("separate", False), ("merged", True)):
        passes = [
            dataclasses.replace(p, multiple_outputs=several) if p.name == "group-stages" else p  # type: ignore[call-arg]
            for p in standard_passes(machine, extent=SIZES[size])
        ]
        program = of.pipeline.compile("cuda", passes=passes, strict_float=True)
        results.append([a.get() for a in as_tuple(program(*inputs, **of.box))])
        outputs = [as_tuple(program(*inputs, **of.box)) for _ in range(device.L2_SETS if size == "small" else 1)]
        given = [o if len(o) > 1 else o[0] for o in outputs]
        calls = [lambda o=o, p=program: p(*inputs, out=o, **of.box) for o in given]
        rounds = -(-32 // len(calls)) if size == "small" else 4
        figures[way] = {
            "us": device.cupy_graph_us(calls * rounds, repeat),
            "kernels": len(program.graph().graph["kernels"]),
        }
        del calls, outputs, given, program
    figures["speedup"] = figures["separate"]["us"] / figures["merged"]["us"]
    figures["same"] = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*results, strict=True))
    return figures


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--sizes", choices=SIZES, action="append")
    parser.add_argument("--only", choices=[*CASES, *LONG], action="append", metavar="NAME")
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    found: dict[str, Any] = {"facts": device.facts(), "cases": {}}
    for name in options.only or [*CASES, *LONG]:
        for size in options.sizes or SIZES:
            try:
                figures = measure(name, size, options.repeat)
            except Exception as error:  # the others still run
                figures = {"error": f"{type(error).__name__}: {error}"}
            found["cases"].setdefault(name, {})[size] = figures
            print(name, size, figures, flush=True)
            if options.output is not None:
                options.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
