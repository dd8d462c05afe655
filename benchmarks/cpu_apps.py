"""All examples beside Halide's CPU schedules, by hand and found, on the same threads: see README.md.

    OMP_NUM_THREADS=2 HL_NUM_THREADS=2 python benchmarks/cpu_apps.py --photo 768x512 --out cpu_apps.json

Each example runs in a process of its own, where calls of ours alternate with those of the schedule that Halide's own
app has (`cpu_schedules.py`), of every one that Halide's autoschedulers find, and with Halide's plain one: every Func
that is not inlined by itself stored, its rows in parallel, vectors along x. Products of matrices have NumPy's BLAS
beside them. Processes compile side by side (`--jobs`, as many as there are examples if nothing is to run beside what is
timed), and time one at a time, after the last has compiled. `ratio` is the least time of the best of
these over ours: below 1 means that we lose. `cpu` is the same of processor time, which leaves out threads that spin
through a call of less than a tick of the clock: it says something of calls of 10 ms and more.
Needs the package `halide`; or, where that is not, the folder that `--write FOLDER` filled on a machine with the same
instructions (and the same `HL_NUM_THREADS`, for which autoschedulers schedule), as `--written FOLDER`.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cpu_ahead
import numpy as np
from apps import is_picture, photograph
from cpu import Recorder, conditions, measure
from cpu_schedules import SCHEDULES

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

AUTOSCHEDULERS = ("Mullapudi2016", "Adams2019")
EXPERT = "expert"
"""The schedule of Halide's own app, where it has one for CPUs."""
BLAS = "BLAS"
"""NumPy's product of matrices."""
CACHE_BYTES = 1 << 20
LIMIT = 300.0
"""Seconds of one example, compilers included."""


def planar(array: np.ndarray) -> np.ndarray:
    """Return a picture with its channels first and x contiguous."""
    return np.ascontiguousarray(np.moveaxis(array, -1, 0)) if is_picture(array) else array


class AllFuncs(Recorder):
    """Halide's names, and all Funcs: a second one of a name as `name_1`, a boundary's Func of `name` as
    `name_edge`."""

    def __init__(self, halide: Any):
        super().__init__(halide)
        self.BoundaryConditions = self
        self.params: list[tuple[Any, float]] = []

    def __getattr__(self, name: str) -> Any:
        conditions = self._halide.BoundaryConditions
        return getattr(conditions if hasattr(conditions, name) else self._halide, name)

    def Func(self, name: str) -> Any:
        """Make a recorded Func."""
        same = sum(n == name or (n.startswith(f"{name}_") and n[len(name) + 1 :].isdigit()) for n in self.funcs)
        made = self._halide.Func(name)
        self.funcs[f"{name}_{same}" if name in self.funcs else name] = made
        return made

    def Param(self, type_: Any, name: str, value: float) -> Any:
        """Make a recorded parameter with its value."""
        self.params.append((self._halide.Param(type_, name, value), value))
        return self.params[-1][0]

    def repeat_edge(self, of: Any, *box: Any) -> Any:
        """Return a Func or image with repeated edges; the result for a Func is recorded."""
        made = self._halide.BoundaryConditions.repeat_edge(of, *box)
        for name in [n for n, f in self.funcs.items() if f is of]:
            self.funcs[f"{name}_edge"] = made
        return made


