"""Compile in many processes, measure in one at a time."""

from __future__ import annotations

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
    """Held by the one process that uses the GPU."""
    return _turn


def default_workers() -> int:
    """One per core, 12 at most: each has a CUDA context of its own."""
    return max(1, min(12, os.cpu_count() or 1))


def each(
    function: Callable[[Any], dict[str, Any]], tasks: Sequence[Any], workers: int
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """(task, what `function` gives for it), as they are done; `{"error": ...}` for one whose process died."""
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
    """Seconds until `deadline`, of `time.time()`."""
    return deadline - time.time()
