"""Cubins: compiled by NVRTC or taken from the cache, and loaded as functions by CuPy.

CuPy is imported by the first function that needs it, never by importing this module.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tilefuse.runtime import cache
from tilefuse.runtime.cuda.nvrtc import NvrtcError, NvrtcNotFound, compile_report, nvrtc_version, supported_archs
from tilefuse.runtime.errors import BuildError, TargetError


@dataclass(frozen=True)
class Cubin:
    """Machine code, and NVRTC's report on it by kernel name."""

    codes: dict[str, bytes]
    registers: dict[str, int]
    spill_bytes: dict[str, int]
    shared_bytes: dict[str, int]
    own_spill_bytes: dict[str, int] = field(default_factory=dict)
    """Spills of kernels' bodies alone, where that is known."""


def options(strict_float: bool) -> tuple[str, ...]:
    """Return NVRTC's options: denormals kept; strict: no contraction to fused multiply-adds."""
    return ("--ftz=false", f"--fmad={'false' if strict_float else 'true'}")


def compile_cubins(sources: Mapping[str, str], arch: str, *, strict_float: bool) -> Cubin:
    """Compile CUDA sources, one per kernel, unless their cubins are cached; needs no GPU.

    May run in several threads at once, as register fit does. Raises TargetError if there is no NVRTC or it does not
    know `arch`, BuildError if it refuses a source.
    """
    flags = options(strict_float)
    figures = [figure.name for figure in fields(Cubin)]  # of which an entry has those of its day
    try:
        version = ".".join(map(str, nvrtc_version()))

        def packed(source: str) -> bytes:
            path = cache.entry("cuda", cache.digest(_code(source), arch, version, *flags, *figures))
            return cache.get_or_build(path, lambda: _compile(source, arch, flags))

        found = [packed(source) for source in sources.values()]
    except NvrtcNotFound as error:
        raise TargetError(f"target 'cuda': {error}") from None
    return join_cubins(_unpacked(name, entry) for name, entry in zip(sources, found, strict=True))


def _code(source: str) -> str:
    """Strip the comments of a source: they name schedules, but kernels of several schedules may share code."""
    return "\n".join(line for line in source.split("\n") if not line.startswith("//"))


def join_cubins(cubins: Iterable[Cubin]) -> Cubin:
    """Merge several Cubins into one."""
    merged = Cubin({}, {}, {}, {})
    for cubin in cubins:
        for figure in fields(Cubin):
            getattr(merged, figure.name).update(getattr(cubin, figure.name))
    return merged


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
        "own_spill_bytes": report.own_spill_bytes,
        "shared_bytes": report.shared_bytes,
    }
    return json.dumps(facts).encode() + b"\n" + report.cubin


_modules: dict[tuple[str, int], Any] = {}
_lock = threading.Lock()


def load_functions(cubin: Cubin, names: list[str], device: int) -> list[Any]:
    """Load the kernels of a cubin on a GPU: CuPy functions, whose `ptr` is the driver's handle."""
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
