"""Soak test: run the checks of the random generators over as many seeds as fit into a time.

python tests/soak.py calls names --minutes 60 --jobs 2 [--first 1000000] [--limit 120] [--json soak.json]
python tests/soak.py calls --first 1000017 --count 1     # one seed once more

A generator is a function of `CHECKS`: `check(seed)` draws a program and raises if something is wrong with it. Each seed
runs in a worker process: a crash of the process and a check that takes longer than `--limit` seconds are failures
of that seed. Exit status 1 if any seed failed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as LimitError
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool

TESTS = Path(__file__).resolve().parent
CHECKS = {
    "calls": "random_calls:check",
    "constants": "random_constants:check",
    "edited": "random_names:by_hand",
    "names": "random_names:check",
    "ranks": "random_ranks:check",
    "tables": "random_tables:check",
    "warps": "random_ranks:check_warps",
}
"""Kinds of programs to draw, and the function that draws and checks the program of a seed."""


MEMORY = 8 << 30
"""Bytes that a worker may map, so that what takes more is refused on any machine."""


def run_seed(kind: str, seed: int) -> str | None:
    """Check one seed; the traceback as text if its check failed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")  # what hostile numbers make NumPy say
    sys.path[:0] = [str(TESTS), str(TESTS.parent)]
    module, function = CHECKS[kind].split(":")
    try:
        check = getattr(import_module(module), function)
        with tempfile.TemporaryDirectory() as cache:
            os.environ["TILEFUSE_CACHE_DIR"] = cache
            check(seed)
    except KeyboardInterrupt:
        raise
    except BaseException:  # pytest's failures are no Exception
        return traceback.format_exc()
    finally:
        del sys.path[:2]
    return None


def soak(kinds: list[str], seeds: Iterable[int], seconds: float, jobs: int, limit: float) -> dict[str, Any]:
    """Check every seed for every kind, in `jobs` processes, until `seconds` have passed; return counts and failures."""
    started = time.monotonic()
    done: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    room = threading.Semaphore(2 * jobs)
    """So that no more seeds are handed out than are run soon."""

    with ProcessPool(max_workers=jobs, context=multiprocessing.get_context("spawn")) as pool:
        for seed, kind in ((s, k) for s in seeds for k in kinds):
            if not room.acquire(timeout=max(0.0, started + seconds - time.monotonic())):
                break
            future = pool.schedule(run_seed, args=[kind, seed], timeout=limit)

            def ended(future: Any, kind: str = kind, seed: int = seed) -> None:
                try:
                    what = future.result()
                except (CancelledError, BrokenProcessPool):  # the time is over
                    return
                except LimitError:
                    what = f"took longer than {limit} s"
                except ProcessExpired as error:
                    what = f"the process ended with exit code {error.exitcode}"
                done[kind] += 1
                if what is not None:
                    failures.append({"kind": kind, "seed": seed, "what": what})
                    print(f"{kind} {seed}: {what.strip().splitlines()[-1][:300]}", flush=True)
                room.release()

            future.add_done_callback(ended)
        else:
            pool.close()
            pool.join(timeout=max(0.1, started + seconds - time.monotonic()))
        pool.stop()  # what has not ended by now is not counted
    return {
        "seconds": round(time.monotonic() - started),
        "jobs": jobs,
        "checked": dict(done),
        "failures": sorted(failures, key=lambda f: (f["kind"], f["seed"])),
    }


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
    seeds = itertools.islice(itertools.count(options.first), options.count)
    found = soak(options.kinds or list(CHECKS), seeds, options.minutes * 60, options.jobs, options.limit)
    for kind, count in sorted(found["checked"].items()):
        print(f"{kind}: {count} seeds, {sum(f['kind'] == kind for f in found['failures'])} failed")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if found["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
