"""Accuracy of the cost model: predicted against measured time of drawn schedules of every example.

python benchmarks/cost_model.py [--count 200] [--seconds 150] [--only harris] [--dry]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import run
from cases import CASES, SIZES, Case, disagreement
from xdsl.dialects.builtin import ModuleOp

from tilefuse.tools.calibration import measuring, workers
from tilefuse.tools.calibration.fitting import spearman
from tilefuse.tools.calibration.measuring import NAMES


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=[c.name for c in CASES], metavar="NAME")
    parser.add_argument("--output", type=Path, help="JSON (default: benchmarks/results/<date>-<gpu>-cost-model.json)")
    workers.add_options(parser, "random schedules of all examples", 200, 180)
    return parser.parse_args(argv)


@dataclasses.dataclass(frozen=True)
class Subject:
    """A case, by its name: its functions cannot be sent to another process."""

    name: str

    @property
    def case(self) -> Case:
        """The measured case."""
        return next(c for c in CASES if c.name == self.name)

    def module(self) -> ModuleOp:
        """Return the algorithm as a module."""
        module: ModuleOp = self.case.pipeline().to_module()
        return module

    def pictures(self, width: int, height: int, seed: int) -> list[np.ndarray]:
        """Return the random input."""
        return [self.case.picture(next(n for n, size in SIZES.items() if size == (width, height)), seed)]

    def differs(self, got: np.ndarray, expected: np.ndarray) -> str | None:
        """Explain why another schedule's result is wrong; None if it is right."""
        return disagreement(got, expected, self.case)


def summary(rows: list[dict[str, Any]], size: int, chosen: dict[str, Any] | None = None) -> dict[str, float]:
    """Summarise the schedules of one example at one size that ran as drawn; `chosen`: the compiler's choice."""
    good = [r for r in rows if not r["changed"] and not r["wrong"]]
    predicted, measured = [r["predicted_us"][size] for r in good], [r["us"][size] for r in good]
    errors = [math.log(p / m) for p, m in zip(predicted, measured, strict=True)]
    found: dict[str, float] = {"schedules": len(good), "spearman": spearman(predicted, measured)}
    if good:
        best = min(measured)
        found |= {
            "rms_log_error": math.sqrt(float(np.mean(np.square(errors)))),
            "mean_log_error": float(np.mean(errors)),
            "best_us": best,
            "worst_us": max(measured),
        }
        if chosen is not None and not chosen.get("wrong"):
            found |= {"chosen_us": chosen["us"], "predicted_us": chosen["predicted_us"]}
            found["loss"] = chosen["us"] / min(best, chosen["us"]) - 1
    return found


def summarise(cases: dict[str, Any]) -> dict[str, Any]:
    """Summarise the cases per example and size, and over all."""
    found: dict[str, Any] = {"cases": {}}
    for name, entry in cases.items():
        found["cases"][name] = {s: summary(entry["rows"], i, entry["compiled"].get(s)) for i, s in enumerate(NAMES)}
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
    """Format the summary as a table in Markdown."""
    lines = [
        "| example | size | schedules | rank correlation | rms log error | compiled us (predicted) | best us | loss |",
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
    """Run the command line; exit status 1 if a schedule failed or gave a wrong result."""
    options = parse(argv)
    chosen = [Subject(c.name) for c in CASES if options.only is None or c.name in options.only]
    results: dict[str, Any] = {"seed": options.seed, "cases": {}}
    output: Path | None = options.output
    target = options.machine
    if not options.dry:
        target = run.require_gpu()
        if not target:
            return 2
        results["environment"] = facts = run.environment()
        output = output or run.result_path(facts, "cost-model")
    tasks = measuring.tasks(
        chosen, options.count, options.seed, target, options.seconds, repeat=options.repeat, dry=options.dry,
        compiled=True,
    )  # fmt: skip
    for task, entry in measuring.run_tasks(tasks, options.workers):
        results["cases"][task.subject.name] = entry
        print(measuring.said(task, entry), flush=True)
        if not options.dry:
            results["summary"] = summarise(results["cases"])
        if output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(json.dumps(results, indent=1) + "\n")
    if not options.dry:
        print(table(results["summary"]))
        print(f"written to {output}")
    return 0 if all(map(measuring.is_sound, results["cases"].values())) else 1


if __name__ == "__main__":
    sys.exit(main())
