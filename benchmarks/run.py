"""Measurement of every example on the GPU against torch, torch.compile and CuPy: see README.md.

python benchmarks/run.py [--only harris] [--sizes small] [--no-rivals] [--shape warp_tile] [--dry-run]
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import platform
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import device
import measure
import numpy as np
import report
from apps import ALL
from cases import Case, disagreement
from rivals import ArrayNamespace

HERE = Path(__file__).resolve().parent


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [case.name for case in ALL]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--sizes", nargs="+", choices=("small", "large"), default=["small", "large"])
    parser.add_argument("--shape", choices=("auto", "block_tile", "warp_tile"), help="of the tile pass")
    parser.add_argument("--no-rivals", action="store_true", help="measure tilefuse alone")
    parser.add_argument("--no-unaligned", action="store_true", help="measure no odd widths and unaligned pointers")
    parser.add_argument("--no-check", action="store_true", help="do not compare with the CPU back end")
    parser.add_argument("--repeat", type=int, default=15, help="launches, whose median counts (default 15)")
    parser.add_argument("--rival-limit", type=float, default=90, help="seconds for one rival at one size")
    parser.add_argument("--output", type=Path, help="JSON (default: benchmarks/results/<date>-<gpu>.json)")
    parser.add_argument(
        "--plot",
        type=Path,
        nargs="?",
        const=Path(),
        help="a bar chart (default: like --output, but .png); needs matplotlib",
    )
    parser.add_argument("--dry-run", action="store_true", help="no GPU: compile, and check on the CPU")
    parser.add_argument("--machine", default="h200", help="to compile for in a dry run (default h200)")
    parser.add_argument("--traceback", action="store_true", help="print where a failure comes from")
    return parser.parse_args(argv)


def passes_for(machine: str, shape: str | None) -> list[Any] | None:
    """Return the standard passes with another shape of tile; None for the standard ones."""
    if shape is None:
        return None
    from tilefuse.passes.pipeline import standard_passes
    from tilefuse.passes.tile import Tile

    return [dataclasses.replace(p, shape=shape) if isinstance(p, Tile) else p for p in standard_passes(machine)]


def dry_run(case: Case, options: argparse.Namespace) -> None:
    """Compile for a GPU as far as its source; compare a tiny result on the CPU with NumPy."""
    from tilefuse.lowering.abi import groups_of
    from tilefuse.lowering.printers import print_cuda
    from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes
    from tilefuse.runtime.compile.specialize import find_pipeline

    pipeline = case.pipeline("tiny")
    start = time.perf_counter()
    passes = passes_for(options.machine, options.shape) or standard_passes(options.machine)
    module = run_passes(pipeline.to_module(), [*passes, *lowering_passes(warps=True)])
    source = print_cuda(module)
    seconds = time.perf_counter() - start
    groups = groups_of(find_pipeline(module))
    inputs, box = case.inputs("tiny"), case.box("tiny")
    if case.rival is None:
        expected, who = pipeline.compile("reference")(*inputs, **box), "evaluator"
    else:
        expected, who = case.rival(ArrayNamespace(np), *inputs), "NumPy"
    results = [pipeline.compile("cpu", fast_math=fast)(*inputs, **box) for fast in (False, True)]
    wrong = next(filter(None, (disagreement(got, expected, case) for got in results)), None)
    schedules = ", ".join(sorted({g.schedule.model for g in groups if g.schedule}))
    print(
        f"{case.name:24} {len(groups):2} kernels ({schedules}), {source.count(chr(10))} lines of CUDA in "
        f"{seconds:.2f} s; CPU back end and {who} {'agree' if wrong is None else 'DISAGREE: ' + wrong}",
        flush=True,
    )
    if wrong is not None:
        raise AssertionError(wrong)


def git_revision() -> str:
    """Return the commit, with + if files have changed since."""

    def git(*arguments: str) -> str:
        try:
            done = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return ""
        return done.stdout.strip()

    revision = git("rev-parse", "--short", "HEAD")
    return (revision + ("+" if git("status", "--porcelain", "-uno") else "")) or "unknown"


def environment() -> dict[str, Any]:
    """Return the facts needed to judge or repeat the figures."""
    facts: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": " ".join([Path(sys.executable).name, *sys.argv]),
        "revision": git_revision(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "driver": measure.driver_version(),
        **device.facts(),
    }
    for name in ("torch", "triton"):
        facts[name] = measure.version_of(name)
    return facts


def in_new_process(names: list[str], argv: list[str], results: dict[str, Any]) -> None:
    """Measure the rest in a new process, in which the GPU has no error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rest.json"
        kept, skip = [], False
        for argument in argv:
            value = skip and not argument.startswith("-")
            skip = argument in ("--only", "--output", "--plot")
            if not skip and not value and not argument.startswith(("--only=", "--output=", "--plot=")):
                kept.append(argument)
        only = [word for name in names for word in ("--only", name)]
        subprocess.run([sys.executable, __file__, *kept, *only, "--output", str(path)], check=False)
        found = json.loads(path.read_text())["cases"] if path.exists() else {}
    for name in names:
        results["cases"][name] = found.get(name, {"error": "not measured: the new process ended before"})


