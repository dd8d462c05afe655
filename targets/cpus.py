"""CPUs as data: the rows of `cpus.toml`, and this process's own."""

from __future__ import annotations

import os
import platform
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tilefuse.targets.rows import check_keys, unknown_name

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_LIKE = {"amd64": "x86_64", "arm64": "aarch64"}
"""Names of machines on other systems."""


class UnknownCpu(ValueError):
    """Error: a name in no row of the table."""


@dataclass(frozen=True)
class Cpu:
    """One CPU: cores, bytes of caches and of a vector register, and the rates of `cpus.toml`."""

    name: str
    isa: str
    machine: str
    """`x86_64`, `aarch64`."""
    march: str
    """The instruction set, as GCC and clang call it."""
    tune: str
    """The model, as GCC and clang call it; empty if it has no row."""
    vector_bytes: int
    vector_registers: int
    cores: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    clock_ghz: float
    gbps: float
    """Bandwidth of all cores, reads and writes together."""
    core_gbps: float
    """Bandwidth of each of many busy cores."""
    vectors_per_ns: float
    strip_vectors_per_ns: float
    start_us: float

    def with_rates(self, rates: Mapping[str, float]) -> Cpu:
        """Return this CPU with other values for some of RATES."""
        return replace(self, **rates)  # type: ignore[arg-type]


RATES = ("clock_ghz", "gbps", "core_gbps", "vectors_per_ns", "strip_vectors_per_ns", "start_us")
"""Columns that are measured, or of the sheet; all else is counted."""
_ISA_KEYS = {"vector_bytes", "registers", "machine", "march", "flags"}
_CPU_KEYS = {"isa", "ids", "tune", "cores", "l1_kib", "l2_kib", "l3_mib", *RATES}


@dataclass(frozen=True)
class Table:
    """The rows of a file: CPUs by name, table names by system names, and flags of instruction sets."""

    cpus: Mapping[str, Cpu]
    by_id: Mapping[str, str]
    flags: Mapping[str, frozenset[str]]
    """Flags of each instruction set, the widest of a machine last."""

    def generic(self, isa: str) -> Cpu:
        """Return the first row of an instruction set."""
        return next(c for c in self.cpus.values() if c.isa == isa)


@cache
def table() -> Table:
    """Return the rows of the package."""
    return read_cpus(Path(__file__).with_name("cpus.toml").read_text())


def read_cpus(text: str) -> Table:
    """Read the rows of a file. Raises ValueError, which names row and key, for missing or unknown keys."""
    data = tomllib.loads(text)
    for name, row in data["isa"].items():
        check_keys("cpus.toml", f"[isa] {name}", row, _ISA_KEYS, set())
    cpus: dict[str, Cpu] = {}
    by_id: dict[str, str] = {}
    for name, row in data["cpu"].items():
        check_keys("cpus.toml", f"[cpu] {name}", row, _CPU_KEYS, set())
        if row["isa"] not in data["isa"]:
            raise ValueError(f"cpus.toml: [cpu] {name}: there is no {row['isa']} under [isa]; add that row")
        isa = data["isa"][row["isa"]]
        cpus[name] = Cpu(
            name=name,
            isa=row["isa"],
            machine=isa["machine"],
            march=isa["march"],
            tune=row["tune"],
            vector_bytes=isa["vector_bytes"],
            vector_registers=isa["registers"],
            cores=row["cores"],
            l1_bytes=int(row["l1_kib"] * 2**10),
            l2_bytes=int(row["l2_kib"] * 2**10),
            l3_bytes=int(row["l3_mib"] * 2**20),
            **{rate: float(row[rate]) for rate in RATES},
        )
        by_id |= dict.fromkeys(row["ids"], name)
    return Table(cpus, by_id, {name: frozenset(row["flags"]) for name, row in data["isa"].items()})


def cpu_names() -> tuple[str, ...]:
    """Return the names of all rows."""
    return tuple(table().cpus)


def cpu(name: str) -> Cpu:
    """Return the CPU of a row. Raises UnknownCpu, a ValueError that lists the known names."""
    found = table().cpus.get(name.lower())
    if found is None:
        raise UnknownCpu(unknown_name("CPU", name, cpu_names()))
    return found


@cache
def host_cpu() -> Cpu:
    """Return this machine's CPU: rates of its row, or of the first with its instructions; its real cores and caches."""
    found = of_cpuinfo(_read(Path("/proc/cpuinfo")), platform.machine())
    cores = _cores()
    return replace(
        found,
        cores=cores,
        l1_bytes=_cache_bytes(1, found.l1_bytes),
        l2_bytes=_cache_bytes(2, found.l2_bytes),
        l3_bytes=_cache_bytes(3, found.l3_bytes),
        gbps=min(found.gbps, found.core_gbps * cores),
    )


def of_cpuinfo(info: str, machine: str) -> Cpu:
    """Find a processor's row from the text of /proc/cpuinfo.

    One that lacks instructions of its model's row, as some virtual machines do, keeps the rates, and gets the vectors
    of the instructions that it has.
    """
    rows = table()
    flags = set(_field(info, "flags|Features").split())
    machine = _LIKE.get(machine.lower(), machine.lower())
    of_machine = [c.isa for c in rows.cpus.values() if c.machine == machine] or ["x86_64"]
    isa = next(i for i in reversed(list(rows.flags)) if i in of_machine and rows.flags[i] <= flags)
    widest = rows.generic(isa)
    id = " ".join((_field(info, "vendor_id"), _field(info, "cpu family"), _field(info, "model")))
    if machine == "aarch64":
        id = " ".join((_field(info, "CPU implementer"), _field(info, "CPU part")))
    known = rows.cpus.get(rows.by_id.get(id, ""), widest)
    return replace(
        known, isa=isa, march=widest.march, vector_bytes=widest.vector_bytes, vector_registers=widest.vector_registers
    )


def _field(info: str, name: str) -> str:
    found = re.search(rf"^(?:{name})[ \t]*:[ \t]*(.+)$", info, re.MULTILINE)
    return found[1].strip() if found else ""


def _cores() -> int:
    """Return the cores that the process may run on; fewer if OpenMP is limited."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = re.match(r"\s*([1-9]\d*)\s*(,|$)", os.environ.get("OMP_NUM_THREADS", ""))
    return min(cores, int(threads[1])) if threads else cores


def _cache_bytes(level: int, usual: int) -> int:
    """Return the bytes of a cache of the first core, shared or not."""
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
