"""GPUs of this machine and their streams, through CuPy.

CuPy is imported by the first function that needs it, never by importing this module.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from tilefuse.runtime.errors import CallTypeError, TargetError

_INSTALL = "install CuPy with pip install 'tilefuse[cuda12]' (or [cuda13]), or use target='cpu'"


@functools.cache
def _missing() -> str | None:
    """Explain why there is no usable GPU; None if there is one."""
    try:
        import cupy
    except ImportError as error:
        return f"CuPy cannot be imported ({error}); {_INSTALL}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        # CuPy's own errors, whose classes differ between its versions.
        return f"CUDA does not start ({error}); target='cpu' works without a GPU"
    return None if count else "this machine has no CUDA GPU; target='cpu' works without one"


def available() -> bool:
    """Whether CuPy imports and sees a GPU."""
    return _missing() is None


def require_cupy(target: str) -> Any:
    """Return the module cupy. TargetError, which names `target`, if CuPy or a GPU is missing."""
    reason = _missing()
    if reason is not None:
        named = "; a GPU's name, as in target='h200', compiles without having it" if target == "cuda" else ""
        raise TargetError(f"target '{target}': {reason}{named}")
    import cupy

    return cupy


@functools.cache
def architecture(device: int) -> str:
    """Return the architecture of a GPU: `sm_90`."""
    import cupy

    return f"sm_{cupy.cuda.Device(device).compute_capability}"


@functools.cache
def model(device: int) -> str:
    """Return a GPU's name for scheduling: the row of its model if there is one, else of its architecture."""
    import cupy

    from tilefuse.targets.gpus import UnknownGpu, gpu

    full = cupy.cuda.runtime.getDeviceProperties(device)["name"].decode()
    for name in (full, architecture(device)):
        try:
            gpu(name)
        except UnknownGpu:
            continue
        return name
    raise TargetError(
        f"target 'cuda': {full} ({architecture(device)}) is in no row of the table of GPUs; add one, or name "
        "the nearest one to schedule for, as in target='h200'"
    )


def current_device() -> int:
    """Return the ordinal of CuPy's current GPU."""
    import cupy

    return int(cupy.cuda.runtime.getDevice())


class _RawStream:
    """A stream of another library, in CuPy's form."""

    def __init__(self, pointer: int):
        self.pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.pointer)


@contextlib.contextmanager
def on_stream(device: int, stream: int | None) -> Iterator[None]:
    """Make a GPU and a raw stream CuPy's current ones."""
    import cupy

    with cupy.cuda.Device(device):
        if stream is None or stream == cupy.cuda.get_current_stream().ptr:
            yield
        elif hasattr(cupy.cuda.Stream, "from_external"):
            with cupy.cuda.Stream.from_external(_RawStream(stream)):
                yield
        else:
            with cupy.cuda.ExternalStream(stream, device):
                yield


def stream_pointer(stream: Any) -> int:
    """Return the raw pointer of a CuPy, torch or `__cuda_stream__` stream, or of a number."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return int(getattr(stream, attribute))
    raise CallTypeError(f"stream= takes a stream of CuPy or torch or a raw pointer, not {stream!r}")
