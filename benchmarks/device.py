"""Measurement on the GPU. CuPy and torch are imported by the functions that need them."""

from __future__ import annotations

import signal
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tilefuse.tools.calibration.gpu import L2_SETS, cupy_graph_us, facts, is_usable, poison

__all__ = ["L2_SETS", "OutOfTime", "at_most", "call_us", "copy_bandwidth", "copy_us", "cupy_graph_us", "facts",
           "is_usable", "poison", "torch_graph_us"]  # fmt: skip

COPY_BYTES = 1 << 30
PAUSE_SECONDS = 0.25
"""Before calls are timed."""

_COPY = r"""
extern "C" __global__ void __launch_bounds__(256) copy16(
    const uint4* __restrict__ from, uint4* __restrict__ to, unsigned long long n) {
  unsigned long long i = (unsigned long long)blockIdx.x * 256 + threadIdx.x;
  if (i < n) to[i] = from[i];
}
"""


class OutOfTime(Exception):
    """A task exceeded its time limit."""


@contextmanager
def at_most(seconds: float, what: str) -> Iterator[None]:
    """Raise OutOfTime in the block after `seconds` (at the next step of Python)."""

    def stop(*_: object) -> None:
        raise OutOfTime(f"{what} took more than {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 10)  # again, should a library swallow it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def torch_graph_us(run: Callable[[Any], Any], pictures: Sequence[Any], repeat: int) -> float:
    """Measure the time of a call of a function on torch tensors, captured in a graph."""
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run(pictures[0])
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        keep = [run(p) for p in pictures]
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    with torch.cuda.stream(stream):
        for _ in range(repeat + 3):
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
    del keep, graph
    return statistics.median(times[3:]) * 1e3 / len(pictures)


def call_us(call: Callable[[], Any], synchronize: Callable[[], Any], most: int = 200, rounds: int = 20) -> float:
    """Measure a call as its user sees it: a loop, then one wait; at most a tenth of a second, or three loops.

    The best of so many loops, each of `most` calls at most: what else the machine does adds to a loop (as in timeit).
    After a pause, for in longer loops some kernels draw so much power that the GPU lowers its clocks.
    """
    time.sleep(PAUSE_SECONDS)
    call()
    synchronize()
    start = time.perf_counter()
    call()
    synchronize()
    calls = int(0.1 / (time.perf_counter() - start))
    rounds = max(3, min(rounds, calls))
    count = max(1, min(most, calls // rounds))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            call()
        synchronize()
        times.append((time.perf_counter() - start) / count)
    return min(times) * 1e6


def copy_us(total_bytes: int, sets: int, repeat: int, rounds: int = 1) -> float:
    """Measure a copy kernel: `total_bytes` read plus written, `rounds` times per set."""
    import cupy

    kernel = cupy.RawKernel(_COPY, "copy16")
    chunks = max(1, total_bytes // 32)
    buffers = [(cupy.zeros(chunks * 4, cupy.uint32), cupy.zeros(chunks * 4, cupy.uint32)) for _ in range(sets)]
    blocks = (chunks + 255) // 256
    calls = [lambda a=a, b=b: kernel((blocks,), (256,), (a, b, cupy.uint64(chunks))) for a, b in buffers]
    return cupy_graph_us(calls * rounds, repeat)


def copy_bandwidth(repeat: int) -> float:
    """Measure the copy bandwidth in bytes per second, read plus written, of 1 GiB: the best of kernel and memcpy."""
    import cupy

    best = 2 * COPY_BYTES / copy_us(2 * COPY_BYTES, 1, repeat) * 1e6
    source, target = (cupy.zeros(COPY_BYTES, cupy.uint8) for _ in range(2))
    stream = cupy.cuda.get_current_stream()
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    times = []
    for _ in range(repeat + 3):
        begin.record(stream)
        target.data.copy_from_device_async(source.data, COPY_BYTES, stream)
        end.record(stream)
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) * 1e-3)
    return max(best, 2 * COPY_BYTES / statistics.median(times[3:]))