def agree(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether results are equal except for contraction, which moves few edges, and few integers that are cut from
    floats."""
    near = np.isclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-3, atol=1e-4)
    return bool(np.mean(near) > 0.98)


def plain(output: Any, funcs: Iterable[Any]) -> None:
    """Schedule all Funcs, and their updates with pure coordinates, by rows in parallel, vectorised along x."""
    for func in [f for f in funcs if f.name() != output.name()] + [output]:
        func.compute_root()
        pure = func.args()
        for number in range(func.num_update_definitions() + 1):
            stage = func if number == 0 else func.update(number - 1)
            try:
                if len(pure) > 1:
                    stage.parallel(pure[-1])
                stage.vectorize(pure[0], 8)
            except Exception:  # an update that has no such coordinate; it stays as it is
                continue


def _schedule(halide: Any, how: str, name: str, output: Any, funcs: Mapping[str, Any], threads: int) -> None:
    target = halide.get_jit_target_from_environment()
    if how == "plain":
        plain(output, funcs.values())
        return
    if how == EXPERT:
        SCHEDULES[name](halide, output, funcs, target.natural_vector_size(halide.Float(32)))
        return
    folder = Path(halide.__file__).parent / "lib64"
    halide.load_plugin(str(folder / f"libautoschedule_{how.lower()}.so"))
    parameters = {"parallelism": str(threads)}
    if how == "Mullapudi2016":
        parameters |= {"last_level_cache_size": str(CACHE_BYTES), "balance": "40"}
    halide.Pipeline(output).apply_autoscheduler(target, halide.AutoschedulerParams(how, parameters))


def _scheduled(
    example: Any, how: str, arrays: Sequence[np.ndarray], shape: Sequence[int], mins: Sequence[int]
) -> tuple[Any, list[Any], list[tuple[Any, float]]]:
    """Return Halide's output under a schedule, its images, and its parameters with their values."""
    import halide

    recorder = AllFuncs(halide)
    threads = int(os.environ.get("HL_NUM_THREADS", os.cpu_count() or 1))
    types = [halide.Buffer(a).type() for a in arrays]
    images = [halide.ImageParam(t, a.ndim, f"image_{i}") for i, (t, a) in enumerate(zip(types, arrays, strict=True))]
    for image, array in zip(images, arrays, strict=True):
        image.set_estimates([(0, n) for n in reversed(array.shape)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        output = example.algorithm(*images, recorder)
    output.set_estimates(list(zip(mins, reversed(shape), strict=True)))
    _schedule(halide, how, example.name, output, recorder.funcs, threads)
    return output, images, recorder.params


def rival(
    example: Any, how: str, arrays: Sequence[np.ndarray], out: np.ndarray, mins: Sequence[int]
) -> Callable[[], None]:
    """Return a call of Halide's pipeline under a schedule; `mins`: min of the output, x first."""
    import halide

    output, images, _ = _scheduled(example, how, arrays, out.shape, mins)
    for image, array in zip(images, arrays, strict=True):
        image.set(halide.Buffer(array))
    output.compile_jit()
    target = halide.Buffer(out)
    target.set_min(list(mins))
    return lambda: output.realize(target)


@contextlib.contextmanager
def turn(name: str) -> Iterator[None]:
    """Hold the lock of the one process that times: a file in the folder that $CPU_APPS_TURN names.

    A file of its own there says that it is ready: the first of them times when all are, so that no compiler runs then.
    """
    path = os.environ.get("CPU_APPS_TURN")
    if path is None:
        yield
        return
    (Path(path) / f"{name}.ready").touch()
    with (Path(path) / "turn").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def blas(arrays: Sequence[np.ndarray], out: np.ndarray) -> Callable[[], Any]:
    """Return a call of NumPy's matrix product."""
    a, b = arrays
    return lambda: np.matmul(b, a, out=out)  # x is the last axis


def named(name: str) -> Any:
    """Return an example by name, or the random algorithm `random_<seed>`."""
    from _all import EXAMPLES

    if name in EXAMPLES:
        return EXAMPLES[name]
    from random_algorithms import random_example

    return random_example(int(name.removeprefix("random_")))


def schedules_of(name: str, against: Sequence[str]) -> list[str]:
    """Return the rivals of an example."""
    has = {BLAS: name == "mat_mul", EXPERT: name in SCHEDULES}
    return [how for how in against if has.get(how, True)]


def _output_box(example: Any, arrays: Sequence[np.ndarray], box: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """Return the min of the output, x first, and its shape, x last."""
    rest = {key: value for key, value in box.items() if key != "sizes"}
    [out] = example.pipeline().compile("reference").output_boxes(*arrays, **rest).values()
    return [low for low, _ in out], list(box.get("sizes") or [n for _, n in out])[::-1]


def write(name: str, size: tuple[int, int], against: Sequence[str], folder: Path) -> dict[str, Any]:
    """Compile the rivals of an example to libraries."""
    import halide

    example = named(name)
    arrays = [planar(a) for a in example.inputs(photograph(*size, 0))]
    box = example.box((size[1], size[0]))
    mins, shape = _output_box(example, arrays, box)
    failed = {}
    for how in (h for h in schedules_of(name, against) if h != BLAS):
        try:
            cpu_ahead.write(halide, *_scheduled(example, how, arrays, shape, mins), folder / f"{name}-{how}.so")
        except Exception as error:
            failed[how] = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    return {"pipeline": name, "failed": failed}


def one(
    name: str, size: tuple[int, int], seconds: float, against: Sequence[str], written: Path | None
) -> dict[str, Any]:
    """Compile and time an example; its rivals may lie in the folder `written`."""
    example = named(name)
    arrays = [planar(a) for a in example.inputs(photograph(*size, 0))]
    box = example.box((size[1], size[0]))
    mins, shape = _output_box(example, arrays, box)
    program = example.pipeline().compile("cpu", extent=size if len(shape) < 4 else shape[::-1])
    results = {"ours": np.ascontiguousarray(planar(program(*arrays, **box)))}
    out = results["ours"].copy()
    calls: dict[str, Callable[[], Any]] = {"ours": lambda: program(*arrays, out=out)}
    failed = {}
    for how in schedules_of(name, against):
        results[how] = np.zeros_like(out)
        try:
            if how == BLAS:
                calls[how] = blas(arrays, results[how])
            elif written:
                calls[how] = cpu_ahead.load(written / f"{name}-{how}.so", arrays, results[how], mins)
            else:
                calls[how] = rival(example, how, arrays, results[how], mins)
            calls[how]()
        except Exception as error:
            calls.pop(how, None)
            failed[how] = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
    with turn(name):
        found = measure(calls, seconds)
    rivals = {how: found[how] for how in found if how != "ours"}
    best = min(rivals, key=lambda how: rivals[how][0], default=None)
    return {
        "pipeline": name,
        "shape": list(out.shape),
        "ms": found,
        "best": best,
        "ratio": rivals[best][0] / found["ours"][0] if best else None,
        "cpu": rivals[best][1] / found["ours"][1] if best else None,
        "failed": failed,
        "differ": [how for how in rivals if not agree(results["ours"], results[how])],
    }


def wait_for_all(folder: Path, count: int, pending: Sequence[Future[Any]]) -> None:
    """Wait until `count` processes are ready to time, or have failed."""
    while len(list(folder.glob("*.ready"))) + sum(p.done() for p in pending) < count:
        time.sleep(0.2)


def _in_a_process(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """Run `one` or `write` in a process of its own, which an autoscheduler may end or block."""
    command = [sys.executable, __file__, "--one", name, "--photo", given.photo, "--seconds", str(given.seconds)]
    command += ["--against", *given.against]
    # NumPy's threads look for work for some 30 ms if nothing is said, through the turns of the others
    environment = {"OPENBLAS_THREAD_TIMEOUT": "18", **os.environ}
    for option, folder in (("--write", given.write), ("--written", given.written)):
        command += [option, str(folder)] if folder else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env=environment)
    except subprocess.TimeoutExpired:
        return {"pipeline": name, "error": f"more than {LIMIT:.0f} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"pipeline": name, "error": (done.stderr.strip().splitlines() or ["no output"])[-1][:300]}
    row: dict[str, Any] = json.loads(lines[-1])
    return row


def _line(row: dict[str, Any]) -> str:
    if "ms" not in row:
        notes = [row.get("error", "written"), *(f"{how}: {why}" for how, why in row.get("failed", {}).items())]
        return f"{row['pipeline']:26}{'; '.join(notes)}"
    columns = " ".join(f"{row['ms'][h][0]:9.2f}" if h in row["ms"] else f"{'-':>9}" for h in HOWS)
    notes = [f"{how} differs" for how in row["differ"]] + [f"{how}: {why}" for how, why in row["failed"].items()]
    ratio = f"{row['ratio']:7.2f}" if row["ratio"] is not None else f"{'-':>7}"
    return f"{row['pipeline']:26}{columns}{ratio}  {'; '.join(notes)}"


HOWS = ("ours", EXPERT, "plain", *AUTOSCHEDULERS, BLAS)


def main() -> None:
    """Print a row per example; write all as JSON if asked to."""
    from _all import EXAMPLES

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--photo", default="768x512", help="columns x rows of the photograph that inputs are made of")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each example")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile side by side")
    parser.add_argument("--only", nargs="*", choices=list(EXAMPLES), help="examples by name")
    parser.add_argument("--random", type=int, nargs=2, metavar=("FIRST", "COUNT"), help="random algorithms by seed")
    parser.add_argument("--against", nargs="*", choices=HOWS[1:], default=HOWS[1:], help="schedules of Halide's")
    parser.add_argument("--write", type=Path, help="a folder: write Halide's libraries there, and time nothing")
    parser.add_argument("--written", type=Path, help="a folder that --write has filled: take Halide's from there")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="a JSON file")
    given = parser.parse_args()
    if given.one:
        width, height = (int(n) for n in given.photo.split("x"))
        if given.write:
            print(json.dumps(write(given.one, (width, height), given.against, given.write)))
        else:
            print(json.dumps(one(given.one, (width, height), given.seconds, given.against, given.written)))
        return
    if given.write:
        given.write.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    print(f"{'ms':26}{' '.join(f'{h[:9]:>9}' for h in HOWS)}{'ratio':>7}")
    names = given.only or list(EXAMPLES)
    if given.random:
        names = [f"random_{given.random[0] + i}" for i in range(given.random[1])]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(given.jobs) as pool:
        os.environ["CPU_APPS_TURN"], folder = name, Path(name)
        with (folder / "turn").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            pending = [pool.submit(_in_a_process, n, given) for n in names]
            wait_for_all(folder, min(given.jobs, len(names)), pending)
        for row in (p.result() for p in pending):
            rows.append(row)
            print(_line(row), flush=True)
            if given.out:
                given.out.write_text(json.dumps({**conditions(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
