"""Time kernels whose tile body has four versions or two (`merge-versions`), with register bounds.

python benchmarks/versions.py [--only harris] [--seconds 90] [--workers 12] [--output results.json] [--dry]

Every form is checked against the first one. `--dry` needs no GPU: it compiles for an H200, and times nothing.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import compile_time
import device
import numpy as np
from cases import CASES

SIZES = {"small": (2560, 1536), "large": (8192, 8192), "odd": (2560, 1535)}
FORMS = {"main": (9500, 1600), "asked": (9500, math.inf), "held": (9500, 700), "two": (7000, math.inf)}
"""Operations from which on a tile body has two versions; instructions from which on kernels are held from the start."""
CHAINS = ("distinct_100", "distinct_30", "distinct_10")
STENCILS = ("blur_f32", "blur_u16", "blur_u8", "unsharp", "harris", "binomial", "box_x4", "canny", "box_x16",
            "canny_linked", "stencil_chain")  # fmt: skip
CALLS, REPEAT = {"small": 8, "odd": 8, "large": 2}, 15


@contextmanager
def form(name: str) -> Iterator[None]:
    """Compile in a form."""
    from tilefuse.execution.warp_tile import cost
    from tilefuse.passes.merge_versions import MergeVersions

    long, held = FORMS[name]
    init, slow = MergeVersions.__init__, cost.SLOW_TO_COMPILE
    MergeVersions.__init__ = lambda self: init(self, long)  # type: ignore[method-assign]
    cost.SLOW_TO_COMPILE = held
    try:
        yield
    finally:
        MergeVersions.__init__, cost.SLOW_TO_COMPILE = init, slow  # type: ignore[method-assign]


def subjects(randoms: int) -> dict[str, Callable[[], Any]]:
    """Return pipelines by name, the longest compile time first."""
    of_cases = {case.name: case.pipeline for case in CASES if case.name in STENCILS}
    chains = {name: compile_time.subjects()[name] for name in CHAINS}
    drawn = {f"random {seed}": functools.partial(random_pipeline, seed) for seed in range(randoms)}
    return chains | of_cases | drawn


def random_pipeline(seed: int) -> Any:
    """Return a pipeline of four to eight different stencils of up to nine reads, of u8, u16 or f32."""
    kind, bits = (("Float", 32), ("UInt", 8), ("UInt", 16))[seed % 3]
    return distinct(seed, 4 + seed % 5, kind, bits)


def distinct(seed: int, stages: int, kind: str, bits: int) -> Any:
    """Return the pipeline `distinct_stages` of the compiler's benchmark, with another seed."""
    import random

    choose = random.Random

    class Seeded(choose):
        def __init__(self, _: int):
            super().__init__(seed)

    compile_time.random.Random = Seeded  # type: ignore[misc]
    try:
        return compile_time.distinct_stages(stages, kind, bits, 9)
    finally:
        compile_time.random.Random = choose  # type: ignore[misc]


_LOCK: Any = None


def _take(lock: Any) -> None:
    global _LOCK
    _LOCK = lock
    warnings.simplefilter("ignore")


def compiled(build: Callable[[], Any], name: str, target: str) -> tuple[Any, dict[str, Any]]:
    """Compile a pipeline in a form; return the program and the compile time."""
    with form(name):
        begun, cpu = time.perf_counter(), time.process_time()
        program = build().compile(target=target)
        kernels = [(k.name, k.registers, k.spill_bytes) for k in program.kernels]
        spent = {"wall": time.perf_counter() - begun, "cpu": time.process_time() - cpu, "kernels": kernels}
    return program, spent


def work(task: tuple[str, tuple[str, ...], float, bool]) -> list[dict[str, Any]]:
    """Compile one subject in some forms, then time these alternately."""
    name, forms, deadline, dry = task
    rows: list[dict[str, Any]] = []
    build, programs, texts = subjects(1 << 10)[name], {}, {}
    for each in forms:
        if time.time() > deadline - 5:
            rows.append({"subject": name, "form": each, "error": "no time left"})
            continue
        try:
            program, spent = compiled(build, each, "h200" if dry else "cuda")
        except Exception as error:
            rows.append({"subject": name, "form": each, "error": str(error)[:200]})
            continue
        row = {"subject": name, "form": each, "us": {}, **spent}
        rows.append(row)
        text = program.source()
        if text in texts.values():
            row["same"] = next(f for f, t in texts.items() if t == text)
            continue
        texts[each], programs[each] = text, (program, row)
    if not dry and (len(programs) > 1 or len(forms) == 1):
        with _LOCK:
            _time(programs, deadline)
    return rows