def require_gpu() -> str:
    """Return the model of the GPU; empty, after an explanation, if there is none."""
    from tilefuse.runtime.cuda import devices
    from tilefuse.runtime.errors import TargetError

    try:
        devices.require_cupy("cuda")
    except TargetError as error:
        print(f"{error}; a dry run checks without a GPU", file=sys.stderr)
        return ""
    return devices.model(devices.current_device())


def result_path(facts: dict[str, Any], what: str = "", suffix: str = ".json") -> Path:
    """Return `results/<date>-<gpu>[-<what>]<suffix>`."""
    gpu = re.sub(r"[^a-z0-9]+", "-", facts["gpu"].lower()).strip("-")
    return HERE / "results" / ("-".join([facts["date"][:10], gpu, *([what] if what else [])]) + suffix)


def reason(error: BaseException) -> str:
    """Format an error in one line, with paths from the root of the repository."""
    return f"{type(error).__name__}: {error}".replace(f"{HERE.parent}/", "").split("\n")[0][:300]


def main(argv: list[str] | None = None) -> int:
    """Run the command line; exit status 1 if a pipeline failed or gave a wrong result."""
    arguments = sys.argv[1:] if argv is None else argv
    options = parse(arguments)
    chosen = [case for case in ALL if options.only is None or case.name in options.only]
    failed = 0
    if options.dry_run:
        for case in chosen:
            try:
                dry_run(case, options)
            except Exception as error:  # the rest still runs
                failed += 1
                print(f"{case.name:14} FAILED: {reason(error)}", flush=True)
                if options.traceback:
                    traceback.print_exc()
        return 1 if failed else 0

    model = require_gpu()
    if not model:
        return 2
    facts = environment()
    bandwidth = device.copy_bandwidth(options.repeat)
    results: dict[str, Any] = {
        "environment": facts,
        "copy_bytes_per_second": bandwidth,
        "shape": options.shape or "auto",
        "cases": {},
    }
    output = options.output or result_path(facts)
    output.parent.mkdir(parents=True, exist_ok=True)
    print(f"{facts['gpu']}, driver {facts['driver']}, copy {bandwidth / 1e9:.0f} GB/s", flush=True)
    passes = passes_for(model, options.shape)
    for i, case in enumerate(chosen):
        entry: dict[str, Any] = {}
        results["cases"][case.name] = entry
        try:
            measure.measure(case, options, passes, bandwidth, entry)
        except Exception as error:  # the rest still runs
            entry["error"] = reason(error)
            if options.traceback:
                traceback.print_exc()
        for line in report.lines(case.name, entry):
            print(line, flush=True)
        output.write_text(json.dumps(results, indent=1) + "\n")
        if not device.is_usable():
            print("the GPU is in error: the rest runs in a new process", flush=True)
            if chosen[i + 1 :]:
                in_new_process([c.name for c in chosen[i + 1 :]], arguments, results)
                output.write_text(json.dumps(results, indent=1) + "\n")
            break
    print(report.table(results), flush=True)
    print(f"written to {output}")
    if options.plot is not None:
        path = output.with_suffix(".png") if options.plot == Path() else options.plot
        report.plot(results, path)
    return 1 if any(report.failed(entry) for entry in results["cases"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
