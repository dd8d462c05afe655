"""Fit the cost model's constants to the schedules that cost_model.py measured, and write them as a file.

python benchmarks/calibrate.py results.json [--seconds 60] [--output FILE.toml]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from cost_model import ALL, EXTENTS
from drawn import KINDS
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.calibration import Calibration, calibration_text, user_file
from tilefuse.analysis.cost import schedules
from tilefuse.analysis.machine import Machine, machine
from tilefuse.analysis.model import PipelineModel, extract
from tilefuse.dialects.img.attrs import Shape
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile

FITTED = (
    "exchange_row", "barrier", "code_limit", "code_penalty", "issue_overhead", "tail_us", "masked_tail",
    "full_issue_threads", "full_issue_power", "cache_over_dram", "load_bytes_per_instruction", "store_over_dram",
    "in_flight", "apart", "apart_at_least", "overlap_miss",
)  # fmt: skip
"""Those of time. The others are of registers, which the compiler's report would have to be fitted to."""
STEPS = (0.5, 0.7, 0.85, 0.93, 1.07, 1.18, 1.4, 2.0)
MOST_ERROR = 0.6
"""Logarithm from which an error counts as no larger: a schedule that is far off for its own reasons."""
FARTHEST = 4.0
"""How many times more, or less, than at the start a constant may become: few timings tell little of some."""
SHARES = ("apart", "apart_at_least", "overlap_miss")
"""At most 1."""


@dataclasses.dataclass(frozen=True)
class _Kept(ModulePass):
    """Keeps the model of a pipeline whose stages are all one group, as `tile` would see it."""

    name = "keep-model"

    found: list[tuple[PipelineModel, list[int], int]] = dataclasses.field(default_factory=list)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.found.clear()
        for pipeline in [o for o in op.body.block.ops if isinstance(o, PipelineOp)]:
            model = extract(pipeline)
            for group in [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]:
                members = [model.node_of[s.funcs[0]] for s in group.stages]
                self.found.append((model, members, model.node_of[group.output_stage.funcs[0]]))


@dataclasses.dataclass(frozen=True)
class Example:
    """A pipeline of one kernel, and what was measured: microseconds per size, by kind, tile, threads and vector."""

    name: str
    model: PipelineModel
    members: Sequence[int]
    output: int
    measured: dict[Any, list[float]]


def _key(kind: str, tile: Sequence[int], threads: Sequence[int], vector: int) -> Any:
    return (kind, tuple(tile), tuple(threads), vector)


def read_examples(path: Path, target: str) -> list[Example]:
    """The warp tiles that cost_model.py measured, of pipelines that are one kernel on `target`."""
    found = []
    cases = json.loads(path.read_text())["cases"]
    for case in ALL:
        measured = {
            _key(*row["schedules"][0]): row["us"]
            for row in cases.get(case.name, {}).get("rows", [])
            if row["schedules"][0][0] != KINDS[0] and len(row["schedules"]) == 1 and not row["changed"]
        }
        kept = _Kept()
        passes: list[Any] = []
        for p in standard_passes(target):
            passes += [kept, p] if isinstance(p, Tile) else [p]
        case.pipeline().compile(target, passes=passes)  # specialised to how pictures lie
        if measured and len(kept.found) == 1:
            found.append(Example(case.name, *kept.found[0], measured))
    return found


def errors(examples: Sequence[Example], on: Machine) -> tuple[float, int]:
    """Root mean square of log(predicted / measured), good schedules counting more; and how many points."""
    total = weights = 0.0
    count = 0
    for e in examples:
        for i, size in enumerate(EXTENTS):
            best = min(us[i] for us in e.measured.values())
            for c in schedules(e.model, e.members, e.output, on, size, Shape.WarpTile):
                kind = KINDS[2] if any(p.level.value == "block" for p in c.places.values()) else KINDS[1]
                us = e.measured.get(_key(kind, c.tile, c.threads, c.vector))
                if us is None:
                    continue
                error = min(abs(math.log(c.microseconds / us[i])), MOST_ERROR)
                weight = (best / us[i]) ** 1.5
                total, weights, count = total + weight * error**2, weights + weight, count + 1
    return (math.sqrt(total / weights), count) if count else (math.inf, 0)


def fit(
    start: Calibration, score: Callable[[Calibration], float], seconds: float, seed: int
) -> tuple[Calibration, float]:
    """Random steps of one to three constants; those that lower the score are kept."""
    random, deadline = Random(seed), time.monotonic() + seconds
    best, least = start, score(start)
    while time.monotonic() < deadline:
        changed = {}
        for name in random.sample(FITTED, random.choice([1, 1, 2, 3])):
            first = getattr(start, name)
            value = getattr(best, name) * random.choice(STEPS)
            value = min(max(value, first / FARTHEST), first * FARTHEST)
            changed[name] = min(value, 1.0) if name in SHARES else value
        new = dataclasses.replace(best, **changed)
        found = score(new)
        if found < least:
            best, least = new, found
    return best, least


def main(argv: list[str] | None = None) -> int:
    """Exit status: 2 if there is nothing to fit to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("measured", type=Path, help="JSON that cost_model.py wrote")
    parser.add_argument("--machine", help="the GPU that it was measured on (default: as the JSON says)")
    parser.add_argument("--seconds", type=float, default=60, help="for the search (default 60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="TOML (default: what tilefuse reads for this user and GPU)")
    options = parser.parse_args(argv)
    facts = json.loads(options.measured.read_text()).get("environment", {})
    on = machine(options.machine or facts.get("gpu", "h200"))
    examples = read_examples(options.measured, on.name)
    before, count = errors(examples, on)
    if not count:
        print(
            f"{options.measured} has no warp tiles of a pipeline of one kernel; run cost_model.py",
            file=sys.stderr,
        )
        return 2

    def score(c: Calibration) -> float:
        return errors(examples, dataclasses.replace(on, calibration=c))[0]

    best, after = fit(on.calibration, score, options.seconds, options.seed)
    output = options.output or user_file(on.name)
    output.parent.mkdir(parents=True, exist_ok=True)
    day = facts.get("date", "an unknown day")
    origin = f"{on.name}: {count} timings of {day}, root mean square log error {after:.3f}"
    output.write_text(calibration_text(best, origin))
    print(f"{count} timings of {len(examples)} pipelines: error {before:.3f} before, {after:.3f} after")
    print(f"written to {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
