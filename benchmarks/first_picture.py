"""Measure the time to the first picture, from `import tilefuse` to machine code for every kernel: see README.md.

python benchmarks/first_picture.py [--only harris] [--repeat 3] [--target h200] [--output results.json]
"""

from __future__ import annotations

import argparse
import atexit
import datetime
import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

GOALS = {"harris": 1.0, "distinct_100": 8.0}
"""Seconds of wall time on two cores, from `import tilefuse` to machine code for every kernel."""
SCHEDULE_GOAL = 1.0
"""Seconds of processor time in which any of the subjects is scheduled."""
SUBJECTS = ("harris", "stencil_chain", "distinct_10", "distinct_30", "distinct_100")
PHASES = ("import", "schedule", "lower", "print", "machine code")


def child(name: str, target: str) -> dict[str, Any]:
    """Compile one subject in this process; return seconds: wall time in all, processor time by phase, kernels."""
    started, cpu = time.perf_counter(), time.process_time()
    import tilefuse

    tilefuse.Pipeline  # the vocabulary is loaded when first used
    from tilefuse.collector import collector_off

    with collector_off():  # as in Pipeline.compile, which imports the rest otherwise
        from tilefuse.runtime.compile import compiled
        from tilefuse.runtime.cpu import c_compiler
        from tilefuse.runtime.cuda import cubins, devices
    from tilefuse.targets.gpus import gpu

    # as on a machine with a GPU, where `compile` makes machine code, too
    devices.available, devices.current_device = lambda: True, lambda: 0
    devices.architecture = lambda device: gpu(target).arch  # type: ignore[assignment]

    spent = dict.fromkeys(PHASES, 0.0)
    spent["import"] = time.process_time() - cpu
    imported, cpu = time.perf_counter() - started, time.process_time() - cpu
    calls = {"print": 0, "machine code": 0}

    def timed(owner: Any, function: str, phase: str) -> None:
        inner: Callable[..., Any] = getattr(owner, function)

        def outer(*args: Any, **options: Any) -> Any:
            begun = time.thread_time()
            try:
                return inner(*args, **options)
            finally:
                spent[phase] += time.thread_time() - begun
                if phase in calls:
                    calls[phase] += 1

        setattr(owner, function, outer)

    timed(compiled.Compiled, "_schedule", "schedule")
    timed(compiled.Compiled, "_lower", "lower")
    timed(compiled, "print_cuda", "print")
    timed(compiled, "print_c", "print")
    timed(cubins, "_compile", "machine code")
    timed(c_compiler, "load_library", "machine code")

    import compile_time

    pipeline = compile_time.subjects()[name]()
    begun, began = time.perf_counter(), time.process_time()
    program = pipeline.compile(target=target)
    kernels = len(program.kernels)
    spent["all"] = cpu + time.process_time() - began
    return {"wall": imported + time.perf_counter() - begun, "cpu": spent, "kernels": kernels, "runs": calls}


def first_call(name: str) -> float:
    """Compile one subject for the CPU and call it once in this process; return the seconds of the call."""
    import compile_time
    import numpy as np

    program = compile_time.subjects()[name]().compile(target="cpu")
    (slot,) = program._signature.inputs
    picture = np.ones((3, 64, 64)[-slot.rank :], slot.dtype)
    begun = time.perf_counter()
    program(picture)
    return time.perf_counter() - begun


def in_new_process(*arguments: str) -> Any:
    """Run this file with arguments, with no kernel cached; return the JSON that it prints.

    Python reads its bytecode from a cache, as it does of an installed package.
    """
    with tempfile.TemporaryDirectory() as cache:
        env = {
            **os.environ,
            "TILEFUSE_CACHE_DIR": cache,
            "PYTHONPYCACHEPREFIX": _bytecode(),
            "PYTHONWARNINGS": "ignore",
        }
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, str(HERE / "first_picture.py"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=env, cwd=HERE)
    return json.loads(done.stdout)


@functools.cache
def _bytecode() -> str:
    """Return a folder of Python's bytecode, filled by a process that is not measured."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    env = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, str(HERE / "first_picture.py"), "--child", "harris"]
    subprocess.run(command, capture_output=True, check=True, env=env, cwd=HERE)
    return folder


def measure(name: str, target: str, repeat: int) -> dict[str, Any]:
    """Measure one subject in `repeat` new processes; the median wall time, and of processor times the least."""
    runs = [in_new_process("--child", name, "--target", target) for _ in range(repeat)]
    return {
        "wall": statistics.median(run["wall"] for run in runs),
        "cpu": {phase: min(run["cpu"][phase] for run in runs) for phase in (*PHASES, "all")},
        "kernels": runs[0]["kernels"],
        "runs": runs[0]["runs"],
        "first call on the CPU": min(in_new_process("--call", name) for _ in range(repeat)),
    }


def line(name: str, found: dict[str, Any]) -> str:
    """Format one row of the table."""
    goal = (
        f"; goal {GOALS[name]:.0f} s: {'met' if found['wall'] <= GOALS[name] else 'NOT met'}" if name in GOALS else ""
    )
    late = found["cpu"]["schedule"] > SCHEDULE_GOAL
    phases = ", ".join(f"{phase} {found['cpu'][phase]:.2f}" for phase in (*PHASES, "all"))
    runs = f"{found['kernels']} kernels in {found['runs']['machine code']} compilations"
    return (
        f"{name:14} {found['wall']:6.2f} s{goal}; s of processor time: {phases}; {runs}; "
        f"first call on the CPU {found['first call on the CPU'] * 1e3:.1f} ms"
        f"{f'; scheduling takes longer than {SCHEDULE_GOAL:.0f} s' if late else ''}"
    )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=SUBJECTS, metavar="NAME", help=", ".join(SUBJECTS))
    parser.add_argument("--repeat", type=int, default=3, help="new processes for each subject (default 3)")
    parser.add_argument("--target", default="h200", help="to compile for (default h200)")
    parser.add_argument("--output", type=Path, help="write JSON")
    parser.add_argument("--child", choices=SUBJECTS, help=argparse.SUPPRESS)
    parser.add_argument("--call", choices=SUBJECTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child or options.call:
        print(json.dumps(child(options.child, options.target) if options.child else first_call(options.call)))
        return 0
    results: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "cores": len(os.sched_getaffinity(0)),
        "target": options.target,
        "repeat": options.repeat,
        "subjects": {},
    }
    for name in options.only or SUBJECTS:
        results["subjects"][name] = measure(name, options.target, options.repeat)
        print(line(name, results["subjects"][name]), flush=True)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
