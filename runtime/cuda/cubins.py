"""The CUDA back end: cubins by NVRTC from the cache, and launches through CuPy's driver bindings.

CuPy is imported by the first function that needs it, never by importing this module.
"""

from __future__ import annotations

import contextlib
import functools
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tilefuse.runtime import cache
from tilefuse.runtime.errors import BuildError, CallTypeError, TargetError
from tilefuse.runtime.nvrtc import NvrtcError, NvrtcNotFound, compile_report, nvrtc_version, supported_archs

_INSTALL = "install CuPy with pip install 'tilefuse[cuda12]' (or [cuda13]), or use target='cpu'"


@functools.cache
def _missing() -> str | None:
    """Why there is no GPU to run on; None if there is one."""
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


def require(target: str) -> Any:
    """The module cupy. TargetError, naming `target`, if CuPy or a GPU is missing."""
    reason = _missing()
    if reason is not None:
        named = "; a GPU's name, as in target='h200', compiles without having it" if target == "cuda" else ""
        raise TargetError(f"target '{target}': {reason}{named}")
    import cupy

    return cupy


@functools.cache
def architecture(device: int) -> str:
    """The architecture of a GPU: `sm_90`."""
    import cupy

    return f"sm_{cupy.cuda.Device(device).compute_capability}"


@functools.cache
def model(device: int) -> str:
    """Name that the passes schedule for: the row of a GPU's model if there is one, else of its architecture."""
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
    """The ordinal of CuPy's current GPU."""
    import cupy

    return int(cupy.cuda.runtime.getDevice())


class _RawStream:
    """A stream of another library, in the form that CuPy takes."""

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
    """The raw pointer of a stream of CuPy, torch, or any library with `__cuda_stream__`; or of a number."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return int(getattr(stream, attribute))
    raise CallTypeError(f"stream= takes a stream of CuPy or torch or a raw pointer, not {stream!r}")


@dataclass(frozen=True)
class Cubin:
    """Machine code, and what NVRTC says of it, by kernel name."""

    codes: dict[str, bytes]
    registers: dict[str, int]
    spill_bytes: dict[str, int]
    shared_bytes: dict[str, int]


def options(strict_float: bool) -> tuple[str, ...]:
    """NVRTC's options: denormals kept; strict: no contraction to fused multiply-adds."""
    return ("--ftz=false", f"--fmad={'false' if strict_float else 'true'}")


def build(sources: Mapping[str, str], arch: str, *, strict_float: bool) -> Cubin:
    """Compile CUDA sources, one for each kernel, unless the cache has their cubins; needs no GPU.

    May run in several threads at once, as register fit does. Raises TargetError if there is no NVRTC or it does not
    know `arch`, BuildError if it refuses a source.
    """
    flags = options(strict_float)
    try:
        version = ".".join(map(str, nvrtc_version()))

        def packed(source: str) -> bytes:
            path = cache.entry("cuda", cache.digest(_code(source), arch, version, *flags))
            return cache.get_or_build(path, lambda: _compile(source, arch, flags))

        found = [packed(source) for source in sources.values()]
    except NvrtcNotFound as error:
        raise TargetError(f"target 'cuda': {error}") from None
    return joined(_unpacked(name, entry) for name, entry in zip(sources, found, strict=True))


def _code(source: str) -> str:
    """A source without its comments, which name schedules: kernels of several schedules may have the same code."""
    return "\n".join(line for line in source.split("\n") if not line.startswith("//"))


def joined(cubins: Iterable[Cubin]) -> Cubin:
    """One Cubin of several."""
    whole = Cubin({}, {}, {}, {})
    for cubin in cubins:
        for field in fields(Cubin):
            getattr(whole, field.name).update(getattr(cubin, field.name))
    return whole


def _unpacked(name: str, entry: bytes) -> Cubin:
    head, _, code = entry.partition(b"\n")
    return Cubin({name: code}, **json.loads(head))


def _compile(source: str, arch: str, flags: tuple[str, ...]) -> bytes:
    known = supported_archs()
    if arch not in known:
        raise TargetError(
            f"target 'cuda': this NVRTC ({'.'.join(map(str, nvrtc_version()))}) does not know {arch}, only "
            f"{known[0]} to {known[-1]}; install a version of nvidia-cuda-nvrtc that does"
        )
    try:
        report = compile_report(source, arch, flags)
    except NvrtcError as error:
        raise BuildError(f"NVRTC refuses the generated source: {error}") from None
    facts = {
        "registers": report.registers,
        "spill_bytes": report.spill_bytes,
        "shared_bytes": report.shared_bytes,
    }
    return json.dumps(facts).encode() + b"\n" + report.cubin


_modules: dict[tuple[str, int], Any] = {}
_lock = threading.Lock()


def load_functions(cubin: Cubin, names: list[str], device: int) -> list[Any]:
    """The kernels of a cubin on a GPU: CuPy functions, whose `ptr` is the driver's handle."""
    import cupy

    found = []
    with _lock, cupy.cuda.Device(device):
        for name in names:
            code = cubin.codes[name]
            key = (cache.digest(code), device)
            module = _modules.get(key)
            if module is None:
                module = cupy.cuda.function.Module()
                module.load(code)
                _modules[key] = module
            found.append(module.get_function(name))
    return found
