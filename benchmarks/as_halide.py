"""Comparison of the CPU back end with Halide's own package on whole pictures of every example: see README.md.

python benchmarks/as_halide.py [--only hist] [--sizes tiny small] [--seconds 100] [--output results.json]

Needs the package `halide`. Its schedule is a plain one: every Func on its own, rows in parallel.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from agree import differences
from apps import ALL
from cases import EXAMPLES, Case
from run import git_revision

import tilefuse

TESTS = EXAMPLES.parent / "tests" / "examples"
LANES = 8
INLINED = {
    "nl_means": {"by_channel", "with_alpha"},
    "lens_blur": {"difference"},
    "depthwise_separable_conv": {"filtered"},
}
"""Funcs that are computed where they are read: arrays of them would be larger than what they save."""
VECTORS = {"mat_mul", "conv_layer", "depthwise_separable_conv", "demosaic", "nl_means", "bgu"}
"""Examples whose updates take minutes one number at a time."""
SLOW = {"demosaic"}
"""Cases that are compared only at `small` sizes."""
EXPONENTIALS = {"local_laplacian", "nl_means"}
"""Examples that call `exp`, which Halide computes by a polynomial of its own."""


class Recorder:
    """Halide's names; records the Funcs that an algorithm makes."""

    def __init__(self, halide: Any):
        self._halide = halide
        self.funcs: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._halide, name)

    def Func(self, *named: str) -> Any:
        """Make a recorded Func."""
        self.funcs.append(self._halide.Func(*named))
        return self.funcs[-1]


def algorithm(case: Case, size: str) -> Callable[..., Any]:
    """Run an algorithm, (images, hl) to output, with the arguments of the case."""
    arguments: dict[str, Any] = {**case.arguments, **getattr(case, "at", {}).get(size, {})}
    if case.name == "lens_blur":
        sys.path.append(str(TESTS))
        from small import drawn  # random_float gives other numbers in each compiler

        arguments["random"] = drawn
    function = next((e for e in case.module().EXAMPLES if e.name == case.name), case.module().EXAMPLES[0]).algorithm
    return lambda images, hl: function(*images, hl=hl, **arguments)


def parameters(hl: Any, arrays: Sequence[np.ndarray]) -> list[Any]:
    """Make an ImageParam for each array."""
    kinds = {"f": hl.Float, "u": hl.UInt, "i": hl.Int}
    return [
        hl.ImageParam(kinds[a.dtype.kind](8 * a.dtype.itemsize), a.ndim, f"image_{i}") for i, a in enumerate(arrays)
    ]


def plain_schedule(hl: Any, case: Case, funcs: Sequence[Any]) -> None:
    """Schedule every Func separately: outermost coordinate parallel, innermost vectorised."""
    guard = hl.TailStrategy.GuardWithIf
    for func in funcs:
        if not func.defined() or func.name().partition("$")[0] in INLINED.get(case.name, ()):
            continue
        func.compute_root()
        arguments = func.args()
        if len(arguments) > 1:
            func.parallel(arguments[-1]).vectorize(arguments[0], LANES, guard)
        for i in range(func.num_update_definitions() if case.name in VECTORS else 0):
            schedule_update(func.update(i), func.update_args(i), arguments, guard)


def schedule_update(stage: Any, indices: Sequence[Any], arguments: Sequence[Any], guard: Any) -> None:
    """Schedule the pure coordinates of an update: the first vectorised, the last parallel."""
    free = [v for v in arguments if any(str(index).endswith(f": {v.name()}>") for index in indices)]
    if free and free[0].name() == arguments[0].name():
        stage.vectorize(free[0], LANES, guard)
    if len(free) > 1:
        stage.parallel(free[-1])


