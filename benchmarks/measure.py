"""Measurement of one case on the GPU: tilefuse, checked, then its rivals on the same pictures."""

from __future__ import annotations

import argparse
import dataclasses
import gc
import subprocess
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import device
import numpy as np
from array_rivals import NAMES, ArrayRival
from cases import Case, disagreement

_LEAST_CALLS = 96
"""In a graph of short kernels, so that its ends do not count."""


def version_of(package: str) -> str | None:
    """Return the version of an installed distribution; None if there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def driver_version() -> str:
    """Return the driver's version from nvidia-smi."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.split("\n")[0].strip()


def measure(
    case: Case, options: argparse.Namespace, passes: list[Any] | None, bandwidth: float, entry: dict[str, Any]
) -> None:
    """Fill `entry` with figures per size; figures measured before a failure stay."""
    for size in options.sizes:
        if size not in case.sizes():
            continue
        figures: dict[str, Any] = {}
        entry[size] = figures
        try:
            pipeline, extent = case.pipeline(size), case.extent(size)
            start = time.perf_counter()
            reference = None if options.no_check else pipeline.compile("cpu")
            figures["compile_cpu_seconds"] = time.perf_counter() - start
            start = time.perf_counter()
            # the schedule is for pictures of this size; it serves others too
            program = pipeline.compile("cuda", passes=passes, extent=extent)
            figures["compile_seconds"] = time.perf_counter() - start
            fast = None if passes is not None else partial(pipeline.compile, "cuda", extent=extent, fast_math=True)
            _measure_size(case, size, options, program, fast, reference, bandwidth, figures)
        except Exception as error:  # the other size still runs
            figures["error"] = _reason(error)
        gc.collect()
        _free_memory()


def _measure_size(
    case: Case,
    size: str,
    options: argparse.Namespace,
    program: Any,
    fast: Callable[[], Any] | None,
    reference: Any,
    bandwidth: float,
    figures: dict[str, Any],
) -> None:
    import cupy

    sets, rounds = _sets_and_rounds(size)
    pictures = [case.inputs(size, seed) for seed in range(min(sets, 2))]
    inputs = [tuple(cupy.asarray(a) for a in pictures[i % len(pictures)]) for i in range(sets)]
    box = case.box(size)
    start = time.perf_counter()
    first = program(*inputs[0], **box)
    cupy.cuda.Device().synchronize()
    figures["first_call_seconds"] = time.perf_counter() - start
    outputs = [cupy.empty_like(first) for _ in inputs]
    del first
    _run_all(program, inputs, outputs, box)
    results = [outputs[i].get() for i in range(len(pictures))]
    expected = [reference(*p, **box) for p in pictures] if reference is not None else results
    for got, want in zip(results, expected, strict=True):
        figures["wrong"] = figures.get("wrong") or disagreement(got, want, case)
    figures["checked"] = reference is not None

    total = sum(a.nbytes for a in inputs[0]) + outputs[0].nbytes
    figures["bytes"] = total
    figures["floor_us"] = total / bandwidth * 1e6
    figures["copy_us"] = device.copy_us(total, sets, options.repeat, rounds)
    figures["us"] = _graph_us(program, inputs, outputs, box, rounds, options.repeat)
    if fast is not None and (
        found := _measure_fast(case, fast, program, inputs, expected, box, (rounds, options.repeat))
    ):
        figures["fast_math"] = found
    wait = cupy.cuda.Device().synchronize
    calls = {
        "call_us": lambda: program(*inputs[0], **box),
        "call_out_us": lambda: program(*inputs[0], out=outputs[0], **box),
    }
    for _ in range(2):  # what disturbs a host may last longer than the loops of one
        for name, call in calls.items():
            figures[name] = min(device.call_us(call, wait), figures.get(name, float("inf")))
    figures["kernels"] = [dataclasses.asdict(kernel) for kernel in program.kernels]
    if not all(np.array_equal(outputs[i].get(), r, equal_nan=True) for i, r in enumerate(results)):
        figures["wrong"] = figures["wrong"] or "the result differs from launch to launch"
    if not options.no_unaligned:
        del outputs
        _free_memory()
        _measure_unaligned(case, size, options, program, pictures, results, figures)
    if options.no_rivals:
        return
    figures["rivals"] = {}
    if case.rival is None:
        return
    for name in NAMES:
        _free_memory()
        rival = ArrayRival(name, case.rival)
        try:
            with device.at_most(options.rival_limit, name):
                found = _measure_rival(rival, case, inputs, expected[0], rounds, options.repeat)
        except Exception as error:  # a rival that is missing or fails is reported
            found = {"error": _reason(error)}
        figures["rivals"][name] = found
        rival.end()


