"""Comparison of two checkouts on one GPU: the examples at two sizes, and random pipelines at 4096 x 4096.

python benchmarks/before_after.py --write JOBS          (here: job files, of pipelines that the older checkout reads)
python benchmarks/before_after.py BEFORE JOBS [--seconds 80] [--workers 7] [--first 0] --output FILE

Each of so many pairs of processes compiles a job in both checkouts; one pair at a time then times them by turns.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROUNDS = 3
"""Times of each, by turns, of which the least counts."""


def write(folder: Path, count: int) -> None:
    """Write the jobs: the cases of cases.py, then `count` random pipelines."""
    from cases import CASES, SIZES
    from large_pipelines import LargePipeline, usable_seeds

    from tilefuse.dialects.img.elements import ELEMENTS

    folder.mkdir(parents=True, exist_ok=True)
    jobs: list[dict[str, Any]] = []
    for case in CASES:
        for size in ("large", "small"):
            width, height = SIZES[size]
            shape = [case.channels] * (case.channels > 0) + [height, width]
            picture = ["", shape, case.dtype, "unit" if case.dtype == "float32" else "bits", case.top]
            job = {"name": f"{case.name}.{size}", "extent": [width, height], "inputs": [picture], "keywords": {}}
            jobs.append({**job, "strict": False, "text": str(case.pipeline(size).to_module())})
    for seed in islice(usable_seeds(0), count):
        large = LargePipeline(seed)
        inputs = []
        for name, box in large.boxes.items():
            dtype, whole = ELEMENTS[large.values[name].element].dtype, large.values[name].whole
            kind = {"float32": "bytes" if whole else "unit2", "bool": "bool"}.get(dtype, "bits")
            inputs.append([name, [n for _, n in reversed(box)], dtype, kind, 0])
        case = large.case
        keywords = {**case.params, "mins": case.mins, "sizes": case.sizes}
        job = {"name": f"random_{seed}", "extent": [4096, 4096], "inputs": inputs, "keywords": keywords}
        jobs.append({**job, "strict": True, "text": str(case.module)})
    for number, job in enumerate(jobs):
        (folder / f"{number:03}.json").write_text(json.dumps(job, default=lambda number: number.item()))


class Checkout:
    """A process that compiles and times in one checkout."""

    def __init__(self, tree: Path, target: str):
        search = os.pathsep.join([str(tree), os.environ.get("PYTHONPATH", "")])
        paths = {"PYTHONPATH": search, "TILEFUSE_CACHE_DIR": f"/tmp/tilefuse-{tree.name}-{os.getpid()}"}
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "timed_jobs.py"), target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **paths},
            cwd=tree,
            text=True,
        )

    def ask(self, command: str, path: Path) -> None:
        """Send a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([command, str(path)]) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Return its answer. Raises RuntimeError with an error of the process."""
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline() or '{"error": "the process died"}')
        if "error" in found:
            raise RuntimeError(found["error"])
        return found

    def stop(self) -> None:
        """End the process."""
        self._process.kill()


def compare(pair: list[Checkout], path: Path, turn: threading.Lock, dry: bool) -> dict[str, Any]:
    """Measure one job in both checkouts, in microseconds."""
    for checkout in pair:
        checkout.ask("compile", path)
    compiled = _answers(pair)
    if dry:
        return {"kernels": [c["kernels"] for c in compiled]}
    with turn:
        first = []
        for checkout in pair:
            checkout.ask("begin", path)
            first.append(checkout.answer())
        us = [math.inf, math.inf]
        for order in [(0, 1), (1, 0), (0, 1)][:ROUNDS]:
            for which in order:
                pair[which].ask("time", path)
                us[which] = min(us[which], pair[which].answer()["us"])
        for checkout in pair:
            checkout.ask("end", path)
            checkout.answer()
    before, after = (f["results"] for f in first)
    agree = all(math.isclose(a, b, rel_tol=1e-5) for a, b in zip(before, after, strict=True))
    return {"us": us, "agree": agree, "bytes": first[1]["bytes"], "kernels": [c["kernels"] for c in compiled]}


def _answers(pair: Iterable[Checkout]) -> list[dict[str, Any]]:
    """Return the answers of both, even if the first is an error."""
    found: list[Any] = []
    for checkout in pair:
        try:
            found.append(checkout.answer())
        except RuntimeError as error:
            found.append(error)
    for answer in found:
        if isinstance(answer, RuntimeError):
            raise answer
    return found


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Return the results of all jobs finished in time, by name."""
    deadline, results, turn = time.time() + options.seconds, {}, threading.Lock()
    jobs: queue.SimpleQueue[Path] = queue.SimpleQueue()
    paths = sorted(options.jobs.resolve().glob("*.json"))
    for path in paths[options.first :]:
        jobs.put(path)

    def work(pair: list[Checkout]) -> None:
        while time.time() < deadline and not jobs.empty():
            path = jobs.get()
            name = json.loads(path.read_text())["name"]
            try:
                results[name] = compare(pair, path, turn, options.dry)
            except Exception as error:
                results[name] = {"error": str(error)}

    target = "h200" if options.dry else "cuda"
    trees = (options.before.resolve(), HERE.parent)
    pairs = [[Checkout(tree, target) for tree in trees] for _ in range(options.workers)]
    threads = [threading.Thread(target=work, args=(pair,), daemon=True) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline + 8 - time.time()))
    for checkout in (c for pair in pairs for c in pair):
        checkout.stop()
    return dict(sorted(results.items()))


