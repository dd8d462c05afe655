"""tilefuse beside Halide on this machine's CPU: the same algorithms, Halide's with schedules written by hand.

    OMP_NUM_THREADS=16 HL_NUM_THREADS=16 python benchmarks/cpu.py --size 8192x8192 --out cpu.json

Each pipeline has a process of its own, in which calls alternate, so that other work on the machine meets both.
`ratio` is Halide's time over ours, of the least times: below 1 means that we lose. `cpu` is the same of processor
time. Needs the package `halide`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

import binomial  # noqa: E402
import blur  # noqa: E402
import canny  # noqa: E402
import harris  # noqa: E402
import stencil_chain  # noqa: E402
import unsharp  # noqa: E402

import tilefuse  # noqa: E402

TURN = 0.02
"""Seconds of one pipeline's calls before those of another: after some of its calls the last cache has its pictures."""
STRIP = 32
"""Rows of a thread's strip in the schedules that roll rows."""


class Recorder:
    """Halide's names, and the Funcs that an algorithm makes, by name: a schedule needs them."""

    def __init__(self, halide: Any):
        self._halide = halide
        self.funcs: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._halide, name)

    def Func(self, name: str) -> Any:
        """Make a recorded Func."""
        self.funcs[name] = made = self._halide.Func(name)
        return made


def boxes(count: int) -> Callable[..., Any]:
    """Return the algorithm of `count` consecutive 3x3 means of f32, with repeated edges."""

    def algorithm(image: Any, hl: Any = tilefuse) -> Any:
        x, y = hl.Var("x"), hl.Var("y")
        current = hl.BoundaryConditions.repeat_edge(image)
        for step in range(count):
            stage = hl.Func(f"box_{step}")
            total = hl.f32(0)
            for j in range(-1, 2):
                for i in range(-1, 2):
                    total += current[x + i, y + j]
            stage[x, y] = total * hl.f32(1 / 9)
            current = stage
        return current

    return algorithm


class Bytes:
    """A picture of bytes that an algorithm on floats in [0, 1] reads."""

    def __init__(self, of: Any, hl: Any):
        self._of, self._hl = of, hl

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def __getitem__(self, at: Any) -> Any:
        return self._hl.cast(self._hl.Float(32), self._of[at]) * self._hl.f32(1 / 255)


class ForBytes:
    """Halide's names for an algorithm on floats that is given bytes."""

    def __init__(self, hl: Any):
        self._hl = hl
        self.BoundaryConditions = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hl, name)

    def repeat_edge(self, image: Any) -> Any:
        """Return the picture with repeated edges, as bytes."""
        return Bytes(self._hl.BoundaryConditions.repeat_edge(image._of), self._hl)


def of_bytes(algorithm: Callable[..., Any], scale: float, channels: bool = False) -> Callable[..., Any]:
    """Return the algorithm on a picture of bytes, with its result times `scale` rounded to bytes."""

    def on_bytes(image: Any, hl: Any = tilefuse) -> Any:
        at = [hl.Var(name) for name in ("xyc" if channels else "xy")]
        found, result = algorithm(Bytes(image, hl), ForBytes(hl)), hl.Func("as_bytes")
        result[tuple(at)] = hl.cast(hl.UInt(8), hl.clamp(found[tuple(at)] * hl.f32(scale) + hl.f32(0.5), 0.0, 255.0))
        return result

    return on_bytes


def rolling(hl: Any, output: Any, stages: Sequence[Any], lanes: int) -> None:
    """Schedule strips of rows in parallel; each stage's rows are computed as needed (Halide's schedules of blur, Harris
    and unsharp)."""
    x, y, yi = hl.Var("x"), hl.Var("y"), hl.Var("yi")
    output.split(y, y, yi, STRIP).parallel(y).vectorize(x, lanes)
    for stage in stages:
        stage.store_at(output, y).compute_at(output, yi).vectorize(x, lanes)


def rolling_colours(hl: Any, output: Any, stages: Sequence[Any], lanes: int) -> None:
    """Schedule an output with a channel like `rolling`, all stages row by row."""
    x, y, c, yi = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("yi")
    output.bound(c, 0, 3).split(y, y, yi, STRIP).reorder(x, c, yi, y).parallel(y).vectorize(x, lanes)
    for stage in stages:
        stage.store_at(output, y).compute_at(output, yi).vectorize(x, lanes)


