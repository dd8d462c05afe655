"""How honest the cost model is: predicted against measured time of drawn schedules of every example.

python benchmarks/cost_model.py [--count 200] [--seconds 150] [--only harris] [--dry]
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import math
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import device
import numpy as np
import run
import workers
from cases import CASES, SIZES, Case, disagreement
from drawn import Draw, Drawing, kinds_in, passes_with

ALL = (*CASES, Case("binomial", "binomial", lambda B, x: x, dtype="uint8"))
"""The examples; the last has no rival to be compared with."""
NAMES = ("small", "large")
EXTENTS = tuple(SIZES[name] for name in NAMES)
NEXT_BEST = 3
"""Schedules measured beside the random ones: those that the model puts behind its choice."""


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=[c.name for c in ALL], metavar="NAME")
    parser.add_argument("--count", type=int, default=200, help="random schedules of all examples (default 200)")
    parser.add_argument("--seconds", type=float, default=180, help="begin no schedule after (default 180)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=7, help="launches, whose median counts (default 7)")
    parser.add_argument("--workers", type=int, default=workers.default_workers(), help="processes that compile")
    parser.add_argument("--output", type=Path, help="JSON (default: benchmarks/results/<date>-<gpu>-cost-model.json)")
    parser.add_argument("--dry", action="store_true", help="no GPU: compile as far as CUDA text")
    parser.add_argument("--machine", default="h200", help="to compile for in a dry run (default h200)")
    options = parser.parse_args(argv)
    if options.count < 1 or options.workers < 1:
        parser.error("--count and --workers are 1 at least")
    return options


@dataclasses.dataclass(frozen=True)
class Task:
    """One example, and the schedules to measure."""

    case: str
    count: int
    seed: int
    target: str
    deadline: float
    repeat: int
    dry: bool


def drawings(case: Case, task: Task) -> list[Drawing]:
    """The model's choice at each size, those behind it, and random ones of every kind in equal parts."""
    kinds = kinds_in(case.pipeline().to_module(), task.target, EXTENTS)
    random = Random(f"{task.seed} {case.name}")
    found = []
    for i, kind in enumerate(kinds):
        share = task.count // len(kinds) + (i < task.count % len(kinds))
        # one of each equal part of the list, so that none comes twice where there are enough
        found += [Drawing(kind, (j + random.random()) / share) for j in range(share)]
    random.shuffle(found)
    chosen = [Drawing(best=i) for i in range(len(EXTENTS))]
    return [*chosen, *(Drawing(best=0, rank=r + 1) for r in range(NEXT_BEST)), *found]


def measure_case(task: Task) -> dict[str, Any]:
    """Rows of one example: drawn schedule, predicted and measured microseconds per size."""
    case = next(c for c in ALL if c.name == task.case)
    entry: dict[str, Any] = {"rows": [], "changed": 0, "repeated": 0, "failed": []}
    seen: set[str] = set()
    reference = None
    try:
        plan = drawings(case, task)
    except Exception as error:  # the other examples still run
        return {**entry, "error": run.reason(error)}
    arrays: dict[str, Any] = {}
    for drawing in plan:
        if workers.remaining(task.deadline) < 0:
            entry["cut"] = True
            break
        draw = Draw(task.target, EXTENTS, drawing)
        try:
            program = _compile(case, draw, task)
            key = json.dumps(draw.record["schedules"])
            if key in seen and drawing.best is None:
                entry["repeated"] += 1
                continue
            seen.add(key)
            row: dict[str, Any] = {"drawing": dataclasses.asdict(drawing), **draw.record}
            if task.dry:
                entry["rows"].append(row)
                continue
            with workers.turn():
                reference = _measure(case, program, task, arrays, reference, row)
            # a schedule whose registers spilled was made smaller: another one than was predicted
            drawn = {tuple(s[1]) for s in row["schedules"]}
            row["changed"] = any(tuple(k.tile) not in drawn for k in program.kernels)
            row["registers"] = max((k.registers or 0) for k in program.kernels)
            row["spill_bytes"] = max((k.spill_bytes or 0) for k in program.kernels)
            entry["changed"] += row["changed"]
            entry["rows"].append(row)
        except Exception as error:  # the other schedules still run
            entry["failed"].append({"drawing": dataclasses.asdict(drawing), "error": run.reason(error)})
            if not task.dry and not device.is_usable():
                entry["error"] = "the GPU does not answer any more"
                break
    return entry


def _compile(case: Case, draw: Draw, task: Task) -> Any:
    pipeline = case.pipeline()
    passes = passes_with(task.target, draw)
    if not task.dry:
        return pipeline.compile("cuda", passes=passes)
    from tilefuse.lowering import lowering_passes
    from tilefuse.lowering.printers import print_cuda
    from tilefuse.passes.pipeline import run_passes

    return print_cuda(run_passes(pipeline.to_module(), [*passes, *lowering_passes(warps=True)]))


def _measure(case: Case, program: Any, task: Task, arrays: dict[str, Any], reference: Any, row: dict[str, Any]) -> Any:
    import cupy

    row["us"] = []
    for name in NAMES:
        sets = device.L2_SETS if name == "small" else 1
        if name not in arrays:
            pictures = [cupy.asarray(case.picture(name, seed)) for seed in range(min(sets, 2))]
            inputs = [pictures[i % len(pictures)].copy() for i in range(sets)]
            first = program(inputs[0])
            arrays[name] = (inputs, [cupy.empty_like(first) for _ in inputs])
        inputs, outputs = arrays[name]
        for given, output in zip(inputs, outputs, strict=True):
            device.poison(output)
            program(given, out=output)
        if name == "small":
            got = outputs[0].get()
            reference = got if reference is None else reference
            row["wrong"] = disagreement(got, reference, case)
        rounds = 3 if name == "small" else 2
        calls = [lambda a=a, b=b: program(a, out=b) for a, b in zip(inputs, outputs, strict=True)] * rounds
        row["us"].append(device.cupy_graph_us(calls, task.repeat))
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    return reference