def _time(programs: dict[str, tuple[Any, dict[str, Any]]], deadline: float) -> None:
    import cupy

    for size in SIZES:
        if time.time() < deadline:
            _time_size(programs, size)
            cupy.get_default_memory_pool().free_all_blocks()


def _time_size(programs: dict[str, tuple[Any, dict[str, Any]]], size: str) -> None:
    """Time all programs on one picture, in three rounds of which the best counts; compare their results."""
    width, height = SIZES[size]
    (slot,) = next(iter(programs.values()))[0]._signature.inputs
    picture, outputs = _picture((3, height, width)[-slot.rank :], slot.dtype), []
    for program, row in programs.values():
        outputs.append(program(picture))
        row.setdefault("differs", {})[size] = _difference(outputs[-1], outputs[0])
    for _ in range(3):
        for (program, row), out in zip(programs.values(), outputs, strict=True):
            calls = [functools.partial(program, picture, out=out)] * CALLS[size]
            row["us"][size] = min(device.cupy_graph_us(calls, REPEAT), row["us"].get(size, math.inf))


def _picture(shape: tuple[int, ...], dtype: Any) -> Any:
    import cupy

    rng = cupy.random.default_rng(1)
    if np.dtype(dtype).kind == "f":
        return rng.random(shape, dtype=cupy.float32).astype(dtype)
    return rng.integers(0, 256, shape).astype(dtype)


def _difference(found: Any, expected: Any) -> float:
    """Return the largest difference, relative to the largest value."""
    import cupy

    if found.dtype.kind == "b":
        return float((found != expected).mean())
    a, b = (v.astype(cupy.float64) for v in (found, expected))
    same = (a == b) | ~cupy.isfinite(b)
    largest = float(cupy.where(cupy.isfinite(b), abs(b), 0).max())
    return float(cupy.where(same, 0, abs(a - b)).max()) / max(largest, 1e-30)


def table(rows: list[dict[str, Any]]) -> str:
    """Format a line per subject and form."""
    base = {(r["subject"], s): us for r in rows if r["form"] == "main" for s, us in r.get("us", {}).items()}
    text = []
    for r in sorted(rows, key=lambda r: (r["subject"], list(FORMS).index(r["form"]))):
        head = f"{r['subject']:14} {r['form']:9}"
        if "error" in r:
            text.append(f"{head} {r['error']}")
            continue
        times = "  ".join(
            f"{s} {us:8.2f} us ({us / base.get((r['subject'], s), math.nan):.3f})" for s, us in r["us"].items()
        )
        registers = ",".join(f"{k[1]}{'!' if k[2] else ''}" for k in r["kernels"])
        more = f" differs {r['differs']}" if any(r.get("differs", {}).values()) else ""
        text.append(f"{head} {r['cpu']:6.2f} s  {times}{more} = {r.get('same', '')} [{registers}]")
    return "\n".join(text)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append")
    parser.add_argument("--form", action="append", choices=list(FORMS))
    parser.add_argument("--random", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    deadline = time.time() + options.seconds
    forms = tuple(options.form or FORMS)
    tasks = []
    for name in subjects(options.random):
        if options.only and name not in options.only:
            continue
        tasks.append((name, forms, deadline, options.dry))
    context = multiprocessing.get_context("spawn")
    rows: list[dict[str, Any]] = []
    with context.Pool(options.workers, _take, (context.Lock(),)) as pool:
        for found in pool.imap_unordered(work, tasks):
            rows += found
            for row in found:
                print(row["subject"], row["form"], row.get("error") or row["us"], flush=True)
            if options.output:
                options.output.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
