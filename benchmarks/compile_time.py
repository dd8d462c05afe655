"""Measurement of the compiler itself, pass by pass, without the C compiler and NVRTC: see README.md.

python benchmarks/compile_time.py [--only chain_300] [--repeat 5] [--profile lower-groups]
"""

from __future__ import annotations

import argparse
import cProfile
import datetime
import functools
import itertools
import json
import math
import os
import pstats
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cases import CASES

from tilefuse.collector import collector_off

HERE = Path(__file__).resolve().parent

STAGES = (10, 30, 100, 300, 1000)
GOALS = {"harris": 0.5, "stencil_chain": 1.5}
"""Seconds in a new process, from `import tilefuse` to the text of the kernels."""
SEARCHES = {
    "distinct_10": ("Float", 32, 9, 10, 0.2),
    "distinct_30": ("Float", 32, 9, 30, 0.4),
    "distinct_100": ("Float", 32, 9, 100, 1.0),
    "planar_rgb_100": ("Float", 32, 9, 100, 1.0),
    "u8_100": ("UInt", 8, 25, 100, 1.0),
}
"""Stages that differ: their element, the reads of a stage at most, how many; and the seconds in which they are to be
scheduled, by all passes from the algorithm down to the schedule."""

_FIRST = """
import json, sys, time
started = time.thread_time()
import tilefuse
seconds = {"import tilefuse": time.thread_time() - started}
tilefuse.Pipeline
from tilefuse.collector import collector_off
with collector_off():  # as in Pipeline.compile
    import tilefuse.runtime.program, tilefuse.passes.lower_groups, tilefuse.lowering.printers
seconds["with the compiler"] = time.thread_time() - started
excluded = time.thread_time()
import compile_time
build = compile_time.subjects()[sys.argv[1]]
build()
excluded = time.thread_time() - excluded
with collector_off():
    for _, step in compile_time.steps(build, sys.argv[2]):
        step()
seconds["with the first compilation"] = time.thread_time() - started - excluded
print(json.dumps(seconds))
"""


def small_chain(stages: int) -> Any:
    """Return a chain of `stages` three-point stencils, alternately along x and y, of 16 bits."""
    import tilefuse as hl

    x, y = hl.Var("x"), hl.Var("y")
    current: Any = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.UInt(16), 2, "image"))
    for i in range(stages):
        stage = hl.Func(f"stage_{i}")
        dx, dy = (1, 0) if i % 2 == 0 else (0, 1)
        stage[x, y] = current[x - dx, y - dy] + 2 * current[x, y] + current[x + dx, y + dy]
        current = stage
    return hl.Pipeline(current)


def distinct_stages(stages: int, kind: str, bits: int, reads: int, *, planes: bool = False) -> Any:
    """Return a pipeline of `stages` different stencils of two to `reads` points; some read an earlier stage too.

    `kind` and `bits` name the element; `planes`: of three channels, one after the other in memory.
    """
    import tilefuse as hl

    choose = random.Random(1)
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    rest = (c,) if planes else ()
    image = hl.ImageParam(getattr(hl, kind)(bits), 2 + len(rest), "image")
    edges = [(image.dim(d).min(), image.dim(d).extent()) for d in range(2)]
    found: list[Any] = [hl.BoundaryConditions.repeat_edge(image, edges)]
    for i in range(stages):
        stage, last, earlier = hl.Func(f"stage_{i}"), found[-1], found[max(0, len(found) - 1 - choose.randrange(1, 4))]
        value = last[(x, y, *rest)]
        for _ in range(choose.randrange(1, reads)):
            read = last[(x + choose.randrange(-2, 3), y + choose.randrange(-2, 3), *rest)]
            value = value + read * (choose.random() if kind == "Float" else choose.randrange(1, 9))
        if choose.random() < 0.3:
            value = value + earlier[(x + choose.randrange(-2, 3), y, *rest)]
        stage[(x, y, *rest)] = value
        if planes:
            stage.bound(c, 0, 3)
        found.append(stage)
    return hl.Pipeline(found[-1])


def subjects() -> dict[str, Callable[[], Any]]:
    """Return pipelines by name."""
    found: dict[str, Callable[[], Any]] = {
        case.name: case.pipeline for case in CASES if case.name in ("harris", "stencil_chain")
    }
    for stages in STAGES:
        found[f"chain_{stages}"] = lambda stages=stages: small_chain(stages)
    for name, (kind, bits, reads, stages, _) in SEARCHES.items():
        planes = name.startswith("planar")
        found[name] = functools.partial(distinct_stages, stages, kind, bits, reads, planes=planes)
    return found


