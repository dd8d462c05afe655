"""Random stencil pipelines at 4096 x 4096: the automatic choice against each execution model, forced.

python benchmarks/random_pipelines.py [--count 200] [--seconds 200] [--dry]

The pipelines are those of the property tests' generator (tests/random_pipelines.py, which needs hypothesis)
with two dimensions. Floats are compiled strictly, so that results must agree bit for bit.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import device
import numpy as np
import run
from large_pipelines import SIDE, LargePipeline, usable_seeds

from tilefuse.tools.calibration import workers

SHAPES = ("auto", "block_tile", "warp_tile", "warp_exchange")
"""The choice, and what it is compared with: all groups as block tiles, as warp tiles whose warps compute all that
they need, and as warp tiles whose rows go from warp to warp."""
ROTATED_BYTES = 256 << 20
"""Bytes of the buffers that a measurement rotates over, so that none is still in L2 at its turn."""
MOST_SETS = 6


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, help="JSON (default: benchmarks/results/<date>-<gpu>-random.json)")
    workers.add_options(parser, "pipelines, whose seeds follow on --seed", 200, 200)
    return parser.parse_args(argv)


@dataclasses.dataclass(frozen=True)
class Task:
    """One pipeline, by its seed."""

    seed: int
    target: str
    deadline: float
    repeat: int
    bandwidth: float
    dry: bool


def forced(target: str, shape: str) -> list[Any]:
    """Return the standard passes, for pictures of this size, with one execution model for all groups."""
    from tilefuse.passes.pipeline import standard_passes
    from tilefuse.passes.tile import Tile

    option: dict[str, Any] = {"shape": shape}
    if shape in ("warp_tile", "warp_exchange"):
        option = {"shape": "warp_tile", "more": f"exchange = {int(shape == 'warp_exchange')}"}
    passes = standard_passes(target, extent=(SIDE, SIDE))
    return [dataclasses.replace(p, **option) if isinstance(p, Tile) else p for p in passes]


def measure(task: Task) -> dict[str, Any]:
    """Measure one pipeline with every legal execution model."""
    if workers.remaining(task.deadline) < 0:
        return {"cut": True}
    entry: dict[str, Any] = {"us": {}, "illegal": {}, "wrong": {}}
    try:
        with device.at_most(150, f"pipeline {task.seed}"):
            _measure(task, entry)
    except Exception as error:  # the other pipelines still run
        entry["error"] = run.reason(error)
    return entry


def _measure(task: Task, entry: dict[str, Any]) -> None:
    from tilefuse.dialects.diagnostics import PipelineError
    from tilefuse.runtime.program import compile_pipeline

    large = LargePipeline(task.seed)
    programs: dict[str, Any] = {}
    for shape in SHAPES:
        try:
            passes = forced(task.target, shape)
            if task.dry:
                programs[shape] = _cuda_text(large.case.module, passes)
            else:
                programs[shape] = compile_pipeline(large.case.module, "cuda", strict_float=True, passes=passes)
        except PipelineError as error:
            if shape == "auto":
                raise
            entry["illegal"][shape] = run.reason(error)
    if task.dry:
        entry["us"] = dict.fromkeys(programs, 0.0)
        return
    with workers.turn():
        arrays = _time(task, large, programs, entry)
    if arrays is not None:
        _check_cpu(large, *arrays, entry)


def _cuda_text(module: Any, passes: list[Any]) -> str:
    from tilefuse.lowering.printers import print_cuda
    from tilefuse.passes.pipeline import lowering_passes, run_passes

    return print_cuda(run_passes(module, [*passes, *lowering_passes(warps=True)]))


def _time(task: Task, large: LargePipeline, programs: dict[str, Any], entry: dict[str, Any]) -> Any:
    """Fill `entry`; inputs and results on the host, if nothing but the CPU can check them."""
    import cupy

    case = large.case
    names = [name for name, _ in case.pipeline.return_op.outputs]
    keywords = {**case.params, "mins": case.mins}
    first = large.inputs(0)
    made = programs["auto"](**first, **keywords, sizes=case.sizes)
    outs = [dict(zip(names, made if isinstance(made, tuple) else (made,), strict=True))]
    entry["bytes"] = sum(a.nbytes for a in (*first.values(), *outs[0].values()))
    entry["floor_us"] = entry["bytes"] / task.bandwidth * 1e6
    inputs = [first]
    for _ in range(min(MOST_SETS, -(-ROTATED_BYTES // entry["bytes"])) - 1):
        inputs.append({n: a.copy() for n, a in first.items()})
        outs.append({n: cupy.empty_like(a) for n, a in outs[0].items()})
    # results of another execution model, or of the CPU where there is none
    text, expected, independent = {}, {}, False
    for shape in sorted(programs, key=lambda s: s == "auto"):
        program = programs[shape]
        for array in outs[0].values():
            device.poison(array)
        program(**first, **keywords, out=outs[0])
        got = {n: a.copy() for n, a in outs[0].items()}
        if not expected:
            expected = got
        elif any(not _same(got[n], expected[n]) for n in names):
            entry["wrong"][shape] = "differs from block_tile"
        text[shape] = program.source()
        same = next((s for s in entry["us"] if text[s] == text[shape]), None)
        independent |= bool(entry["us"]) and same is None
        if same is not None:
            entry["us"][shape] = entry["us"][same]  # the same kernels
            entry["same_as"] = same if shape == "auto" else entry.get("same_as")
            continue
        calls = [lambda a=a, b=b, p=program: p(**a, **keywords, out=b) for a, b in zip(inputs, outs, strict=True)] * 2
        entry["us"][shape] = device.cupy_graph_us(calls, task.repeat)
    entry["kernels"] = len(programs["auto"].kernels)
    entry["checked_with"] = "another shape" if independent else "cpu"
    arrays = None
    if not independent:
        arrays = tuple({n: a.get() for n, a in part.items()} for part in (first, expected))
    del inputs, outs, expected, made, first, got
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    return arrays


def _same(a: Any, b: Any) -> bool:
    """Compare bit for bit, except for NaNs."""
    import cupy

    return bool(cupy.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def _check_cpu(large: LargePipeline, inputs: dict[str, Any], got: dict[str, Any], entry: dict[str, Any]) -> None:
    """Check on the CPU, where only block tiles are legal. Functions such as exp may differ by rounding."""
    from tilefuse.runtime.program import compile_pipeline

    case = large.case
    program = compile_pipeline(case.module, "cpu", strict_float=True)
    found = program(**inputs, **case.params, mins=case.mins, sizes=case.sizes)
    found = found if isinstance(found, tuple) else (found,)
    for (name, array), want in zip(got.items(), found, strict=True):
        if array.dtype.kind == "f":
            right = np.allclose(array, want, rtol=1e-5, atol=case.tolerance[name] + 1e-6, equal_nan=True)
        else:
            right = np.array_equal(array, want)
        if not right:
            entry["wrong"]["block_tile"] = "differs from the CPU"


def summarise(pipelines: dict[str, Any]) -> dict[str, Any]:
    """Summarise the loss of the choice against the best schedule found, and its frequency."""
    timed = [e for e in pipelines.values() if "auto" in e.get("us", {})]
    losses = np.array([e["us"]["auto"] / min(e["us"].values()) - 1 for e in timed])
    forced_only = [{s: u for s, u in e["us"].items() if s != "auto"} for e in timed]
    found: dict[str, Any] = {
        "pipelines": len(timed),
        "wrong": sum(bool(e.get("wrong")) for e in pipelines.values()),
        "failed": sum("error" in e for e in pipelines.values()),
        "not_begun": sum(bool(e.get("cut")) for e in pipelines.values()),
    }
    if len(timed):
        fractions = np.array([e["floor_us"] / e["us"]["auto"] for e in timed])
        best = np.array([e["floor_us"] / min(e["us"].values()) for e in timed])
        found |= {
            "median_loss": float(np.median(losses)),
            "mean_loss": float(losses.mean()),
            "loss_90th_percentile": float(np.percentile(losses, 90)),
            "worst_loss": float(losses.max()),
            "chosen_within_5_percent": float((losses <= 0.05).mean()),
            "median_fraction_of_floor": float(np.median(fractions)),
            "median_fraction_of_floor_of_the_best": float(np.median(best)),
            "best_shape": {s: sum(bool(u) and min(u, key=u.__getitem__) == s for u in forced_only) for s in SHAPES[1:]},
            "legal": {s: sum(s in u for u in forced_only) for s in SHAPES[1:]},
        }
    return found


def table(pipelines: dict[str, Any]) -> str:
    """Format a table in Markdown: one row per pipeline, the largest loss first."""
    lines = [
        "| seed | kernels | floor us | auto us | % floor | block_tile | warp_tile | warp_exchange | best % floor "
        "| loss |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows = []
    for seed, e in pipelines.items():
        if "auto" not in e.get("us", {}) or "floor_us" not in e:
            continue
        us, floor = e["us"], e["floor_us"]
        best = min(us.values())
        cells = [f"{us[s]:.1f}" if s in us else "-" for s in SHAPES[1:]]
        rows.append(
            (
                best / us["auto"],
                f"| {seed} | {e.get('kernels', '-')} | {floor:.1f} | {us['auto']:.1f} | {100 * floor / us['auto']:.0f} "
                f"| {' | '.join(cells)} | {100 * floor / best:.0f} | {100 * (us['auto'] / best - 1):.1f} % |",
            )
        )
    return "\n".join([*lines, *(text for _, text in sorted(rows))])


def main(argv: list[str] | None = None) -> int:
    """Run the command line; exit status 1 if a pipeline failed or gave a wrong result."""
    options = parse(argv)
    results: dict[str, Any] = {"seed": options.seed, "pipelines": {}}
    output: Path | None = options.output
    target, bandwidth = options.machine, 1.0
    if not options.dry:
        target = run.require_gpu()
        if not target:
            return 2
        results["environment"] = facts = run.environment()
        results["copy_bytes_per_second"] = bandwidth = device.copy_bandwidth(options.repeat)
        output = output or run.result_path(facts, "random")
    deadline = time.time() + options.seconds
    chosen = islice(usable_seeds(options.seed), options.count)
    tasks = [Task(seed, target, deadline, options.repeat, bandwidth, options.dry) for seed in chosen]
    for done, (task, entry) in enumerate(workers.each(measure, tasks, options.workers), 1):
        results["pipelines"][str(task.seed)] = entry
        for what in (entry.get("error"), *entry.get("wrong", {}).values()):
            if what:
                print(f"seed {task.seed}: {what}", flush=True)
        if done % 20 == 0 or done == len(tasks):
            if not options.dry:
                results["summary"] = summarise(results["pipelines"])
            if output is not None:
                output.parent.mkdir(parents=True, exist_ok=True)
                output.write_text(json.dumps(results, indent=1) + "\n")
    if options.dry:
        legal = {s: sum(s in e.get("us", {}) for e in results["pipelines"].values()) for s in SHAPES}
        print(f"{len(tasks)} pipelines compiled; legal: {legal}")
    else:
        print(table(results["pipelines"]))
        print(json.dumps(results["summary"], indent=1))
        print(f"written to {output}")
    return 1 if any(e.get("error") or e.get("wrong") for e in results["pipelines"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