def spearman(a: list[float], b: list[float]) -> float:
    """Rank correlation; nan for fewer than three points."""
    if len(a) < 3:
        return math.nan

    def ranks(values: list[float]) -> np.ndarray:
        array = np.asarray(values)
        return np.array([(array < v).sum() + ((array == v).sum() - 1) / 2 for v in array])

    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def summary(rows: list[dict[str, Any]], size: int) -> dict[str, float]:
    """Of the schedules of one example at one size that ran as drawn."""
    good = [r for r in rows if not r["changed"] and not r["wrong"]]
    predicted, measured = [r["predicted_us"][size] for r in good], [r["us"][size] for r in good]
    errors = [math.log(p / m) for p, m in zip(predicted, measured, strict=True)]
    found: dict[str, float] = {"schedules": len(good), "spearman": spearman(predicted, measured)}
    if good:
        chosen = next((r for r in rows if r["drawing"]["best"] == size and not r["drawing"]["rank"]), None)
        best = min(measured)
        found |= {
            "rms_log_error": math.sqrt(float(np.mean(np.square(errors)))),
            "mean_log_error": float(np.mean(errors)),
            "best_us": best,
            "worst_us": max(measured),
        }
        if chosen is not None:
            found |= {"chosen_us": chosen["us"][size], "predicted_us": chosen["predicted_us"][size]}
            found["loss"] = chosen["us"][size] / min(best, chosen["us"][size]) - 1
    return found


def summarise(cases: dict[str, Any]) -> dict[str, Any]:
    """Per example and size, and over all."""
    found: dict[str, Any] = {"cases": {}}
    for name, entry in cases.items():
        found["cases"][name] = {s: summary(entry["rows"], i) for i, s in enumerate(NAMES)}
    for i, size in enumerate(NAMES):
        rows = [r for e in cases.values() for r in e["rows"]]
        per_case = [c[size] for c in found["cases"].values()]
        losses = [c["loss"] for c in per_case if "loss" in c]
        correlations = [c["spearman"] for c in per_case if not math.isnan(c["spearman"])]
        overall = summary(rows, i)
        found[size] = {
            **{k: overall[k] for k in ("schedules", "spearman", "rms_log_error", "mean_log_error") if k in overall},
            "mean_spearman_per_example": float(np.mean(correlations)) if correlations else math.nan,
            "median_loss": float(np.median(losses)) if losses else math.nan,
            "worst_loss": max(losses, default=math.nan),
        }
    return found


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    lines = [
        "| example | size | schedules | rank correlation | rms log error | chosen us (predicted) | best us | loss |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, sizes in found["cases"].items():
        for size, s in sizes.items():
            if "chosen_us" not in s:
                continue
            lines.append(
                f"| {name} | {size} | {s['schedules']} | {s['spearman']:.2f} | {s['rms_log_error']:.2f} | "
                f"{s['chosen_us']:.1f} ({s['predicted_us']:.1f}) | {s['best_us']:.1f} | {100 * s['loss']:.1f} % |"
            )
    for size in NAMES:
        s = found[size]
        if "rms_log_error" in s:
            lines.append(
                f"| all | {size} | {s['schedules']} | {s['spearman']:.2f} (mean per example "
                f"{s['mean_spearman_per_example']:.2f}) | {s['rms_log_error']:.2f} | | | median "
                f"{100 * s['median_loss']:.1f} %, most {100 * s['worst_loss']:.1f} % |"
            )
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Exit status: 1 if a schedule failed or gave a wrong result."""
    options = parse(argv)
    chosen = [c for c in ALL if options.only is None or c.name in options.only]
    results: dict[str, Any] = {"seed": options.seed, "cases": {}}
    output: Path | None = options.output
    target = options.machine
    if not options.dry:
        target = run.require_gpu()
        if not target:
            return 2
        results["environment"] = facts = run.environment()
        output = output or run.result_path(facts, "cost-model")
    deadline = time.time() + options.seconds
    tasks = [
        Task(
            c.name, options.count // len(chosen) + (i < options.count % len(chosen)),
            options.seed, target, deadline, options.repeat, options.dry,
        )
        for i, c in enumerate(chosen)
    ]  # fmt: skip
    for task, entry in workers.each(measure_case, tasks, options.workers):
        entry = {"rows": [], "changed": 0, "failed": [], **entry}
        results["cases"][task.case] = entry
        wrong = sum(bool(r.get("wrong")) for r in entry["rows"])
        print(
            f"{task.case}: {len(entry['rows'])} schedules, {entry['changed']} made smaller, {wrong} wrong, "
            f"{len(entry['failed'])} failed{', cut short' if entry.get('cut') else ''}"
            + "".join(f"\n    {f['error']}" for f in entry["failed"][:3])
            + (f"\n    {entry['error']}" if "error" in entry else ""),
            flush=True,
        )
        if not options.dry:
            results["summary"] = summarise(results["cases"])
        if output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(json.dumps(results, indent=1) + "\n")
    if not options.dry:
        print(table(results["summary"]))
        print(f"written to {output}")
    entries = results["cases"].values()
    return 1 if any(e.get("error") or e["failed"] or any(r.get("wrong") for r in e["rows"]) for e in entries) else 0


if __name__ == "__main__":
    sys.exit(main())