def tiled_groups(size: tuple[int, int], together: int) -> Callable[..., None]:
    """Return a schedule in which each `together` stages share tiles of `size`, the last stage is stored (Halide's
    schedule of its stencil chain)."""

    def schedule(hl: Any, output: Any, stages: Sequence[Any], lanes: int) -> None:
        x, y, xi, yi = hl.Var("x"), hl.Var("y"), hl.Var("xi"), hl.Var("yi")
        every = [*stages, output]
        stored = every[::-1][::together][::-1]
        target = iter(stored)
        current = next(target)
        for stage in every:
            if stage is current:
                stage.compute_root().tile(x, y, xi, yi, *size).parallel(y).vectorize(xi, lanes)
                current = next(target, None)
            else:
                assert current is not None
                stage.compute_at(current, x).vectorize(x, lanes)

    return schedule


def _cases() -> dict[str, tuple[Callable[..., Any], str, int, Callable[..., None], int]]:
    """Return the cases by name: algorithm, pixel type, input channels (0 for none), schedule, and by how much the
    output is smaller."""
    many = tiled_groups((256, 128), 8)
    return {
        "blur_f32": (blur.blur, "float32", 0, rolling, 2),
        "blur_u16": (blur.blur, "uint16", 0, rolling, 2),
        "blur_u8": (blur.blur, "uint8", 0, rolling, 2),
        "binomial": (binomial.EXAMPLES[0].algorithm, str(_pixel(binomial)), 0, rolling, 0),
        "unsharp": (unsharp.unsharp, "float32", 3, rolling_colours, 0),
        "harris": (harris.harris, "float32", 3, rolling, 4),
        "canny": (canny.canny, "float32", 0, rolling, 0),
        "unsharp_u8": (of_bytes(unsharp.unsharp, 255, True), "uint8", 3, rolling_colours, 0),
        "harris_u8": (of_bytes(harris.harris, 1e4), "uint8", 3, rolling, 4),
        "canny_u8": (of_bytes(canny.canny, 255), "uint8", 0, rolling, 0),
        "box_x4": (boxes(4), "float32", 0, tiled_groups((256, 128), 4), 0),
        "box_x16": (boxes(16), "float32", 0, many, 0),
        "stencil_chain": (stencil_chain.stencil_chain, "uint16", 0, many, 0),
    }


def _pixel(module: Any) -> np.dtype[Any]:
    made = module.EXAMPLES[0].prepare(np.zeros((8, 8, 3), np.uint8))
    return np.dtype(made.dtype)


INLINED = ("Ixx", "Iyy", "Ixy", "Sxx", "Syy", "Sxy", "det", "trace", "response")
"""Funcs that Halide's schedule of Harris leaves where they are read."""
BEFORE_BYTES = ("harris", "unsharp", "canny")
"""Funcs that are left there where bytes are made of them."""


def halide_type(hl: Any, dtype: str) -> Any:
    """Return the pixel type by Halide's name."""
    return hl.Float(32) if dtype == "float32" else hl.UInt(8 * np.dtype(dtype).itemsize)


def rival(hl: Any, case: Any, array: np.ndarray, out: np.ndarray) -> Callable[[], None]:
    """Return a compiled call of Halide's pipeline."""
    algorithm, dtype, channels, schedule, _ = case
    recorder = Recorder(hl)
    image = hl.ImageParam(halide_type(hl, dtype), 3 if channels else 2, "image")
    output = algorithm(image, recorder)
    inlined = (*INLINED, *(BEFORE_BYTES if output.name() == "as_bytes" else ()))
    stages = [f for name, f in recorder.funcs.items() if f.name() != output.name() and name not in inlined]
    # natural for what most stages compute with
    lanes = 8 if output.name() == "as_bytes" else 32 // np.dtype(dtype).itemsize
    schedule(hl, output, stages, lanes)
    image.set(hl.Buffer(array))
    output.compile_jit()
    target = hl.Buffer(out)
    return lambda: output.realize(target)


def ours(case: Any, array: np.ndarray, out: np.ndarray, extent: tuple[int, int]) -> Callable[[], None]:
    """Return a call of our program."""
    algorithm, dtype, channels, _, _ = case
    image = tilefuse.ImageParam(halide_type(tilefuse, dtype), 3 if channels else 2, "image")
    program = tilefuse.Pipeline(algorithm(image, tilefuse)).compile("cpu", extent=extent)
    return lambda: program(array, out=out)


