"""Fit of the warp-tile cost constants to measured times."""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tilefuse.analysis.calibration import REGISTER_CONSTANTS, Calibration
from tilefuse.analysis.machine import Machine
from tilefuse.execution.candidate import SearchOptions
from tilefuse.execution.features import predict
from tilefuse.execution.search import schedules
from tilefuse.execution.warp_tile.features import WarpFeatures
from tilefuse.tools.calibration.drawn import CALIBRATED_KINDS, kind_of
from tilefuse.tools.calibration.measuring import EXTENTS
from tilefuse.tools.calibration.pipelines import PIPELINES, GroupedPipeline, Subject, grouped

FITTED = tuple(f.name for f in dataclasses.fields(Calibration) if f.name not in REGISTER_CONSTANTS)
"""Constants of time. The others would have to be fitted to the compiler's report."""
STEPS = (0.5, 0.7, 0.85, 0.93, 1.07, 1.18, 1.4, 2.0)
MOST_ERROR = 0.6
"""Logarithm from which an error counts as no larger: a schedule that is far off for its own reasons."""
MOST_CHANGE = 4.0
"""Largest factor by which a constant may grow or shrink from its start: few timings tell little of some."""
SAME = 0.01
"""Share by which predictions may differ and the schedules still count alike as the model's choice."""
LOSS_WEIGHT = 0.7
"""Weight of the choice's loss against the error, in the fit."""
SHARES = ("desynchronized", "overlap_miss")
"""At most 1."""

Key = tuple[str, tuple[int, ...], tuple[int, ...], int]
"""A schedule: kind, tile, threads, vector."""


@dataclasses.dataclass(frozen=True)
class Example:
    """A one-kernel pipeline, and its measured microseconds per size of EXTENTS."""

    name: str
    grouped: GroupedPipeline
    measured: Mapping[Key, Sequence[float]]


class TimedSchedule(NamedTuple):
    """One schedule at one size."""

    example: str
    size: int
    predicted: float
    measured: float
    weight: float
    """Greater for good schedules: of bad ones only that they are bad has to be known."""


class Timed(NamedTuple):
    """Features and time of one schedule at one size."""

    example: str
    size: int
    work: WarpFeatures
    measured: float
    weight: float


class Quality(NamedTuple):
    """Agreement of predictions with measurements."""

    error: float
    """Weighted root mean square of log(predicted / measured)."""
    correlation: float
    """Spearman's rank correlation, the mean of those per example and size; nan if there are too few points."""
    loss: float
    """Share by which the schedules predicted best are slower than the best: the mean per example and size, where
    those predicted hardly worse count too."""


def read_examples(results: Mapping[str, Any], target: str) -> list[Example]:
    """Read the warp tiles of PIPELINES from results of `measuring` and benchmarks/cost_model.py."""
    found = []
    for name, case in results.get("cases", {}).items():
        measured = {
            (kind, tuple(tile), tuple(threads), vector): row["us"]
            for row in case["rows"]
            if "us" in row and len(row["schedules"]) == 1 and not row["changed"] and not row.get("wrong")
            for kind, tile, threads, vector in row["schedules"]
            if kind != CALIBRATED_KINDS[0]
        }
        if measured and name in PIPELINES and (seen := grouped(Subject(name).module(), target)) is not None:
            found.append(Example(name, seen, measured))
    return found


def timed(examples: Sequence[Example], on: Machine) -> list[Timed]:
    """Return all measured schedules that the search for `on` compares; their features do not depend on FITTED."""
    found = []
    for e in examples:
        for i, size in enumerate(EXTENTS):
            best = min(us[i] for us in e.measured.values())
            for c in schedules(e.grouped.facts(size), on, SearchOptions(CALIBRATED_KINDS[1])):
                us = e.measured.get((kind_of(c), c.tile, c.threads, c.vector))
                if us is not None:
                    assert isinstance(c.features, WarpFeatures)
                    found.append(Timed(e.name, i, c.features, us[i], (best / us[i]) ** 1.5))
    return found


