"""Halide's schedules of `cpu.py` compiled ahead of time into one library, for machines without its package.

    python benchmarks/cpu_beside.py --build rivals --threads 16 --target x86-64-linux-...-avx512_sapphirerapids
    OMP_NUM_THREADS=16 HL_NUM_THREADS=16 python benchmarks/cpu_beside.py --time rivals --out cpu.json

The first needs the package `halide` and a C compiler that links; the second needs what the first wrote. Beside the
schedules by hand (`expert`; `wide`: with vectors of 64 bytes) are those that Halide's autoschedulers find. `best` is
the fastest of them, `ratio` its time over ours, of the least times of calls in turn: below 1 means that we lose.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from cpu import (
    BEFORE_BYTES,
    INLINED,
    Recorder,
    _cases,
    agree,
    conditions,
    halide_type,
    measure,
    ours,
    picture,
    shapes,
)
from halide_gpu import CODES, Dimension, HalideBuffer

HOWS = {"expert": 32, "wide": 64, "Mullapudi2016": 0, "Adams2019": 0}
"""Their names, and the bytes of a vector of the schedules by hand."""
SIZES = ("1536x2560", "8192x8192")
LIMIT = 240.0
"""Seconds that a schedule may take to be found and compiled."""


def symbol(name: str, size: str, how: str) -> str:
    """Return the name of the C function of a pipeline under a schedule; schedules by hand serve all sizes."""
    return f"rival_{name}_{how}" if HOWS[how] else f"rival_{name}_{how}_{size}"


def compile_one(name: str, size: str, how: str, threads: int, target: str, folder: Path) -> None:
    """Write an object file of a pipeline under a schedule, without Halide's runtime."""
    import halide as hl

    algorithm, dtype, channels, schedule, _ = _cases()[name]
    recorder = Recorder(hl)
    image = hl.ImageParam(halide_type(hl, dtype), 3 if channels else 2, "image")
    output = algorithm(image, recorder)
    on = hl.Target(target)
    if HOWS[how]:
        inlined = (*INLINED, *(BEFORE_BYTES if output.name() == "as_bytes" else ()))
        stages = [f for n, f in recorder.funcs.items() if f.name() != output.name() and n not in inlined]
        schedule(hl, output, stages, HOWS[how] // (4 if output.name() == "as_bytes" else np.dtype(dtype).itemsize))
    else:
        given, made = shapes(name, size)
        image.set_estimates([(0, n) for n in reversed(given)])
        output.set_estimates([(0, n) for n in reversed(made)])
        hl.load_plugin(str(Path(hl.__file__).parent / "lib64" / f"libautoschedule_{how.lower()}.so"))
        parameters = {"parallelism": str(threads)}
        if how == "Mullapudi2016":
            parameters |= {"last_level_cache_size": str(1 << 20), "balance": "40"}
        hl.Pipeline(output).apply_autoscheduler(on, hl.AutoschedulerParams(how, parameters))
    function = symbol(name, size, how)
    without = on.with_feature(hl.TargetFeature.NoRuntime)
    hl.Pipeline(output).compile_to_object(str(folder / f"{function}.o"), [image], function, without)


def build(folder: Path, threads: int, target: str, names: Sequence[str], jobs: int) -> None:
    """Compile all, each in a process that may fail or take too long, and link the successful ones."""
    import halide as hl

    folder.mkdir(parents=True, exist_ok=True)
    hl.compile_standalone_runtime(str(folder / "runtime.o"), hl.Target(target))
    todo = [(n, s, h) for n in names for h in HOWS for s in (SIZES[:1] if HOWS[h] else SIZES)]

    def run(one: tuple[str, str, str]) -> None:
        if (folder / f"{symbol(*one)}.o").exists():
            return
        command = [sys.executable, __file__, "--one", *one, "--build", str(folder), "--target", target]
        try:
            done = subprocess.run(
                [*command, "--threads", str(threads)], capture_output=True, text=True, timeout=LIMIT, check=False
            )
            said = (done.stderr.strip().splitlines() or [""])[-1] if done.returncode else "compiled"
        except subprocess.TimeoutExpired:
            said = f"more than {LIMIT:.0f} s"
        print(*one, said, flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, todo))
    objects = sorted(map(str, folder.glob("*.o")))
    link = ["cc", "-shared", "-o", str(folder / "rivals.so"), *objects, "-lpthread", "-ldl", "-lm"]
    subprocess.run(link, check=True)