def table(results: dict[str, Any]) -> str:
    """Format the slower and differing pipelines, and the geometric means."""
    timed = {name: r["us"][1] / r["us"][0] for name, r in results.items() if "us" in r}
    lines = [f"{name}: {r['error']}" for name, r in results.items() if "error" in r]
    lines += [f"{name}: results differ" for name, r in results.items() if not r.get("agree", True)]
    for kind in ("random", "examples"):
        chosen = {n: q for n, q in timed.items() if n.startswith("random_") is (kind == "random")}
        if not chosen:
            continue
        mean = math.exp(sum(map(math.log, chosen.values())) / len(chosen))
        slower = {n: q for n, q in chosen.items() if q > 1.03}
        lines.append(f"{kind}: {len(chosen)}, geometric mean after / before {mean:.4f}, over 3 % slower {len(slower)}")
        shown = (
            sorted(chosen, key=lambda n: -chosen[n]) if kind == "examples" else sorted(slower, key=lambda n: -slower[n])
        )
        for name in shown:
            before, after = results[name]["us"]
            kernels = " -> ".join(map(str, results[name]["kernels"]))
            lines.append(f"  {name:24} {before:9.2f} {after:9.2f}  {chosen[name]:.3f}  kernels {kernels}")
    return "\n".join(lines)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("before", type=Path, nargs="?", help="the older checkout")
    parser.add_argument("jobs", type=Path, nargs="?", help="folder of job files")
    parser.add_argument("--write", type=Path, help="write job files to this folder, and nothing else")
    parser.add_argument("--count", type=int, default=200, help="random pipelines to write (default 200)")
    parser.add_argument("--seconds", type=float, default=80, help="begin none after (default 80)")
    parser.add_argument("--workers", type=int, default=7, help="pairs of processes (default 7)")
    parser.add_argument("--first", type=int, default=0, help="of the job files, the number to begin with")
    parser.add_argument("--output", type=Path, help="JSON")
    parser.add_argument("--dry", action="store_true", help="no GPU: compile only")
    options = parser.parse_args()
    if options.write is not None:
        write(options.write, options.count)
        return
    results = run(options)
    if options.output is not None:
        found: dict[str, Any] = {"jobs": results}
        if not options.dry:
            from run import environment  # which asks the GPU

            found["environment"] = environment()
        options.output.write_text(json.dumps(found, indent=1) + "\n")
    print(table(results) if not options.dry else f"{len(results)} compiled: {results}")


if __name__ == "__main__":
    main()