def predicted(schedules: Sequence[Timed], on: Machine) -> list[TimedSchedule]:
    """Return the predicted and measured times."""
    return [TimedSchedule(t.example, t.size, predict(t.work, on), t.measured, t.weight) for t in schedules]


def points(examples: Sequence[Example], on: Machine) -> list[TimedSchedule]:
    """Return predicted and measured times of all schedules that the search for `on` compares."""
    return predicted(timed(examples, on), on)


def quality(found: Sequence[TimedSchedule]) -> Quality:
    """Rate the predictions of at least one point."""
    total = sum(p.weight * min(abs(math.log(p.predicted / p.measured)), MOST_ERROR) ** 2 for p in found)
    groups = itertools.groupby(sorted(found), key=lambda p: (p.example, p.size))
    alike = [list(group) for _, group in groups]
    correlations = [spearman([p.predicted for p in g], [p.measured for p in g]) for g in alike if len(g) > 2]
    return Quality(
        math.sqrt(total / sum(p.weight for p in found)),
        float(np.mean(correlations)) if correlations else math.nan,
        float(np.mean([_loss(g) for g in alike])),
    )


def _loss(found: Sequence[TimedSchedule]) -> float:
    best, least = min(p.measured for p in found), min(p.predicted for p in found)
    shares = [math.exp((1.0 - p.predicted / least) / SAME) for p in found]
    return sum(s * (p.measured / best - 1.0) for s, p in zip(shares, found, strict=True)) / sum(shares)


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Compute the rank correlation; nan for fewer than three points, or if all of one side are equal."""
    if len(a) < 3 or len(set(a)) == 1 or len(set(b)) == 1:
        return math.nan

    def ranks(values: Sequence[float]) -> np.ndarray:
        array = np.asarray(values)
        return np.array([(array < v).sum() + ((array == v).sum() - 1) / 2 for v in array])

    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def with_constants(on: Machine, constants: Calibration) -> Machine:
    """Return the machine with other constants of the cost model."""
    return dataclasses.replace(on, calibration=constants)


def fit(examples: Sequence[Example], on: Machine, start: Calibration, seconds: float, seed: int) -> Calibration:
    """Search for constants, starting from the ones of `on`, of least error and least loss of the chosen schedule."""

    known = timed(examples, on)

    def score(constants: Calibration) -> float:
        found = quality(predicted(known, with_constants(on, constants)))
        return found.error + LOSS_WEIGHT * found.loss

    return search(on.calibration, start, score, seconds, seed)


def search(
    around: Calibration, start: Calibration, score: Callable[[Calibration], float], seconds: float, seed: int
) -> Calibration:
    """Take random steps of one to three constants from `start`; keep steps that lower the score."""
    random, deadline = Random(seed), time.monotonic() + seconds
    best, least = start, score(start)
    while time.monotonic() < deadline:
        changed = {}
        for name in random.sample(FITTED, random.choice([1, 1, 2, 3])):
            first = getattr(around, name)
            value = getattr(best, name) * random.choice(STEPS)
            value = min(max(value, first / MOST_CHANGE), first * MOST_CHANGE)
            changed[name] = min(value, 1.0) if name in SHARES else value
        new = dataclasses.replace(best, **changed)
        found = score(new)
        if found < least:
            best, least = new, found
    return best


def split_schedules(examples: Sequence[Example], share: float, seed: int) -> tuple[list[Example], list[Example]]:
    """Split the schedules of every example into a random `share` and the rest."""
    random = Random(seed)
    kept: list[Example] = []
    held_out: list[Example] = []
    for e in examples:
        keys = sorted(e.measured)
        random.shuffle(keys)
        cut = round(share * len(keys))
        for part, to in ((keys[:cut], kept), (keys[cut:], held_out)):
            if part:
                to.append(dataclasses.replace(e, measured={k: e.measured[k] for k in part}))
    return kept, held_out
