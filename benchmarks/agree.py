"""Comparison of the GPU and CPU back ends, both with strict floats, on whole pictures: see README.md.

python benchmarks/agree.py [--only hist] [--sizes small] [--seconds 100] [--output results.json]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from apps import ALL
from cases import Case
from run import environment, reason, require_gpu


def differences(got: np.ndarray, expected: np.ndarray) -> dict[str, Any]:
    """Return the number of differing pixels, the largest difference, and the largest expected value."""
    if (got.shape, got.dtype) != (expected.shape, expected.dtype):
        return {"error": f"{got.dtype} of {got.shape} instead of {expected.dtype} of {expected.shape}"}
    same = (got == expected) | ((got != got) & (expected != expected))
    off = np.abs(got[~same].astype(np.float64) - expected[~same])
    return {
        "pixels": got.size,
        "differing": int((~same).sum()),
        "largest_difference": float(off.max()) if off.size else 0.0,
        "largest": float(np.nanmax(np.abs(expected.astype(np.float64)))),
    }


def compare(case: Case, size: str, entry: dict[str, Any]) -> None:
    """Fill `entry` with differences and times."""
    import cupy

    pipeline, inputs, box = case.pipeline(size), case.inputs(size), case.box(size)
    start = time.perf_counter()
    program = pipeline.compile("cuda", strict_float=True, extent=case.extent(size))
    arrays = [cupy.asarray(a) for a in inputs]
    out = program(*arrays, **box)
    cupy.cuda.Device().synchronize()
    entry["first_call_seconds"] = time.perf_counter() - start
    start = time.perf_counter()
    again = program(*arrays, **box)
    cupy.cuda.Device().synchronize()
    entry["second_call_seconds"] = time.perf_counter() - start
    got = cupy.asnumpy(out)
    entry["repeats"] = bool(np.array_equal(got, cupy.asnumpy(again), equal_nan=True))
    start = time.perf_counter()
    expected = pipeline.compile("cpu", strict_float=True)(*inputs, **box)
    entry["cpu_seconds"] = time.perf_counter() - start
    entry |= differences(got, expected)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; exit status 1 if a case failed, or gave varying results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=[case.name for case in ALL], metavar="NAME")
    parser.add_argument("--sizes", nargs="+", choices=("small", "large"), default=["small"])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no other case begins")
    parser.add_argument("--output", type=Path, help="JSON")
    options = parser.parse_args(argv)
    if not require_gpu():
        return 2
    results: dict[str, Any] = {"environment": environment(), "cases": {}}
    start, failed = time.perf_counter(), False
    for case in ALL:
        if options.only is not None and case.name not in options.only:
            continue
        for size in options.sizes:
            if size not in case.sizes() or time.perf_counter() - start > options.seconds:
                continue
            entry: dict[str, Any] = results["cases"].setdefault(case.name, {}).setdefault(size, {})
            try:
                compare(case, size, entry)
            except Exception as error:  # the rest still runs
                entry["error"] = reason(error)
            failed = failed or "error" in entry or not entry["repeats"]
            print(case.name, size, entry, flush=True)
            if options.output is not None:
                options.output.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
