"""NVRTC compilation of CUDA source, with the compiler's report on each kernel. No GPU is needed.

The figures are ptxas' own, from its verbose report. (The cubin's section of shared memory would not do: from
sm_90 on it counts what the driver reserves.)
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tilefuse.runtime.errors import BuildError, TargetError

_SUCCESS = 0


class NvrtcNotFound(TargetError):
    """NVRTC is not on this machine."""

    def __init__(self) -> None:
        super().__init__(
            "NVRTC, the CUDA compiler library, was not found; install it with "
            "`pip install nvidia-cuda-nvrtc-cu12` (or nvidia-cuda-nvrtc for CUDA 13)"
        )


class NvrtcError(BuildError):
    """NVRTC rejected the source or the options; the message contains its log."""


@dataclass(frozen=True)
class CompileReport:
    """A compiled source and the resources that its kernels use, by kernel name."""

    cubin: bytes
    registers: dict[str, int]
    """Registers per thread, by kernel."""
    spill_bytes: dict[str, int]
    """Spill stores and loads of one thread, in bytes; 0 is what we want."""
    own_spill_bytes: dict[str, int]
    """Part of these bytes in the kernel's body, without functions that are not inlined."""
    stack_bytes: dict[str, int]
    """Local memory of one thread: private arrays that did not become registers, and spills."""
    shared_bytes: dict[str, int]
    """Static shared memory of one block, without what the driver reserves."""
    log: str


CACHES_SINCE = (12, 9)
"""The version of NVRTC that first kept what it compiled."""


def compile_report(source: str, arch: str, options: Sequence[str] = ()) -> CompileReport:
    """Compile CUDA `source` for `arch` (such as `sm_90`).

    Raises NvrtcNotFound without the library, and NvrtcError with the compiler's log if it rejects the source.
    """
    nvrtc = _library()
    program = ctypes.c_void_p()
    _check(
        nvrtc,
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None),
        "create a program",
    )
    try:
        flags = ["--std=c++17", f"--gpu-architecture={arch}", "--ptxas-options=-v", *options]
        if nvrtc_version() >= CACHES_SINCE:
            flags.append("--no-cache")  # what comes from its cache comes without a report
        argv = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
        status = nvrtc.nvrtcCompileProgram(program, len(flags), argv)
        log = _text(nvrtc, program, "ProgramLog")
        if status != _SUCCESS:
            known = f"; this NVRTC knows {', '.join(supported_archs())}" if "gpu-architecture" in log else ""
            raise NvrtcError(f"NVRTC cannot compile for {arch}{known}:\n{log.strip()}")
        cubin = _bytes(nvrtc, program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    figures = dict(_figures(log))
    registers, spills, own, stack, shared = (
        {name: figure[key] for name, figure in figures.items()}
        for key in ("registers", "spills", "own spills", "stack", "shared")
    )
    return CompileReport(cubin, registers, spills, own, stack, shared, log)


def supported_archs() -> tuple[str, ...]:
    """Return the architectures that the installed NVRTC supports, oldest first. Raises NvrtcNotFound."""
    nvrtc = _library()
    count = ctypes.c_int()
    _check(nvrtc, nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)), "list architectures")
    found = (ctypes.c_int * count.value)()
    _check(nvrtc, nvrtc.nvrtcGetSupportedArchs(found), "list architectures")
    return tuple(f"sm_{number}" for number in found)


def nvrtc_version() -> tuple[int, int]:
    """Return the major and minor version, on which cached cubins depend. Raises NvrtcNotFound."""
    nvrtc = _library()
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(nvrtc, nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "tell its version")
    return major.value, minor.value


# --- the library --------------------------------------------------------------------------------------------


@cache
def _library() -> ctypes.CDLL:
    for candidate in _candidates():
        try:
            library = ctypes.CDLL(candidate)
            library.nvrtcGetErrorString.restype = ctypes.c_char_p
        except (OSError, AttributeError):
            continue
        return library
    raise NvrtcNotFound


def _candidates() -> Iterator[str]:
    """Yield NVRTC library paths: the wheels' (CUDA 12 and 13 differ in folders), then the system's."""
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for pattern in (
            "cuda_nvrtc/lib/libnvrtc.so.*",
            "cu1*/lib/libnvrtc.so.*",
            "cuda_nvrtc/bin/nvrtc64*.dll",
        ):
            found = sorted(path for path in Path(folder).glob(pattern) if "builtins" not in path.name)
            yield from (str(path) for path in reversed(found) if ".alt." not in path.name)
    from ctypes.util import find_library  # late: it brings all that starting processes needs

    if system := find_library("nvrtc"):
        yield system
    yield from ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")
    for toolkit in sorted(Path("/usr/local").glob("cuda*/lib64"), reverse=True):
        yield str(toolkit / "libnvrtc.so")


def _check(nvrtc: ctypes.CDLL, status: int, what: str) -> None:
    if status != _SUCCESS:
        raise NvrtcError(f"NVRTC could not {what}: {nvrtc.nvrtcGetErrorString(status).decode()}")


def _bytes(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), f"give its {what}")
    buffer = ctypes.create_string_buffer(size.value)
    _check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, buffer), f"give its {what}")
    return buffer.raw


def _text(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    return _bytes(nvrtc, program, what).rstrip(b"\0").decode(errors="replace")


# --- the report ---------------------------------------------------------------------------------------------


def _figures(log: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Parse name and figures of each kernel from the report of `--ptxas-options=-v`."""
    parts = re.split(r"Compiling entry function '(\w+)'", log)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):

        def figure(pattern: str, text: str = text) -> int:
            return sum(int(number) for number in re.findall(rf"(\d+) {pattern}", text))

        functions = text.split("Function properties for ")[1:]
        own = "".join(f for f in functions if re.match(rf"{name}\b", f))
        spills = "bytes spill (?:stores|loads)"
        yield (
            name,
            {
                "registers": figure("registers"),
                "spills": figure(spills),
                "own spills": figure(spills, own),
                "stack": figure("bytes stack frame"),
                "shared": figure("bytes smem"),
            },
        )
