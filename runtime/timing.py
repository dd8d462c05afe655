"""Time measurement of calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

_BATCH_SECONDS = 5e-4
"""A measured batch takes at least this long, so that the clock's grain and the gaps at its ends are small."""


def wall_seconds(call: Callable[[], Any], repeat: int) -> float:
    """Measure the median time of a call that returns when its work is done."""
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def device_seconds(call: Callable[[Any], Any], repeat: int) -> float:
    """Measure the median GPU time of a call on a stream, with its launches captured in a CUDA graph.

    A graph launches its kernels back to back, so the time of Python is not in it.
    """
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    for _ in range(3):
        call(stream)
    stream.synchronize()
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    one = _graph_seconds(_record(call, stream, 1), stream, start, end)
    batch = max(1, min(100, round(_BATCH_SECONDS / max(one, 1e-6))))
    graph = _record(call, stream, batch)
    _graph_seconds(graph, stream, start, end)
    return float(np.median([_graph_seconds(graph, stream, start, end) / batch for _ in range(repeat)]))


def _record(call: Callable[[Any], Any], stream: Any, count: int) -> Any:
    stream.begin_capture()
    try:
        for _ in range(count):
            call(stream)
    finally:
        graph = stream.end_capture()
    return graph


def _graph_seconds(graph: Any, stream: Any, start: Any, end: Any) -> float:
    import cupy

    start.record(stream)
    graph.launch(stream)
    end.record(stream)
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end)) * 1e-3
