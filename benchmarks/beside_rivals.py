"""Every example at both sizes on the GPU, beside its rivals, in one time-limited run: see README.md.

python benchmarks/beside_rivals.py [--seconds 250] [--compile-seconds 75] [--only harris] [--against Anderson2021]

Each example at each size has processes of its own, for ours and the rivals. All compile side by side; then one after
the other is timed, so that nothing else is on the GPU. A rival that is not compiled in time, fails or ends its process
is reported as such.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import beside_work
import report
from apps import ALL
from array_rivals import NAMES as ARRAYS
from halide_gpu import AUTOSCHEDULERS

OURS = beside_work.OURS
LONG = ("lens_blur", "camera_pipe", "interpolate", "demosaic", "canny_linked", "pyramid_blend", "bgu", "nl_means",
        "box_x16", "bilateral_grid", "max_filter", "harris", "unsharp")  # fmt: skip
LONGEST = ("local_laplacian", "stencil_chain")
"""To schedule by Anderson2021: some ten seconds, which begin early, and minutes, which begin last."""


@dataclass
class Task:
    """The pipeline, size and compilers that one process compiles and times."""

    name: str
    size: str
    who: tuple[str, ...]
    process: Any = None
    pipe: Connection | None = None
    began: float = 0.0
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Figures of each rival in `who`."""

    def title(self) -> str:
        """Title of the task in printed lines."""
        return f"{self.name} {self.size} {', '.join(self.who)}"

    def add(self, message: dict[str, Any]) -> None:
        """Record a message about one compiler, or all; an error after a measured time keeps the time."""
        who = message.pop("who", None)
        for name in self.who if who is None else (who,):
            found = self.figures.setdefault(name, {})
            if "error" in message and "us" in found:
                found["failed_later"] = message["error"]
            else:
                found.update(message)

    def start(self, options: beside_work.Options) -> None:
        """Start to compile."""
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        arguments = (self.name, self.size, self.who, options, theirs)
        self.process = context.Process(target=beside_work.work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.began = time.perf_counter()

    def said(self, seconds: float) -> dict[str, Any]:
        """Return the next message, waiting up to `seconds`."""
        assert self.pipe is not None
        if not self.pipe.poll(seconds):
            return {"error": f"took more than {seconds:.0f} s"}
        try:
            message: dict[str, Any] = self.pipe.recv()
        except EOFError:
            self.process.join(5)
            return {"error": f"its process ended ({_exit_of(self.process.exitcode)})"}
        return message

    def end(self) -> None:
        """End its process, finished or not."""
        if self.process is not None:
            self.process.kill()
            self.process.join(5)
            assert self.pipe is not None
            self.pipe.close()
            self.process = None


def _exit_of(status: int | None) -> str:
    return signal.Signals(-status).name if status is not None and status < 0 else f"status {status}"


def tasks_of(size: str, options: argparse.Namespace) -> list[Task]:
    """Return all tasks of a size, in the order of timing: tilefuse before its rivals."""
    found = []
    for case in ALL:
        if size not in case.sizes() or (options.only and case.name not in options.only):
            continue
        arrays = ARRAYS if case.rival is not None and not options.dry else ()
        together = tuple(who for who in arrays if who in options.against)  # one process imports torch
        apart = [(who,) for who in AUTOSCHEDULERS if who in options.against]
        found += [Task(case.name, size, who) for who in ((OURS,), together, *apart) if who]
    return found


def turn(task: Task) -> int:
    """Return the compile priority of a task: lower numbers first; expendable tasks come last."""
    if OURS in task.who:
        return 0
    if "Anderson2021" in task.who:
        return 4 if task.name in LONGEST else 1 if task.name in LONG else 2
    return 3 if "Li2018" in task.who else 2


def compile_all(tasks: Sequence[Task], options: argparse.Namespace, given: beside_work.Options) -> None:
    """Compile with limited parallelism until all tasks are ready, have failed, or the time is up."""

    until = given.until
    waiting = sorted(tasks, key=turn)[::-1]
    running: dict[Any, Task] = {}
    while (waiting or running) and time.time() < until:
        while waiting and len(running) < options.workers:
            task = waiting.pop()
            task.start(given)
            running[task.pipe] = task
        for pipe in wait(list(running), timeout=max(0.0, min(1.0, until - time.time()))):
            task = running.pop(pipe)
            message = task.said(1.0)
            message["prepare_seconds"] = round(time.perf_counter() - task.began, 1)
            task.add(message)
            if "error" in message:
                print(f"{task.title()}: {message['error']}", flush=True)
                task.end()
    for task in (*waiting, *running.values()):
        after = f" after {time.perf_counter() - task.began:.0f} s" if task.process is not None else ""
        task.add({"error": f"not compiled{after} when the time was up"})
        task.end()


def time_one(task: Task, sample: Any, until: float) -> Any:
    """Time a ready task; return the sample of its result, if it is tilefuse's."""
    assert task.pipe is not None
    kept = None
    try:
        task.pipe.send({"expected": sample})
        while True:
            message = task.said(max(1.0, min(10.0, until - time.time())))
            if message.get("done"):
                break
            last = "error" in message and "who" not in message
            kept = message.pop("sample", kept)
            task.add(message)
            if last:
                break
    except OSError as error:
        task.add({"error": str(error)})
    task.end()
    return kept


def add_figures(results: dict[str, Any], task: Task, bandwidth: float) -> None:
    """Store figures where report.py looks for them."""
    entry = results["cases"].setdefault(task.name, {}).setdefault(task.size, {"rivals": {}})
    if OURS not in task.who:
        entry["rivals"] |= task.figures
        return
    entry |= task.figures.get(OURS, {})
    if "bytes" in entry:
        entry["floor_us"] = entry["bytes"] / bandwidth * 1e6


def lines(task: Task, seconds: float) -> list[str]:
    """Format the lines of a timed task."""
    said = []
    for who, found in task.figures.items():
        title = f"{task.name} {task.size} {who}"
        wrong = f" WRONG {found['wrong']}" if found.get("wrong") else ""
        if "us" in found:
            said.append(f"{title}: {found['us']:.1f} us ({found['by']}), {seconds:.1f} s{wrong}")
        else:
            said.append(f"{title}: {found.get('error', 'no time was left')}")
    return said


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names, whos = [case.name for case in ALL], [*ARRAYS, *AUTOSCHEDULERS]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--sizes", nargs="+", choices=("small", "large"), default=["small", "large"])
    default = [who for who in whos if who != "Mullapudi2016"]
    parser.add_argument("--against", nargs="*", choices=whos, default=default, help="default: " + " ".join(default))
    parser.add_argument("--seconds", type=float, default=250, help="for all (default 250)")
    parser.add_argument("--compile-seconds", type=float, default=75, help="to compile a size in (default 75)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="that compile at a time")
    parser.add_argument("--repeat", type=int, default=7, help="launches, whose median counts (default 7)")
    parser.add_argument("--output", type=Path, help="JSON (default: benchmarks/results/<date>-<gpu>-rivals.json)")
    parser.add_argument("--plot", type=Path, help="a chart of ours over the best rival; needs matplotlib")
    read = "measure nothing: show, and plot, what is in a file, beside rivals of further files of such a GPU"
    parser.add_argument("--read", type=Path, nargs="+", metavar="JSON", help=read)
    parser.add_argument("--dry", metavar="MODEL", help="no GPU: compile only, for such a one (h200)")
    return parser.parse_args(argv)


def measured(tasks: Sequence[Task], results: dict[str, Any], output: Path, until: float) -> None:
    """Time the ready tasks one after the other, and record each."""
    samples: dict[tuple[str, str], Any] = {}
    for task in tasks:
        start = time.perf_counter()
        if task.process is not None and time.time() < until:
            sample = time_one(task, samples.get((task.name, task.size)), until)
            if OURS in task.who:
                samples[task.name, task.size] = sample
        elif task.process is not None:
            task.add({"error": "no time was left"})
            task.end()
        add_figures(results, task, results["copy_bytes_per_second"])
        print(*lines(task, time.perf_counter() - start), sep="\n", flush=True)
        output.write_text(json.dumps(results, indent=1) + "\n")


def joined(files: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge the first file's figures with the rivals of all files; the first file with a rival counts.

    Raises ValueError if they are of other GPUs.
    """
    first, *others = files
    for other in others:
        if other["environment"]["gpu"] != first["environment"]["gpu"]:
            raise ValueError(f"figures of {other['environment']['gpu']}, beside those of {first['environment']['gpu']}")
        for name, entry in first["cases"].items():
            for size, figures in entry.items():
                more = other["cases"].get(name, {}).get(size, {}).get("rivals", {})
                known = {who for who, found in figures["rivals"].items() if "us" in found}
                figures["rivals"] |= {who: found for who, found in more.items() if who not in known}
    return first


def shown(results: dict[str, Any], plot: Path | None) -> int:
    """Print the table, and plot it if requested; return the exit status."""
    print(report.against_rivals(results))
    if plot is not None:
        report.plot_against_rivals(results, plot)
    return 1 if any(report.failed(entry) for entry in results["cases"].values()) else 0


def dry_run(options: argparse.Namespace, folder: Path) -> int:
    """Compile only; return exit status 1 if a program fails."""
    failed = 0
    for size in options.sizes:
        tasks = tasks_of(size, options)
        until = time.time() + options.compile_seconds
        compile_all(tasks, options, beside_work.Options(folder, options.repeat, options.dry, until))
        for task in tasks:
            task.end()
            failed |= "error" in task.figures.get(OURS, {})
            for who, found in task.figures.items():
                print(f"{task.name} {task.size} {who}: {found}", flush=True)
    return int(failed)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; exit status 1 if a program failed, or is wrong."""
    began = time.time()
    options = parse(argv)
    if options.read is not None:
        return shown(joined([json.loads(path.read_text()) for path in options.read]), options.plot)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.dry:
            return dry_run(options, folder)
        import cupy
        import device
        from run import environment, result_path

        facts, bandwidth = environment(), device.copy_bandwidth(options.repeat)
        results: dict[str, Any] = {"environment": facts, "copy_bytes_per_second": bandwidth, "cases": {}}
        output = options.output or result_path(facts, "rivals")
        cupy.get_default_memory_pool().free_all_blocks()
        for size in options.sizes:
            tasks, start = tasks_of(size, options), time.time()
            until = min(start + options.compile_seconds, began + options.seconds)
            compile_all(tasks, options, beside_work.Options(folder, options.repeat, None, until))
            free, total = cupy.cuda.runtime.memGetInfo()
            facts[size] = {"compile_seconds": time.time() - start, "bytes_of_processes": total - free}
            print(f"{size}: compiled in {time.time() - start:.0f} s, {(total - free) / 1e9:.0f} GB", flush=True)
            measured(tasks, results, output, began + options.seconds)
        print(f"all in {time.time() - began:.0f} s", flush=True)
        return shown(results, options.plot)


if __name__ == "__main__":
    sys.exit(main())
