"""Worker processes: many compile, one at a time measures."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from typing import Any

_turn: AbstractContextManager[Any] = nullcontext()


def _start(lock: AbstractContextManager[Any]) -> None:
    global _turn
    _turn = lock


def turn() -> AbstractContextManager[Any]:
    """Lock of the one process that uses the GPU."""
    return _turn


def default_workers() -> int:
    """Return the number of workers: one per core, 12 at most; each has its own CUDA context."""
    return max(1, min(12, os.cpu_count() or 1))


def add_options(parser: argparse.ArgumentParser, what: str, count: int, seconds: float) -> None:
    """Add the options of a tool that measures `count` of `what` in at most `seconds`."""
    parser.add_argument("--count", type=at_least_one, default=count, help=f"{what} (default {count})")
    parser.add_argument("--seconds", type=float, default=seconds, help=f"begin none after (default {seconds:g})")
    parser.add_argument("--seed", type=int, default=0, help="of what is random (default 0)")
    parser.add_argument("--repeat", type=at_least_one, default=7, help="launches, whose median counts (default 7)")
    parser.add_argument("--workers", type=at_least_one, default=default_workers(), help="processes that compile")
    parser.add_argument("--dry", action="store_true", help="no GPU: compile as far as CUDA text")
    parser.add_argument("--machine", default="h200", help="to compile for in a dry run (default h200)")


def at_least_one(text: str) -> int:
    """Parse a number of at least 1, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it is 1 at least, not {text}")
    return int(text)


def each(
    function: Callable[[Any], dict[str, Any]], tasks: Sequence[Any], workers: int
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield (task, result of `function`) in order of completion; `{"error": ...}` if its process died."""
    context = multiprocessing.get_context("spawn")  # a CUDA context does not survive a fork
    with ProcessPoolExecutor(
        min(workers, len(tasks)), mp_context=context, initializer=_start, initargs=(context.Lock(),)
    ) as pool:
        pending = {pool.submit(function, task): task for task in tasks}
        for done in as_completed(pending):
            try:
                yield pending[done], done.result()
            except BrokenProcessPool:
                yield pending[done], {"error": "the process that measured it died"}


def remaining(deadline: float) -> float:
    """Return the seconds until `deadline`, of `time.time()`."""
    return deadline - time.time()
