"""Tests marked `gpu` are skipped, with the reason, where CuPy or a CUDA GPU is missing."""

import functools

import pytest


@functools.cache
def why_no_gpu() -> str | None:
    """Why the GPU cannot be used here; None if it can."""
    try:
        import cupy
    except ImportError as error:
        return f"no CuPy: {error}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no CUDA GPU: {error}"
    return None if count else "no CUDA GPU"


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("gpu") and (reason := why_no_gpu()):
            item.add_marker(pytest.mark.skip(reason=reason))
