"""Soak test: run the checks of the random generators over as many seeds as fit into a time.

python tests/soak.py calls names --minutes 60 --jobs 2 [--first 1000000] [--limit 120] [--json soak.json]
python tests/soak.py calls --first 1000017 --count 1     # one seed once more

A generator is a row of `CHECKS`: `check(seed)` draws a program and raises if something is wrong with it. Each seed runs
in a worker process: a crash of the process, more than `--limit` seconds and more than 4 GiB of memory are failures of
that seed. A failure of a kind that can shrink its programs is made small, and printed as a test. Exit status 1 if any
seed failed. Kinds that need what this machine lacks are left out, and named.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

from soak_workers import MAPPED, Outcome, Task, run


@dataclass(frozen=True)
class Check:
    """A kind of random programs."""

    function: str
    """`module:function`, which draws and checks the program of a seed; what it counts it may return as a dict."""
    shrink: str | None = None
    """Of a seed and whether its process died: the text of a small test that fails the same way."""
    mapped: int = MAPPED
    """Bytes that a worker may map; -1 for any."""
    needs: tuple[str, ...] = ()
    """Modules beyond xdsl, numpy and hypothesis, and programs."""
    limit: float = 0
    """Seconds for one seed, if it may take longer than others."""

    def missing(self) -> list[str]:
        """Return modules and programs that are not installed."""
        return [name for name in self.needs if which(name) is None and find_spec(name) is None]


CHECKS = {
    "addresses": Check("sanitized:addresses", mapped=-1, needs=("gcc", "g++"), limit=240),
    "calls": Check("random_calls:check"),
    "constants": Check("random_constants:check"),
    "edited": Check("random_names:by_hand"),
    "gpu": Check("language_check:check_on_gpu", "language_shrink:shrink_on_gpu", -1, ("cupy",)),
    "halide": Check("language_check:check_as_halide", "language_shrink:shrink_as_halide", needs=("halide",)),
    "language": Check("language_check:check", "language_shrink:shrink"),
    "memcheck": Check("sanitized:memcheck", mapped=-1, needs=("cupy", "compute-sanitizer"), limit=240),
    "mutated": Check("random_mutations:check"),
    "names": Check("random_names:check"),
    "racecheck": Check("sanitized:racecheck", mapped=-1, needs=("cupy", "compute-sanitizer"), limit=240),
    "ranks": Check("random_ranks:check"),
    "schedules": Check("random_schedule_numbers:check"),
    "tables": Check("random_tables:check"),
    "warps": Check("random_ranks:check_warps"),
}
"""Kinds of programs to draw."""

SHRINKING = 240
"""Seconds to make one failure small."""
SHRUNK = 5
"""Failures of one kind that are made small; those after them are likely the same."""


class Soak:
    """Checks of some kinds over seeds: counts and failures."""

    def __init__(self, kinds: list[str], seeds: Iterable[int], limit: float):
        self.checked: Counter[str] = Counter()
        self.counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
        self.failures: list[dict[str, Any]] = []
        self.limit = limit
        self._drawn = ((seed, kind) for seed in seeds for kind in kinds)
        self._to_shrink: deque[tuple[dict[str, Any], bool]] = deque()
        self._shrunk: Counter[str] = Counter()

    def tasks(self) -> Iterator[Task]:
        """Yield seeds to check, and before them failures to make small."""
        while True:
            if self._to_shrink:
                failure, died = self._to_shrink.popleft()
                check = CHECKS[failure["kind"]]
                assert check.shrink is not None
                seconds = SHRINKING - 20  # leaves time to end with what was found
                yield Task(
                    check.shrink, (failure["seed"], died, seconds), failure, SHRINKING + self.limit, check.mapped, True
                )
                continue
            drawn = next(self._drawn, None)
            if drawn is None:
                return
            seed, kind = drawn
            limit = max(self.limit, CHECKS[kind].limit)
            yield Task(CHECKS[kind].function, (seed,), (kind, seed), limit, CHECKS[kind].mapped)

    def ended(self, outcome: Outcome) -> None:
        """Take down how a task ended."""
        if isinstance(outcome.task.about, dict):
            self._made_small(outcome.task.about, outcome)
            return
        kind, seed = outcome.task.about
        self.checked[kind] += 1
        if isinstance(outcome.value, dict):
            self.counts[kind].update(outcome.value)
        self.counts[kind]["most MiB"] = max(self.counts[kind]["most MiB"], outcome.peak >> 20)
        if outcome.failure is None:
            return
        failure = {"kind": kind, "seed": seed, "what": outcome.failure}
        self.failures.append(failure)
        print(f"{kind} {seed}: {_last_line(outcome.failure)}", flush=True)
        if CHECKS[kind].shrink and self._shrunk[kind] < SHRUNK:
            self._shrunk[kind] += 1
            self._to_shrink.append((failure, outcome.died))

    def _made_small(self, failure: dict[str, Any], outcome: Outcome) -> None:
        if outcome.failure is not None:
            failure["shrinking"] = outcome.failure
            print(f"{failure['kind']} {failure['seed']}: not made small: {_last_line(outcome.failure)}", flush=True)
        elif outcome.value is not None:
            failure["test"] = outcome.value
            print(f"{failure['kind']} {failure['seed']} as a test:\n{outcome.value}", flush=True)


def soak(kinds: list[str], seeds: Iterable[int], seconds: float, jobs: int, limit: float) -> dict[str, Any]:
    """Check every seed for every kind, in `jobs` processes, until `seconds` have passed; return counts and failures."""
    started = time.monotonic()
    left_out = {kind: CHECKS[kind].missing() for kind in kinds if CHECKS[kind].missing()}
    for kind, modules in left_out.items():
        print(f"{kind}: left out, since there is no {', '.join(modules)}", flush=True)
    made = Soak([kind for kind in kinds if kind not in left_out], seeds, limit)
    # A failure may come while no seed is left to hand out, and is still to be made small.
    with contextlib.suppress(KeyboardInterrupt):  # then what is there so far counts
        while True:
            run(made.tasks(), jobs, started + seconds - time.monotonic(), made.ended)
            if not made._to_shrink or time.monotonic() > started + seconds:
                break
    return {
        "seconds": round(time.monotonic() - started),
        "jobs": jobs,
        "checked": dict(made.checked),
        "counts": {kind: dict(counts) for kind, counts in made.counts.items()},
        "left out": left_out,
        "failures": sorted(made.failures, key=lambda f: (f["kind"], f["seed"])),
    }


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1][:300]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Check seeds of the random generators for a time.")
    parser.add_argument("kinds", nargs="*", choices=[[], *CHECKS], metavar="KIND", help=", ".join(CHECKS))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--first", type=int, default=1_000_000, help="the first seed; tests take those from 0")
    parser.add_argument("--count", type=int, help="how many seeds of each kind, at most")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one seed")
    parser.add_argument("--json", type=Path, help="write counts and failures to this file")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seeds = itertools.islice(itertools.count(options.first), options.count)
    found = soak(options.kinds or list(CHECKS), seeds, options.minutes * 60, options.jobs, options.limit)
    for kind, count in sorted(found["checked"].items()):
        print(f"{kind}: {count} seeds, {sum(f['kind'] == kind for f in found['failures'])} failed")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if found["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