def _measure_fast(
    case: Case,
    compile: Callable[[], Any],
    program: Any,
    inputs: list[Any],
    expected: list[np.ndarray],
    box: dict[str, Any],
    times: tuple[int, int],
) -> dict[str, Any] | None:
    """Measure with regrouped float sums; None if the compiler regroups nothing."""
    try:
        fast = compile()
        outputs = [fast(*given, **box) for given in inputs]
        if fast.source() == program.source():
            return None
        _run_all(fast, inputs, outputs, box)
        wrong = [disagreement(outputs[i].get(), want, case) for i, want in enumerate(expected)]
        return {
            "us": _graph_us(fast, inputs, outputs, box, *times),
            "wrong": next(filter(None, wrong), None),
            "kernels": [dataclasses.asdict(kernel) for kernel in fast.kernels],
        }
    except Exception as error:  # the other figures still follow
        return {"error": _reason(error)}


def _run_all(program: Any, inputs: list[Any], outputs: list[Any], box: dict[str, Any]) -> None:
    """Poison each output, then run."""
    for given, output in zip(inputs, outputs, strict=True):
        device.poison(output)
        program(*given, out=output, **box)


def _graph_us(
    program: Any, inputs: list[Any], outputs: list[Any], box: dict[str, Any], rounds: int, repeat: int
) -> float:
    """Measure the device time of a call."""
    calls = [lambda a=a, b=b: program(*a, out=b, **box) for a, b in zip(inputs, outputs, strict=True)]
    return device.cupy_graph_us(calls * rounds, repeat)


def _sets_and_rounds(size: str) -> tuple[int, int]:
    """Return the number of buffer sets, and of rounds of a graph over them, equal for all compilers."""
    return (device.L2_SETS, -(-_LEAST_CALLS // device.L2_SETS)) if size == "small" else (1, 2)


def _measure_unaligned(
    case: Case,
    size: str,
    options: argparse.Namespace,
    program: Any,
    pictures: list[tuple[np.ndarray, ...]],
    results: list[np.ndarray],
    figures: dict[str, Any],
) -> None:
    """Measure pictures with unaligned rows: one column less, and one element later."""
    sets, rounds = _sets_and_rounds(size)
    box = case.box(size)
    for name, narrower, later in (("odd_us", 1, 0), ("unaligned_us", 0, 1)):
        if narrower and not case.narrower:
            continue
        inputs = [tuple(_moved(a, narrower, later) for a in pictures[i % len(pictures)]) for i in range(sets)]
        outputs = [_moved(results[i % len(results)], narrower, later) for i in range(sets)]
        _run_all(program, inputs, outputs, box)
        if later:
            # the same result, but for what is contracted to fused multiply-adds
            for got, want in zip(outputs, results, strict=False):
                if wrong := disagreement(got.get(), want, case):
                    figures["wrong"] = figures["wrong"] or f"in arrays that lie one element later, {wrong}"
        first = [output.get() for output in outputs[: len(pictures)]]
        figures[name] = _graph_us(program, inputs, outputs, box, rounds, options.repeat)
        if not all(np.array_equal(o.get(), f, equal_nan=True) for o, f in zip(outputs, first, strict=False)):
            figures["wrong"] = figures["wrong"] or f"in the pictures of {name} the result differs from launch to launch"
        del inputs, outputs, first
        _free_memory()


def _moved(array: np.ndarray, narrower: int, later: int) -> Any:
    """Return a copy on the GPU, narrower by some columns, that starts some elements after an aligned address."""
    import cupy

    kept = array[..., : array.shape[-1] - narrower]
    moved = cupy.empty(kept.size + later, kept.dtype)[later:].reshape(kept.shape)
    moved.set(np.ascontiguousarray(kept))
    return moved


def _measure_rival(
    rival: ArrayRival, case: Case, inputs: list[Any], expected: np.ndarray, rounds: int, repeat: int
) -> dict[str, Any]:
    """Time a rival, and compare, with room for its own rounding, so that no one is compared with something else."""
    result, seconds = rival.first(inputs[0])
    found: dict[str, Any] = {"first_call_seconds": seconds}
    got = result.get()
    del result
    found["us"] = rival.us(inputs, rounds, repeat)
    found["call_us"] = rival.call_us(inputs[0])
    found["wrong"] = disagreement(got, expected, case, rtol=1e-3)
    return found


def _free_memory() -> None:
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    try:
        import torch
    except ImportError:
        return
    torch.cuda.empty_cache()


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0][:300]
