"""Parallel compilation in threads, in which recompilations take precedence over new kernels."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")
"""Report of a compiler on a kernel."""


class SerialCompilation(Generic[T]):
    """Compile kernels in the calling thread: on one core, importing threads would only cost 10 ms."""

    def __init__(self, compile: Callable[[str, str], T]):
        self._compile = compile
        self._waiting: list[tuple[str, str]] = []

    def start(self, name: str, text: str, *, is_recompilation: bool = False) -> None:
        """Accept a kernel."""
        self._waiting.append((name, text))

    def finished(self) -> list[tuple[str, T]]:
        """Compile the kernel that has waited longest; return its name and report."""
        name, text = self._waiting.pop(0)
        return [(name, self._compile(name, text))]


class ParallelCompilation(Generic[T]):
    """Compile kernels in as many threads as cores, recompilations first, since they may cause further compilations."""

    def __init__(self, compile: Callable[[str, str], T], pool: ThreadPoolExecutor):
        self._compile, self._pool = compile, pool
        self._waiting: tuple[deque[tuple[str, str]], deque[tuple[str, str]]] = deque(), deque()
        """Kernels that were compiled before, and the others."""
        self._running: set[Future[tuple[str, T]]] = set()

    def start(self, name: str, text: str, *, is_recompilation: bool = False) -> None:
        """Begin to compile a kernel, or queue it for a core; recompilations come first."""
        self._waiting[not is_recompilation].append((name, text))
        self._running.add(self._pool.submit(self._next))

    def _next(self) -> tuple[str, T]:
        """Compile the next queued kernel; there is one for each call."""
        recompilations, others = self._waiting
        try:
            name, text = recompilations.popleft()
        except IndexError:
            name, text = others.popleft()
        return name, self._compile(name, text)

    def finished(self) -> list[tuple[str, T]]:
        """Wait for at least one kernel; return the names and reports of all finished ones."""
        from concurrent.futures import FIRST_COMPLETED, wait

        done, self._running = wait(self._running, return_when=FIRST_COMPLETED)
        return [future.result() for future in done]


@contextmanager
def parallel_executor(
    compile: Callable[[str, str], T], kernels: int
) -> Iterator[SerialCompilation[T] | ParallelCompilation[T]]:
    """Yield an executor for `kernels` kernels: a parallel one, unless there is only one kernel."""
    if kernels == 1:
        yield SerialCompilation(compile)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_cores()) as pool:
        try:
            yield ParallelCompilation(compile, pool)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _cores() -> int | None:
    """Return the number of cores that this process may run on; None if it is not known."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