def by_halide(case: Case, size: str, arrays: Sequence[np.ndarray], shape: Sequence[int]) -> np.ndarray:
    """Compute by Halide with strict floats."""
    import halide

    strict = halide.get_jit_target_from_environment().with_feature(halide.TargetFeature.StrictFloat)
    images, recorder = parameters(halide, arrays), Recorder(halide)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of every Python float that is no float32
        output = algorithm(case, size)(images, recorder)
    plain_schedule(halide, case, recorder.funcs)
    for image, array in zip(images, arrays, strict=True):
        image.set(halide.Buffer(array))
    return np.asarray(output.realize(list(reversed(shape)), strict))


def compare(case: Case, size: str) -> dict[str, Any]:
    """Return differences of strict and plain programs from Halide's results, and the times of the calls."""
    arrays, box = case.inputs(size), case.box(size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = tilefuse.Pipeline(algorithm(case, size)(parameters(tilefuse, arrays), tilefuse))
    entry: dict[str, Any] = {}
    results: dict[str, np.ndarray] = {}
    for kind in ("strict", "plain"):
        program = pipeline.compile("cpu", strict_float=kind == "strict")
        start = time.perf_counter()
        results[kind] = program(*arrays, **box)
        entry[f"{kind}_seconds"] = time.perf_counter() - start
    start = time.perf_counter()
    expected = by_halide(case, size, arrays, results["strict"].shape)
    entry["halide_seconds"] = time.perf_counter() - start
    return entry | {kind: differences(result, expected) for kind, result in results.items()}


def in_child(case: Case, size: str, limit: float) -> dict[str, Any]:
    """Run `compare` in its own process: Halide keeps compiled code, and some errors stop the process."""
    command = [sys.executable, __file__, "--child", "--only", case.name, "--sizes", size]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"takes more than {limit:g} s"}
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return {"error": said[-1] if said else f"exit status {done.returncode}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def facts() -> dict[str, Any]:
    """Return the facts needed to repeat the comparison."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": " ".join([Path(sys.executable).name, *sys.argv]),
        "revision": git_revision(),
        "halide": version("halide"),
        "numpy": np.__version__,
        "cores": os.cpu_count(),
    }


def failed(name: str, entry: Mapping[str, Any]) -> bool:
    """Whether a case has no result, or differs from Halide's bits where equality is possible."""
    return "error" in entry or (bool(entry["strict"].get("differing", 1)) and name not in EXPONENTIALS)


def row(name: str, size: str, entry: Mapping[str, Any]) -> str:
    """Return a line of the table."""
    if "error" in entry:
        return f"| {name} | {size} | {entry['error']} | | | |"
    kinds = [
        entry[kind].get("error") or f"{entry[kind]['differing']} | {entry[kind]['largest_difference']:.3g}"
        for kind in ("strict", "plain")
    ]
    strict = entry["strict"]
    return f"| {name} | {size} | {strict.get('pixels')} | {strict.get('largest', 0):.4g} | {' | '.join(kinds)} |"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; exit status 1 if a case failed, or a strict one without exponentials differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=[case.name for case in ALL], metavar="NAME")
    parser.add_argument("--sizes", nargs="+", choices=("tiny", "small"), default=["tiny", "small"])
    parser.add_argument("--seconds", type=float, default=1200, help="that a case may take")
    parser.add_argument("--output", type=Path, help="JSON")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    cases = [case for case in ALL if options.only is None or case.name in options.only]
    if options.child:
        print(json.dumps(compare(cases[0], options.sizes[0])))
        return 0
    cells: dict[str, Any] = {}
    results = {**facts(), "cases": cells}
    print("| example | size | pixels | largest | differ, strict | by at most | differ | by at most |")
    print("|---|---|---|---|---|---|---|---|")
    for size in options.sizes:
        for case in cases:
            if size in case.sizes() and (size == "tiny" or options.only or case.name not in SLOW):
                entry = cells.setdefault(case.name, {})[size] = in_child(case, size, options.seconds)
                print(row(case.name, size, entry), flush=True)
                if options.output is not None:
                    options.output.write_text(json.dumps(results, indent=1) + "\n")
    return int(any(failed(name, entry) for name, sizes in cells.items() for entry in sizes.values()))


if __name__ == "__main__":
    sys.exit(main())
