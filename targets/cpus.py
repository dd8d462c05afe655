"""The CPU that this process runs on, as far as schedules need it."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True)
class Cpu:
    """Cores that this process may use; bytes of one core's caches and of a vector register."""

    name: str
    cores: int
    l1_bytes: int
    l2_bytes: int
    vector_bytes: int


@cache
def host_cpu() -> Cpu:
    """This machine's CPU; usual values for what the system does not tell."""
    info = _read(Path("/proc/cpuinfo"))
    model = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    return Cpu(
        name=model[1] if model else platform.processor() or platform.machine(),
        cores=_cores(),
        l1_bytes=_cache_bytes(1, 32 * 2**10),
        l2_bytes=_cache_bytes(2, 2**20),
        vector_bytes=vector_bytes(info),
    )


def vector_bytes(cpuinfo: str) -> int:
    """The widest vector registers that the flags of /proc/cpuinfo speak of; 16 bytes if they say nothing."""
    found = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    flags = set(found[1].split()) if found else set()
    if "avx512f" in flags:
        return 64
    return 32 if "avx" in flags else 16


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cache_bytes(level: int, usual: int) -> int:
    for index in sorted(_CACHES.glob("index*")):
        if _read(index / "level").strip() == str(level) and _read(index / "type").strip() != "Instruction":
            size = re.fullmatch(r"(\d+)([KMG]?)", _read(index / "size").strip())
            if size:
                return int(size[1]) * _UNITS[size[2]]
    return usual


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