def steps(build: Callable[[], Any], target: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield names and thunks, to be run in order: each gets the results of the previous ones."""
    from tilefuse.dialects.verification import verify
    from tilefuse.lowering.printers import print_cuda
    from tilefuse.passes.pipeline import lowering_passes, new_context, standard_passes

    made: dict[str, Any] = {}

    def front_end() -> None:
        made["module"] = build().to_module()

    yield "frontend", front_end
    yield "verify", lambda: verify(made["module"])
    ctx = new_context()
    for p in [*standard_passes(target), *lowering_passes(warps=True)]:
        yield p.name, lambda p=p: p.apply(ctx, made["module"])
    yield "print", lambda: print_cuda(made["module"])


@collector_off()  # as in Pipeline.compile
def measure(build: Callable[[], Any], target: str, repeat: int) -> dict[str, float]:
    """Return the processor seconds per step, the minimum of `repeat` runs.

    The compiler has one thread: on an idle machine this is the time that passes.
    """
    best: dict[str, float] = {}
    for _ in range(repeat):
        for name, step in steps(build, target):
            start = time.process_time()
            step()
            seconds = time.process_time() - start
            best[name] = min(seconds, best.get(name, math.inf))
    return best


def first_seconds(name: str, target: str, repeat: int) -> dict[str, float]:
    """Return the seconds from the start of a process to each milestone, the minimum of `repeat` processes.

    Processor time of the one thread that works: what passes on an idle machine.

    Python reads its bytecode from a cache, as it does of an installed package: a process that is not counted
    fills one. The pipeline is built before the clock runs on, as the benchmark's own modules are imported then.
    """
    with tempfile.TemporaryDirectory() as bytecode:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-c", _FIRST, name, target]
        runs = []
        for _ in range(repeat + 1):
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=env, cwd=HERE)
            runs.append(json.loads(done.stdout))
    return {milestone: min(run[milestone] for run in runs[1:]) for milestone in runs[0]}


def profile(build: Callable[[], Any], target: str, wanted: str) -> None:
    """Print where one step spends its time."""
    profiler = cProfile.Profile()
    names = []
    for name, step in steps(build, target):
        names.append(name)
        if name == wanted:
            profiler.runcall(step)
        else:
            step()
    if wanted not in names:
        raise SystemExit(f"--profile: no step '{wanted}'; there are {', '.join(names)}")
    pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


def exponents(seconds: dict[int, float]) -> dict[str, float]:
    """Return exponents of growth between chains: 1 is linear; from 10 to 1000 stages n log n is 1.24."""
    known = sorted(seconds)
    pairs = [*itertools.pairwise(known), *([(known[0], known[-1])] if len(known) > 2 else [])]
    return {f"{a} to {b}": math.log(seconds[b] / seconds[a]) / math.log(b / a) for a, b in pairs}


def table(results: dict[str, Any]) -> str:
    """Format milliseconds as a table: a column per subject, a row per step."""
    from tilefuse.passes.pipeline import standard_passes

    timed = {n: s for n, s in results["subjects"].items() if "error" not in s}
    rows = list(dict.fromkeys(step for found in timed.values() for step in found))
    width = max(map(len, [*rows, "total"])) + 2
    text = ["ms".ljust(width) + "".join(name.rjust(15) for name in timed)]
    for row in rows:
        text.append(row.ljust(width) + "".join(f"{found[row] * 1e3:15.1f}" for found in timed.values()))
    totals = {name: sum(found.values()) for name, found in timed.items()}
    text.append("total".ljust(width) + "".join(f"{t * 1e3:15.1f}" for t in totals.values()))
    for step, found in results["growth"].items():
        text.append(f"growth of {step}: " + ", ".join(f"{k} n^{v:.2f}" for k, v in found.items()))
    for name, found in results["new process"].items():
        milestones = [f"{milestone} {seconds * 1e3:.0f} ms" for milestone, seconds in found.items()]
        met = "met" if found["with the first compilation"] <= GOALS[name] else "NOT met"
        text.append(f"{name} in a new process: {', '.join(milestones)}; goal {GOALS[name] * 1e3:.0f} ms: {met}")
    for name, found in timed.items():
        if name in SEARCHES:
            seconds, goal = sum(found[p.name] for p in standard_passes(results["target"])), SEARCHES[name][-1]
            met = "met" if seconds <= goal else "NOT met"
            text.append(f"{name} scheduled: {seconds * 1e3:.0f} ms; goal {goal * 1e3:.0f} ms: {met}")
    return "\n".join(text)


def growth(timed: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return the exponents of all steps and of each step over the small chains."""
    chains = {stages: timed[f"chain_{stages}"] for stages in STAGES if f"chain_{stages}" in timed}
    if len(chains) < 2:
        return {}
    found = {"total": exponents({n: sum(steps.values()) for n, steps in chains.items()})}
    for step in next(iter(chains.values())):
        found[step] = exponents({n: max(steps[step], 1e-6) for n, steps in chains.items()})
    return found


def main() -> int:
    """Run the command line; exit status 1 if a pipeline did not compile."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    known = subjects()
    parser.add_argument("--only", action="append", choices=list(known), metavar="NAME", help=", ".join(known))
    parser.add_argument("--repeat", type=int, default=5, help="runs, of which the least counts (default 5)")
    parser.add_argument("--target", default="h200", help="to compile for (default h200)")
    parser.add_argument("--profile", metavar="STEP", help="print where one step of --only spends its time")
    parser.add_argument("--output", type=Path, help="write JSON")
    options = parser.parse_args()
    chosen = {name: build for name, build in known.items() if not options.only or name in options.only}
    if options.profile:
        for build in chosen.values():
            profile(build, options.target, options.profile)
        return 0
    results: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "target": options.target,
        "repeat": options.repeat,
        "new process": {n: first_seconds(n, options.target, options.repeat) for n in chosen if n in GOALS},
        "subjects": {},
    }
    for name, build in chosen.items():
        # Long runs vary less, and there is no time for many.
        repeat = min(options.repeat, 2) if name == f"chain_{STAGES[-1]}" else options.repeat
        try:
            results["subjects"][name] = measure(build, options.target, repeat)
        except Exception as error:  # the rest still runs
            results["subjects"][name] = {"error": f"{type(error).__name__}: {error}".split("\n")[0][:300]}
            print(f"{name}: FAILED: {results['subjects'][name]['error']}")
    timed = {n: s for n, s in results["subjects"].items() if "error" not in s}
    results["growth"] = growth(timed)
    print(table(results))
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if len(timed) < len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
