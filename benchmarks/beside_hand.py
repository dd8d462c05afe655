"""Command line of benchmarks with hand-written kernels to compare with, and the ratio to these."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import device

BYTES_PER_US = 4.28e6
"""A copy's."""

Measure = Callable[[str, str, int], dict[str, Any]]
"""From a case, a size and how often it is timed to its figures, `us` and `bytes` among them."""


def beside(us: float, moved: int, by_hand_us: float | None) -> dict[str, Any]:
    """Format a case's time beside the time of its bytes, and of a hand-written kernel if there is one."""
    found = {"us": us, "bytes": moved, "times_the_bytes": us / (moved / BYTES_PER_US)}
    return found if by_hand_us is None else found | {"by_hand_us": by_hand_us, "ratio": us / by_hand_us}


def kernels_of(program: Any) -> list[str]:
    """Format the kernels of a program, one line each."""
    return [f"{k.name}: {k.tile} x {k.threads}, {k.registers} registers" for k in program.kernels]


def run(
    doc: str | None,
    cases: Collection[str],
    sizes: Collection[str],
    measure: Measure,
    prepare: Callable[[str, str], None] | None = None,
) -> None:
    """Measure the cases on the command line, and write results after each, failures included.

    `prepare` compiles all of a case and a size, in one of `--jobs` processes: kernels are kept for the one that times.
    """
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sizes", nargs="*", choices=sizes, default=list(sizes))
    parser.add_argument("--only", action="append", choices=cases)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=4)
    options = parser.parse_args()
    names = options.only or list(cases)
    if prepare is not None:
        with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
            tasks = [pool.submit(prepare, name, size) for size in options.sizes for name in names]
        for task in tasks:
            if (error := task.exception()) is not None:  # it comes again where it is measured
                print(repr(error)[:150], flush=True)
    results: dict[str, Any] = {"environment": device.facts()}
    for name in names:
        results[name] = {}
        for size in options.sizes:
            try:
                results[name][size] = found = measure(name, size, options.repeat)
                shown = {k: round(v, 2) for k, v in found.items() if k in ("us", "ratio", "times_the_bytes", "error")}
                print(name, size, shown, flush=True)
            except Exception as error:  # of one case: the others are still to be measured
                results[name][size] = {"failure": repr(error)[:500]}
                print(name, size, repr(error)[:150], flush=True)
            options.output.write_text(json.dumps(results, indent=1) + "\n")
