"""Time scheduling and lowering of the 21 pipelines of the gallery, pass by pass, without machine code: see README.md.

python benchmarks/pass_times.py [--only harris] [--repeat 3] [--target h200] [--output results.json]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

import compile_time
from apps import APPS
from cases import CASES

STENCILS = ("blur_f32", "unsharp", "harris", "canny", "box_x16", "stencil_chain")
GOALS = {"local_laplacian": 3.0}
"""Seconds of processor time for all passes and the text of the kernels."""
GOAL = 5.0
"""Seconds of processor time for each other pipeline."""

EXAMPLES = {case.name: case for case in (*(c for c in CASES if c.name in STENCILS), *APPS)}


def measure(name: str, target: str, repeat: int) -> dict[str, Any]:
    """Return the processor seconds per step of one pipeline, the minimum of `repeat` runs."""
    case = EXAMPLES[name]
    passes = compile_time.measure(lambda: case.pipeline("small"), target, repeat)
    goal = GOALS.get(name, GOAL)
    seconds = sum(s for step, s in passes.items() if step != "frontend")
    return {"seconds": seconds, "goal": goal, "met": seconds <= goal, "passes": passes}


def line(name: str, found: dict[str, Any]) -> str:
    """Format one row of the table: the slowest passes first."""
    most = sorted(found["passes"].items(), key=lambda step: -step[1])[:5]
    steps = ", ".join(f"{step} {seconds:.2f}" for step, seconds in most)
    return f"{name:25} {found['seconds']:5.2f} s of {found['goal']:.0f}{'' if found['met'] else ' NOT met'}: {steps}"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=EXAMPLES, metavar="NAME", help=", ".join(EXAMPLES))
    parser.add_argument("--repeat", type=int, default=3, help="runs of each step, of which the least counts")
    parser.add_argument("--target", default="h200", help="to schedule for (default h200)")
    parser.add_argument("--output", type=Path, help="write JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results: dict[str, Any] = {
        "command": shlex.join(["python", "benchmarks/pass_times.py", *sys.argv[1:]]),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {
            "processor": platform.machine(),
            "cores": len(os.sched_getaffinity(0)),
            "python": platform.python_version(),
        },
        "target": options.target,
        "examples": {},
    }
    for name in options.only or EXAMPLES:
        results["examples"][name] = measure(name, options.target, options.repeat)
        print(line(name, results["examples"][name]), flush=True)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(results, indent=1) + "\n")
    return 0 if all(found["met"] for found in results["examples"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
