"""Every example on the GPU: against the CPU back end, then under memcheck and racecheck: see README.md.

python benchmarks/sanitize.py [--only hist] [--size tiny] [--workers 7] [--seconds 400] [--output results.json]

Kernels are those of pictures of the small size, whatever the size of the arrays; with strict floats. The sanitizer's
processes find them in a cache that the comparison has filled: compiled under it they would come without a report on
registers, and others would be checked than run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agree import differences
from apps import ALL
from cases import Case, disagreement

HERE = Path(__file__)
TOOLS = {"memcheck": ["--padding", "256"], "racecheck": ["--racecheck-report", "all"]}
"""Tools of compute-sanitizer and their options: padding behind each array; hazards one by one."""
FOUND = 9
"""Exit status of a process in which a tool finds something."""
SECONDS = 240
"""At most, of one process."""


def call(case: Case, size: str, compare: bool) -> dict[str, Any]:
    """Run a case on the GPU, in this process; with `compare`, return its differences from the CPU back end."""
    import cupy

    cupy.cuda.set_allocator(None)  # each array by itself, and not a part of a pool's memory
    cupy.cuda.set_pinned_memory_allocator(None)
    pipeline, inputs, box = case.pipeline(size), case.inputs(size), case.box(size)
    program = pipeline.compile("cuda", strict_float=True, extent=case.extent("small"))
    got = program(*map(cupy.asarray, inputs), **box).get()
    found: dict[str, Any] = {"kernels": len(program.kernels)}
    if compare:
        expected = pipeline.compile("cpu", strict_float=True)(*inputs, **box)
        found |= differences(got, expected) | {"wrong": disagreement(got, expected, case)}
    return found


def started(name: str, size: str, tool: str | None, cache: str, until: float) -> dict[str, Any]:
    """Run a case in a process of its own, under a tool, if any; an entry `error` describes a failure."""
    command = [sys.executable, str(HERE), "--here", "--only", name, "--size", size]
    if tool is not None:
        options = ["--tool", tool, "--error-exitcode", str(FOUND), "--report-api-errors", "no", *TOOLS[tool]]
        command = ["compute-sanitizer", *options, *command, "--run-only"]
    left, start = until - time.time(), time.perf_counter()
    if left < 1:
        return {"error": "no time was left"}
    environment = os.environ | {"TILEFUSE_CACHE_DIR": cache}
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=min(SECONDS, left), check=False, env=environment
        )
    except subprocess.TimeoutExpired as error:
        return {"error": f"took more than {error.timeout:.0f} s"}
    lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    found: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    if ended.returncode or not lines:
        found["error"] = f"exit status {ended.returncode}: {(ended.stderr + ended.stdout)[-2000:]}"
    return found | {"seconds": round(time.perf_counter() - start, 1)}


def checked(name: str, size: str, cache: str, until: float) -> dict[str, Any]:
    """Compare a case, then run it under each tool."""
    found = {"compared": started(name, size, None, cache, until)}
    if "error" not in found["compared"]:
        found |= {tool: started(name, size, tool, cache, until) for tool in TOOLS}
    print(name, json.dumps(found), flush=True)
    return found


def is_clean(found: dict[str, Any]) -> bool:
    """Whether the result is right, functions as `exp` within their contract, and no tool found anything."""
    right = "error" not in found["compared"] and found["compared"]["wrong"] is None
    return right and all("error" not in found[tool] for tool in TOOLS)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; exit status 1 if a case is not clean."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=[case.name for case in ALL], metavar="NAME")
    parser.add_argument("--size", choices=("tiny", "small"), default="tiny", help="of the arrays (default tiny)")
    parser.add_argument("--workers", type=int, default=7, help="cases at a time (default 7)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for all")
    parser.add_argument("--output", type=Path, help="JSON")
    parser.add_argument("--here", action="store_true", help="run the one case in this process, without tools")
    parser.add_argument("--run-only", action="store_true", help="with --here: compare nothing")
    options = parser.parse_args(argv)
    cases = [case for case in ALL if options.only is None or case.name in options.only]
    if options.here:
        print(json.dumps(call(cases[0], options.size, not options.run_only)), flush=True)
        return 0
    from run import environment, require_gpu

    if not require_gpu():
        return 2
    until, results = time.time() + options.seconds, {"environment": environment(), "size": options.size, "cases": {}}
    with TemporaryDirectory() as cache, ThreadPoolExecutor(options.workers) as pool:
        longest_first = cases[::-1]
        found = pool.map(lambda case: checked(case.name, options.size, cache, until), longest_first)
        for case, entry in zip(longest_first, found, strict=True):
            results["cases"][case.name] = entry
            if options.output is not None:
                options.output.write_text(json.dumps(results, indent=1) + "\n")
    dirty = [name for name, entry in results["cases"].items() if not is_clean(entry)]
    print(f"{len(cases) - len(dirty)} of {len(cases)} are clean; {', '.join(dirty) or 'none'} not")
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
