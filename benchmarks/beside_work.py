"""Worker process of beside_rivals.py: compiles one case at one size by one compiler, waits, then times it.

Each is a generator: up to its first `yield` it compiles, and leaves the GPU's memory; from there on it is timed.
"""

from __future__ import annotations

import os
import statistics
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import device
import numpy as np
from apps import ALL
from array_rivals import NAMES, ArrayRival
from cases import Case, disagreement

OURS = "tilefuse"
UNCOMPARED = {"lens_blur": "each compiler draws other random numbers"}
CHECKED_SIZE = "small"
"""At which ours is compared with the CPU back end, but for what takes it too long."""
SLOW_ON_CPU = ("demosaic", "lens_blur", "nl_means")
THREADS = {"OMP_NUM_THREADS": "4", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
"""Environment of a process, of which there are as many as cores."""
SPARE_SECONDS = 3.0
SAMPLES = 4 << 20
LEAST_CALLS = 96
SHORT_US, LONG_US = 100, 30_000
"""Microseconds of a call under which graphs hold more calls, and over which they hold one and few are launched."""


@dataclass(frozen=True)
class Options:
    """Options of the run."""

    folder: Path
    repeat: int
    dry: str | None
    """The model of a GPU that is not there."""
    until: float
    """When all have to be compiled."""


def work(name: str, size: str, who: Sequence[str], options: Options, pipe: Connection) -> None:
    """Run the process: it answers two messages, one by the first `yield`, one by the further ones."""
    for variable, threads in THREADS.items():
        os.environ.setdefault(variable, threads)
    silence = os.open(os.devnull, os.O_WRONLY)  # schedulers draw bars of progress
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        case = next(c for c in ALL if c.name == name)
        steps = _steps(case, size, who, options)
        pipe.send(next(steps))
        request = pipe.recv()
        for found in steps:
            if "sample" in found and OURS not in who:
                found["wrong"] = _compared(found.pop("sample"), request["expected"], case)
            pipe.send(found)
        pipe.send({"done": True})
    except Exception as error:  # reported by whom it is for
        pipe.send(_failure(error))
    os._exit(0)  # what a GPU in error, or a library's own threads, would keep waiting for


def _failure(error: Exception) -> dict[str, Any]:
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {error}".strip().split("\n")[0][:300]
    return {"error": text, "where": f"{Path(where.filename).name}:{where.lineno}"}


def _steps(case: Case, size: str, who: Sequence[str], options: Options) -> Iterator[dict[str, Any]]:
    if OURS in who:
        return _ours(case, size, options)
    if who[0] in NAMES:
        return _arrays(case, size, who, options)
    return _halide(case, size, who[0], options)


def _ours(case: Case, size: str, options: Options) -> Iterator[dict[str, Any]]:
    pipeline, box = case.pipeline(size), case.box(size)
    program = pipeline.compile(options.dry or "cuda", extent=case.extent(size))
    hosts = stored_inputs(case, size, options.folder)
    if not options.dry:
        # The first call compiles for its arrays, where these are not of the sizes that most pipelines take.
        program(*_on_gpu(hosts, "first")[0], **box)
        _free_memory()
    kernels = [{"name": k.name, "registers": k.registers} for k in program.kernels]
    expected = None
    if size == CHECKED_SIZE and case.name not in SLOW_ON_CPU and not options.dry:
        expected = pipeline.compile("cpu")(*hosts, **box)
    yield {"kernels": kernels}
    sets = _on_gpu(hosts, size)
    outputs = [program(*given, **box) for given in sets]
    calls = [lambda a=a, o=o: program(*a, out=o, **box) for a, o in zip(sets, outputs, strict=True)]
    _poison_and_run(calls, outputs)
    found: dict[str, Any] = {"checked": expected is not None, "wrong": None}
    if expected is not None:
        found["wrong"] = disagreement(outputs[0].get(), expected, case)
    found["bytes"] = sum(a.nbytes for a in sets[0]) + outputs[0].nbytes
    sample = _sample(outputs[0])
    yield found | {"sample": sample}
    yield from _timed(calls, options.repeat)
    if not np.array_equal(_sample(outputs[0]), sample, equal_nan=sample.dtype.kind == "f"):
        yield {"wrong": found["wrong"] or "the result differs from launch to launch"}


def _arrays(case: Case, size: str, who: Sequence[str], options: Options) -> Iterator[dict[str, Any]]:
    assert case.rival is not None
    made = [ArrayRival(name, case.rival) for name in who]
    hosts = stored_inputs(case, size, options.folder)
    failed: dict[str, dict[str, Any]] = {}
    for rival in made:
        if rival.name == "torch.compile":
            import torch  # noqa: F401  (an alarm would leave it half imported)

            try:
                with device.at_most(max(1.0, options.until - time.time() - SPARE_SECONDS), "its first call"):
                    rival.first(_on_gpu(hosts, "first")[0])
            except Exception as error:  # the others still follow
                failed[rival.name] = _failure(error)
            _free_memory()
    yield {}
    sets = _on_gpu(hosts, size)
    for rival in made:
        if rival.name in failed:
            yield {"who": rival.name} | failed[rival.name]
            continue
        try:
            for found in _array(rival, sets, options.repeat):
                yield {"who": rival.name} | found
        except Exception as error:  # the others still follow
            yield {"who": rival.name} | _failure(error)
        _free_memory()


def _array(rival: ArrayRival, sets: Sequence[tuple[Any, ...]], repeat: int) -> Iterator[dict[str, Any]]:
    result, _ = rival.first(sets[0])
    yield {"sample": _sample(result)}
    del result
    start = time.perf_counter()
    rival.first(sets[0])
    us = (time.perf_counter() - start) * 1e6
    rounds = max(1, min(LEAST_CALLS // len(sets), int(LEAST_CALLS * SHORT_US / us / len(sets))))
    yield {"us": rival.us(sets, rounds, repeat), "by": "graph"}


def _halide(case: Case, size: str, who: str, options: Options) -> Iterator[dict[str, Any]]:
    import halide_gpu

    hosts = stored_inputs(case, size, options.folder)
    built = halide_gpu.build(case, size, who, hosts, options.folder)
    if options.dry:
        yield {"schedule": built.schedule}
        return
    import cupy

    shape = tuple(extent for _, extent in reversed(built.box))
    program = halide_gpu.HalideProgram(built)

    def calls_of(sets: Sequence[Any]) -> tuple[list[Any], list[Callable[[], None]]]:
        outputs = [cupy.empty(shape, built.dtype) for _ in sets]
        return outputs, [program.bind(hosts, a, o) for a, o in zip(sets, outputs, strict=True)]

    outputs, calls = calls_of(_on_gpu(hosts, "first"))
    calls[0]()  # the driver compiles
    cupy.cuda.Device().synchronize()
    del outputs, calls
    _free_memory()
    yield {"stored_funcs": built.schedule.count(".compute_root()")}
    program.keep_allocations(True)
    sets = _on_gpu(hosts, size)
    outputs, calls = calls_of(sets)
    _poison_and_run(calls, outputs)
    yield {"sample": _sample(outputs[0])}
    yield from _timed(calls, options.repeat)


def _timed(calls: Sequence[Callable[[], Any]], repeat: int) -> Iterator[dict[str, Any]]:
    """Time back-to-back calls by events, then captured in a graph if possible."""
    us = _events_us(calls, 1)
    if us < LONG_US:
        us = _events_us(calls, 3)
    yield {"us": us, "direct_us": us, "by": "events"}
    some = list(calls) if us < LONG_US else list(calls[:1])
    rounds = max(1, min(LEAST_CALLS // len(some), int(LEAST_CALLS * SHORT_US / us / len(some))))
    yield {"us": device.cupy_graph_us(some * rounds, repeat if us < LONG_US else 1), "by": "graph"}


def _events_us(calls: Sequence[Callable[[], Any]], repeat: int) -> float:
    """Return the time of a call in a stream, of consecutive calls, or of the host if longer."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    times = []
    with stream:
        for _ in range(repeat + 1):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record(stream)
            for call in calls:
                call()
            end.record(stream)
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(begin, end) * 1e3 / len(calls))
    return float(statistics.median(times[1:]))


def _poison_and_run(calls: Sequence[Callable[[], Any]], outputs: Sequence[Any]) -> None:
    """Poison each output, then run."""
    import cupy

    for call, output in zip(calls, outputs, strict=True):
        device.poison(output)
        call()
    cupy.cuda.Device().synchronize()


def _on_gpu(hosts: Sequence[np.ndarray], size: str) -> list[tuple[Any, ...]]:
    """Copy the inputs to the GPU, often enough that a small picture has left L2 when its turn comes."""
    import cupy

    first = tuple(cupy.asarray(a) for a in hosts)
    return [first, *(tuple(a.copy() for a in first) for _ in range(device.L2_SETS - 1 if size == "small" else 0))]


def stored_inputs(case: Case, size: str, folder: Path) -> tuple[np.ndarray, ...]:
    """Load the inputs from files shared by all processes: a copy per rival would exceed host memory."""
    place = folder / f"{case.name}-{size}"
    if not place.exists():
        own = folder / f"{case.name}-{size}-{os.getpid()}"
        own.mkdir()
        for i, array in enumerate(case.inputs(size)):
            np.save(own / f"{i}.npy", array)
        try:
            own.rename(place)
        except OSError:  # another was faster
            place = own
    count = len(list(place.iterdir()))
    return tuple(np.asarray(np.load(place / f"{i}.npy", mmap_mode="r")) for i in range(count))


def _sample(result: Any) -> np.ndarray:
    """Return some millions of numbers from all over the result."""
    flat = result.reshape(-1)
    found: np.ndarray = flat[:: max(1, flat.size // SAMPLES) | 1].get()
    return found


def _compared(sample: np.ndarray, expected: np.ndarray | None, case: Case) -> str | None:
    """Explain why a rival's result differs; None if it does not, or cannot be compared."""
    if expected is None or case.name in UNCOMPARED:
        return None
    return disagreement(sample, expected, case, rtol=1e-3)


def _free_memory() -> None:
    import sys

    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()