def measure(calls: dict[str, Callable[[], None]], seconds: float) -> dict[str, tuple[float, float]]:
    """Return the minimum (milliseconds, processor milliseconds) of each call; calls alternate for `seconds`.

    A turn is some calls, two at least: threads of the one before have gone to sleep by its last.
    """
    least = dict.fromkeys(calls, (float("inf"), float("inf")))
    for call in calls.values():
        call()
    end, rounds = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or rounds < 3:
        rounds += 1
        for name, call in calls.items():
            turn, calls_done = time.perf_counter() + TURN, 0
            while True:
                start, used = time.perf_counter(), time.process_time()
                call()
                took, worked = time.perf_counter() - start, time.process_time() - used
                least[name] = (min(least[name][0], took * 1e3), min(least[name][1], worked * 1e3))
                calls_done += 1
                if time.perf_counter() > turn and calls_done > 1:
                    break
    return least


def agree(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether integers are equal (of bytes nearly all), and floats equal except for contraction, which moves few of
    Canny's edges."""
    if a.dtype.kind != "f":
        return bool(np.mean(a == b) > (0.999 if a.dtype.itemsize == 1 else 0.999999999))
    return bool(np.mean(np.isclose(a, b, rtol=1e-3, atol=1e-5)) > 0.999)


def conditions() -> dict[str, Any]:
    """Return the command, the date, the threads and the versions of the figures."""
    words = [f"{name}={value}" for name in ("OMP_NUM_THREADS", "HL_NUM_THREADS") if (value := os.environ.get(name))]
    return {
        "date": datetime.date.today().isoformat(),
        "command": " ".join([*words, "python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "cores": os.cpu_count(),
        "halide": _halide_version(),
    }


def _halide_version() -> str:
    """Return the version of the Halide package; None if its metadata is missing."""
    try:
        return version("halide")
    except PackageNotFoundError:
        return "unknown"


def shapes(name: str, size: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of input and output, x last."""
    _, _, channels, _, smaller = _cases()[name]
    width, height = (int(n) for n in size.split("x"))
    planes = (channels,) if channels else ()
    return (*planes, height, width), (
        *(planes if name.startswith("unsharp") else ()),
        height - smaller,
        width - smaller,
    )


def picture(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return a random picture: floats in [0, 1), or integers of a byte."""
    rng = np.random.default_rng(0)
    return rng.random(shape, np.float32) if dtype == "float32" else rng.integers(0, 256, shape).astype(dtype)


def row(name: str, size: str, seconds: float) -> dict[str, Any]:
    """Measure one pipeline on columns x rows `size`; return its row of the table."""
    import halide

    case, (given, made) = _cases()[name], shapes(name, size)
    array, results = picture(given, case[1]), {who: np.zeros(made, case[1]) for who in ("ours", "halide")}
    calls = {
        "ours": ours(case, array, results["ours"], (given[-1], given[-2])),
        "halide": rival(halide, case, array, results["halide"]),
    }
    found = measure(calls, seconds)
    ratio, cpu = (found["halide"][i] / found["ours"][i] for i in (0, 1))
    same = agree(results["ours"], results["halide"])
    return {"pipeline": name, "size": size, "ms": found, "ratio": ratio, "cpu": cpu, "agree": same}


def main() -> None:
    """Print a row per pipeline; write all as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--size", default="1536x2560", help="columns x rows")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each pipeline")
    parser.add_argument("--only", nargs="*", choices=list(_cases()), default=list(_cases()), help="pipelines by name")
    parser.add_argument("--out", type=Path, help="a JSON file")
    given = parser.parse_args()
    rows = []
    print(f"{'':14}{'ours ms':>9}{'halide ms':>11}{'ratio':>7}{'cpu':>7}")
    for name in given.only:
        # a process each: pages and code that one pipeline leaves behind move the next one's times
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            found = process.submit(row, name, given.size, given.seconds).result()
        rows.append(found)
        print(
            f"{name:14}{found['ms']['ours'][0]:9.2f}{found['ms']['halide'][0]:11.2f}{found['ratio']:7.2f}"
            f"{found['cpu']:7.2f}" + ("" if found["agree"] else "   results differ"),
            flush=True,
        )
        if given.out:
            given.out.write_text(json.dumps({**conditions(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