def buffer(array: np.ndarray) -> tuple[HalideBuffer, Any]:
    """Return Halide's buffer of an array, and an object that must outlive it."""
    dims, stride = (Dimension * array.ndim)(), 1
    for dim, extent in zip(dims, reversed(array.shape), strict=True):
        dim.min, dim.extent, dim.stride = 0, extent, stride
        stride *= extent
    found = HalideBuffer(
        host=array.ctypes.data, code=CODES[array.dtype.kind], bits=8 * array.dtype.itemsize, lanes=1,
        dimensions=array.ndim, dim=ctypes.cast(dims, ctypes.POINTER(Dimension)),
    )  # fmt: skip
    return found, dims


def rival(library: ctypes.CDLL, function: str, array: np.ndarray, out: np.ndarray) -> Callable[[], None] | None:
    """Return a call of a schedule; None if it could not be compiled, or fails."""
    called = getattr(library, function, None)
    if called is None:
        return None
    buffers = [buffer(array), buffer(out)]
    pointers = [ctypes.byref(b) for b, _ in buffers]

    def call() -> None:
        if called(*pointers) != 0:
            raise RuntimeError(f"{function} failed")

    call.buffers = (*buffers, array, out)  # type: ignore[attr-defined]  # they live as long as the call
    try:
        call()
    except RuntimeError:  # some schedules that are found read beside the picture
        return None
    return call


_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(lambda _, text: None)
"""In place of Halide's own, which ends the process."""


def load(folder: Path) -> ctypes.CDLL:
    """Load the library of rivals in a folder."""
    library = ctypes.CDLL(str((folder / "rivals.so").resolve()))
    library.halide_set_error_handler.restype = ctypes.c_void_p
    library.halide_set_error_handler(_ERROR)
    return library


def one(library: ctypes.CDLL, name: str, size: str, seconds: float) -> dict[str, Any]:
    """Time a pipeline at a size."""
    case, (given, made) = _cases()[name], shapes(name, size)
    array, results = picture(given, case[1]), {who: np.zeros(made, case[1]) for who in ("ours", *HOWS)}
    calls = {"ours": ours(case, array, results["ours"], (given[-1], given[-2]))}
    for how in HOWS:
        if call := rival(library, symbol(name, size, how), array, results[how]):
            calls[how] = call
    found = measure(calls, seconds)
    best = min((how for how in found if how != "ours"), key=lambda how: found[how][0])
    return {
        "pipeline": name,
        "size": size,
        "ms": found,
        "best": best,
        "ratio": found[best][0] / found["ours"][0],
        "differ": [how for how in calls if not agree(results["ours"], results[how])],
    }


def means(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the geometric means of the ratios, by size."""
    sizes = {row["size"] for row in rows}
    logs = {s: [math.log(row["ratio"]) for row in rows if row["size"] == s] for s in sizes}
    return {size: math.exp(sum(found) / len(found)) for size, found in logs.items()}


def time_all(given: argparse.Namespace) -> None:
    """Print a row per pipeline and size; write all as JSON if asked to."""
    library, rows = load(given.time), []
    print(f"{'ms':24}{'ours':>9}{''.join(f'{h[:9]:>10}' for h in HOWS)}{'ratio':>7}")
    for size in given.sizes:
        for name in given.only:
            row = one(library, name, size, given.seconds)
            rows.append(row)
            times = "".join(f"{row['ms'][h][0]:10.3f}" if h in row["ms"] else f"{'-':>10}" for h in HOWS)
            differ = f"  {' '.join(row['differ'])} differ" if row["differ"] else ""
            print(f"{name:14}{size:>10}{row['ms']['ours'][0]:9.3f}{times}{row['ratio']:7.2f}{differ}", flush=True)
            if given.out:
                with_means = {**conditions(), "means": means(rows), "rows": rows}
                given.out.write_text(json.dumps(with_means, indent=1) + "\n")
    print("geometric means:", {size: round(mean, 2) for size, mean in means(rows).items()})


def main() -> None:
    """Build or time, as asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="compile the rivals into it")
    parser.add_argument("--target", default="host", help="of Halide's, of the machine that they are for")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="that autoschedulers find schedules for")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile side by side")
    parser.add_argument("--time", type=Path, metavar="FOLDER", help="time ours beside those in it")
    parser.add_argument("--sizes", nargs="+", default=SIZES, choices=SIZES, help="columns x rows")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each pipeline and size")
    parser.add_argument("--only", nargs="*", choices=list(_cases()), default=list(_cases()), help="pipelines by name")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="a JSON file")
    given = parser.parse_args()
    if given.one:
        compile_one(*given.one, given.threads, given.target, given.build)
    elif given.build:
        build(given.build, given.threads, given.target, given.only, given.jobs)
    if given.time:
        time_all(given)


if __name__ == "__main__":
    main()
