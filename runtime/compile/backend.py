"""Choice of the back end for a target name on this machine."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tilefuse.analysis.machine import is_cpu
from tilefuse.dialects.diagnostics import user_position
from tilefuse.runtime.arrays.kinds import CPU, ArrayKind, ArrayView, Device
from tilefuse.runtime.cpu import c_compiler
from tilefuse.runtime.cuda import devices
from tilefuse.runtime.errors import CallError, TargetError

BackendName = Literal["cuda", "cpu", "reference"]


@dataclass(frozen=True)
class Backend:
    """A back end, and the machine that the passes schedule for."""

    name: BackendName
    machine: str
    """`cpu` or a CPU's row, or a GPU's model or architecture."""

    def __str__(self) -> str:
        return f"cuda ({self.machine})" if self.name == "cuda" else self.name

    def device_of(self, views: Sequence[ArrayView]) -> Device:
        """Return the device of a call with these arrays: the current one if there are none."""
        if views:
            return views[0].device
        if self.name != "cuda":
            return CPU
        devices.require_cupy(str(self))
        return ("cuda", devices.current_device())

    def stream_of(self, stream: Any, kind: ArrayKind, device: Device) -> int | None:
        """Return the stream of a call as a pointer: given, or a library's current one; None on a CPU."""
        if device == CPU:
            if stream is not None:
                raise CallError(f"stream= is for arrays on a GPU; the program is compiled for {self}")
            return None
        if stream is not None:
            return devices.stream_pointer(stream)
        return kind.current_stream(device)


def find_backend(target: str) -> Backend:
    """Return the back end of a target name.

    `auto`: the GPU if CuPy sees one, else the CPU, else the reference, with a warning. `cuda`: the current GPU.
    `cuda:sm_80`, or a GPU's name (`h200`): scheduled for that one; without a GPU the source can be read, not run.
    `cpu:zen3`, or a CPU's name (`zen3`): scheduled for that one; it runs on this one, for C is C.
    Raises TargetError if the machine lacks what the target needs, or the name is unknown.
    """
    if not isinstance(target, str):
        raise TargetError(f"a target is a string such as 'auto', 'cpu', 'cuda' or 'h200', not {target!r}")
    if target == "auto":
        if devices.available():
            return _current_gpu()
        try:
            c_compiler.find_compiler()
        except TargetError as error:
            message = f"target 'auto' runs on the NumPy evaluator, which is slow: there is no GPU, and {error}"
            at = user_position()
            warnings.warn_explicit(message, RuntimeWarning, at.file, at.line)
            return Backend("reference", "cpu")
        return Backend("cpu", "cpu")
    if target == "reference":
        return Backend("reference", "cpu")
    if is_cpu(name := target.removeprefix("cpu:")):
        c_compiler.find_compiler()
        return Backend("cpu", name)
    if target == "cuda":
        devices.require_cupy(target)
        return _current_gpu()
    return Backend("cuda", _known_gpu(target.removeprefix("cuda:"), target))


def _current_gpu() -> Backend:
    return Backend("cuda", devices.model(devices.current_device()))


def _known_gpu(name: str, target: str) -> str:
    from tilefuse.targets.gpus import UnknownGpu, gpu

    try:
        gpu(name)
    except UnknownGpu as error:
        raise TargetError(
            f"target '{target}' is unknown; use auto, cpu, reference, cuda, a GPU as in cuda:sm_90 or h200, or a CPU "
            f"as zen3 ({error})"
        ) from None
    return name
