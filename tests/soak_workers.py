"""Processes that run tasks one after the other, each task within limits of time and memory.

A task is `module:function` and its arguments; what the function returns, its exception, the end of the process, too
much time and too much memory are all outcomes. Nothing but the standard library is needed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import ModuleType
from typing import IO, Any

TESTS = Path(__file__).resolve().parent
MAPPED = 8 << 30
"""Bytes that a worker may map, so that what takes more is refused on any machine."""
RESIDENT = 4 << 30
"""Bytes of memory that a worker and its compilers may take: with more, the task has failed."""
TASKS = 50
"""After so many, a new process: libraries that are loaded stay."""
_KILOBYTE = 1 << 10


@dataclass(frozen=True)
class Task:
    """A call of a function, named as `module:function`."""

    function: str
    arguments: tuple[Any, ...]
    about: Any = None
    """The caller's key of the task."""
    limit: float = 120
    """Seconds."""
    mapped: int = MAPPED
    """Bytes that the process may map; -1 for any, as CUDA needs it. What ran once without a limit goes on so."""
    fresh: bool = False
    """Whether it needs a process that has done nothing yet: one that forks."""


@dataclass(frozen=True)
class Outcome:
    """End of a task: `failure` is None on success, else a text with the error in its last line."""

    task: Task
    value: Any = None
    failure: str | None = None
    died: bool = False
    """Whether the process ended, by itself or since it went beyond a limit."""
    seconds: float = 0
    peak: int = 0
    """Bytes of memory that the process has taken at most."""


@dataclass
class _Worker:
    process: multiprocessing.process.BaseProcess
    pipe: Connection
    output: IO[bytes]
    task: Task | None = None
    started: float = 0
    done: int = 0
    peak: int = field(default=0)

    def give(self, task: Task) -> None:
        self.task, self.started = task, time.monotonic()
        self.pipe.send((task.function, task.arguments, task.mapped))

    def outcome(self) -> Outcome | None:
        """Return the end of the task; None while it runs."""
        assert self.task is not None
        seconds = time.monotonic() - self.started
        self.peak = max(self.peak, _memory(self.process.pid))
        try:
            if self.pipe.poll():
                value, failure, peak = self.pipe.recv()
                self.done += 1
                peak = max(peak, self.peak)
                if failure is None and peak > RESIDENT:
                    return Outcome(self.task, value, _too_large(peak), True, seconds, peak)
                return Outcome(self.task, value, failure, False, seconds, peak)
        except (EOFError, OSError):
            self.process.join(timeout=5)
            said = f"{self._said()}\nthe process ended with exit code {self.process.exitcode}"
            return Outcome(self.task, None, said, True, seconds, self.peak)
        if self.peak > RESIDENT:
            return Outcome(self.task, None, _too_large(self.peak), True, seconds, self.peak)
        if seconds > self.task.limit:
            return Outcome(self.task, None, f"took longer than {self.task.limit:g} s", True, seconds, self.peak)
        return None

    def end(self) -> None:
        """Kill the process, and the compilers that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        with contextlib.suppress(AttributeError):
            self.process.kill()
        self.process.join(timeout=10)
        self.pipe.close()
        self.output.close()

    def _said(self) -> str:
        self.output.seek(max(0, self.output.seek(0, os.SEEK_END) - 2000))
        return self.output.read().decode(errors="replace").strip()


def run(tasks: Iterator[Task], jobs: int, seconds: float, ended: Callable[[Outcome], None]) -> None:
    """Run tasks in `jobs` processes until there are none left or `seconds` have passed; tell of each that ended.

    `ended` is called in this thread, one at a time. Tasks that run when the time is over are stopped, and not told of.
    """
    until = time.monotonic() + seconds
    workers: list[_Worker | None] = [None] * jobs
    more = True
    try:
        while True:
            for n, worker in enumerate(workers):
                if not more or (worker is not None and worker.task is not None):
                    continue
                task = next(tasks, None)
                if task is None:
                    more = False
                    break
                if worker is not None and task.fresh and worker.done:
                    worker.end()
                    worker = None
                if worker is None:
                    worker = workers[n] = _start()
                worker.give(task)
            busy = [w for w in workers if w is not None and w.task is not None]
            if not busy or time.monotonic() > until:
                return
            wait([w.pipe for w in busy], timeout=0.2)
            for n, worker in enumerate(workers):
                if worker is None or worker.task is None or (outcome := worker.outcome()) is None:
                    continue
                worker.task = None
                if outcome.died or worker.done >= TASKS:
                    worker.end()
                    workers[n] = None
                worker.peak = 0
                ended(outcome)
    finally:
        for worker in workers:
            if worker is not None:
                worker.end()


def _start() -> _Worker:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    output = tempfile.NamedTemporaryFile(prefix="soak-")
    process = spawn.Process(target=_serve, args=(theirs, output.name), daemon=False)
    process.start()
    theirs.close()
    return _Worker(process, ours, output)


def _serve(pipe: Connection, output: str) -> None:
    """Run tasks, in a session of its own, with output to a file."""
    os.setsid()
    log = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for threads in ("OMP_NUM_THREADS", "HL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(threads, "2")
    warnings.simplefilter("ignore")  # what hostile numbers make NumPy say
    sys.path[:0] = [str(TESTS), str(TESTS.parent)]
    _stand_in_for_platformdirs()
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        limited = True
        while True:
            function, arguments, mapped = pipe.recv()
            limited = limited and mapped >= 0
            resource.setrlimit(
                resource.RLIMIT_AS, (mapped if limited else resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
            os.ftruncate(log, 0)
            pipe.send((*_called(function, arguments), _peak()))


def _stand_in_for_platformdirs() -> None:
    """Let tilefuse be imported where the folders of a user, which it would ask for, do not matter."""
    if find_spec("platformdirs") is None:
        module = ModuleType("platformdirs")
        for name in ("user_cache_dir", "user_config_dir"):
            setattr(module, name, lambda *_, **__: str(Path(tempfile.gettempdir(), "tilefuse-soak")))
        sys.modules["platformdirs"] = module


def _called(function: str, arguments: tuple[Any, ...]) -> tuple[Any, str | None]:
    module, name = function.split(":")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TILEFUSE_CACHE_DIR"] = cache
        try:
            return getattr(import_module(module), name)(*arguments), None
        except KeyboardInterrupt:
            raise
        except BaseException:  # pytest's failures are no Exception
            return None, traceback.format_exc()


def _peak() -> int:
    """Return bytes that this process has taken at most since it was asked last, if the system can tell."""
    try:
        status = Path("/proc/self/status").read_text()
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return 0
    return _kilobytes(status, "VmHWM:")


def _memory(pid: int | None) -> int:
    """Return bytes in memory of a process and all its children, as far as the system tells."""
    total, pending = 0, [pid]
    while pending:
        folder = f"/proc/{pending.pop()}"
        try:
            total += _kilobytes(Path(f"{folder}/status").read_text(), "VmRSS:")
            for children in Path(f"{folder}/task").glob("*/children"):
                pending += [int(child) for child in children.read_text().split()]
        except (OSError, ValueError):
            continue
    return total


def _kilobytes(status: str, name: str) -> int:
    for line in status.splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * _KILOBYTE
    return 0


def _too_large(peak: int) -> str:
    return f"took {peak / (1 << 30):.1f} GiB of memory; {RESIDENT >> 30} are allowed"
