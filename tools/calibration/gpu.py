"""GPU timing. CuPy is imported by the functions that need it."""

from __future__ import annotations

import datetime
import platform
import statistics
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

L2_SETS = 8
"""Sets of buffers that a small picture rotates over, so that none is still in L2 at its turn."""


def cupy_graph_us(calls: Sequence[Callable[[], Any]], repeat: int) -> float:
    """Measure the median device time of a call in microseconds: `calls` in one CUDA graph, launched `repeat` times."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        keep = [call() for call in calls]
        stream.synchronize()
        del keep
        stream.begin_capture()
        try:
            # Results are kept, or each call would write where the one before did.
            keep = [call() for call in calls]
        finally:
            graph = stream.end_capture()
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        times = []
        for _ in range(repeat + 3):
            begin.record(stream)
            graph.launch(stream)
            end.record(stream)
            end.synchronize()
            times.append(float(cupy.cuda.get_elapsed_time(begin, end)))
        del keep
    return statistics.median(times[3:]) * 1e3 / len(calls)


def poison(array: Any) -> None:
    """Fill a CuPy array with bytes of ones: NaN, or the largest integer."""
    array.data.memset_async(0xFF, array.nbytes)


def is_usable() -> bool:
    """Whether the GPU still answers; after an illegal access it does not, until the process ends."""
    import cupy

    try:
        cupy.cuda.runtime.deviceSynchronize()
        cupy.zeros(1).get()
    except Exception:  # whatever CuPy raises: the answer is no
        return False
    return True


def facts() -> dict[str, Any]:
    """Return GPU, driver and versions."""
    import cupy

    runtime = cupy.cuda.runtime
    return {
        "gpu": runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode(),
        "driver_cuda": runtime.driverGetVersion(),
        "runtime_cuda": runtime.runtimeGetVersion(),
        "cupy": cupy.__version__,
    }


def environment() -> dict[str, Any]:
    """Describe the GPU, the date, and the versions of tilefuse and Python."""
    try:
        tilefuse = version("tilefuse")
    except PackageNotFoundError:  # run from its folder
        tilefuse = "not installed"
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "tilefuse": tilefuse,
        "python": platform.python_version(),
        **facts(),
    }
