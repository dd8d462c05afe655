"""NVIDIA GPUs as data: the rows of `gpus.toml`, by model or by architecture."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilefuse.targets.limits import MAX_THREADS_PER_BLOCK, STATIC_SHARED_LIMIT
from tilefuse.targets.rows import check_keys, unknown_name

# The share of the sheet's bandwidth that a copy reaches, for models where we have not measured it.
_COPY_SHARE = 0.88


class UnknownGpu(ValueError):
    """Error: a name in no row of the table."""


@dataclass(frozen=True)
class Gpu:
    """One GPU. Sizes in bytes; bandwidths in GB/s, read and written together."""

    name: str
    arch: str
    """`sm_90`."""
    sms: int
    clock_ghz: float
    dram_gbps: float
    """Bandwidth of a copy kernel: measured, or a usual share of the peak."""
    peak_dram_gbps: float
    l2_bytes: int
    memory_bytes: int
    launch_us: float
    fp32_lanes_per_sm: int
    max_blocks_per_sm: int
    max_warps_per_sm: int
    shared_bytes_per_sm: int
    shared_bytes_optin: int
    """The most that a block may have, if the launch asks for it."""
    shared_bytes_reserved: int
    """Bytes of each block's shared memory that the system takes."""
    shared_unit: int
    """Unit to which the shared memory of a block is rounded up."""
    shared_bytes_per_block: int = STATIC_SHARED_LIMIT
    """The most that a block may have without asking."""
    warp_size: int = 32
    max_threads_per_block: int = MAX_THREADS_PER_BLOCK
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    """The most threads that a block may have along x, y and z."""
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    """The most blocks that a launch may have along x, y and z."""
    registers_per_sm: int = 65536
    registers_per_block: int = 65536
    max_registers_per_thread: int = 255
    register_unit: int = 256
    """Unit to which the registers of a warp are rounded up."""
    partitions: int = 4
    """Parts of an SM with registers of their own; warps are allocated in multiples of it."""

    @property
    def max_threads_per_sm(self) -> int:
        """Threads that an SM can hold."""
        return self.max_warps_per_sm * self.warp_size


_ARCH_KEYS = {"lanes", "blocks", "warps", "shared_kib", "shared_optin_kib", "shared_reserved", "shared_unit"}
_GPU_KEYS = {"arch", "sms", "clock_ghz", "peak_dram_gbps", "l2_mib", "memory_gb", "launch_us"}
_GPU_OPTIONAL = {"measured_dram_gbps"}


@cache
def _table() -> dict[str, Gpu]:
    return read_gpus(Path(__file__).with_name("gpus.toml").read_text())


def read_gpus(text: str) -> dict[str, Gpu]:
    """Read the rows of a table, by model. Raises ValueError, which names row and key, for missing or unknown keys."""
    data = tomllib.loads(text)
    for name, row in data["arch"].items():
        check_keys("gpus.toml", f"[arch] {name}", row, _ARCH_KEYS, set())
    found: dict[str, Gpu] = {}
    for name, row in data["gpu"].items():
        check_keys("gpus.toml", f"[gpu] {name}", row, _GPU_KEYS, _GPU_OPTIONAL)
        if row["arch"] not in data["arch"]:
            raise ValueError(f"gpus.toml: [gpu] {name}: there is no {row['arch']} under [arch]; add that row")
        arch = data["arch"][row["arch"]]
        found[name] = Gpu(
            name=name,
            arch=row["arch"],
            sms=row["sms"],
            clock_ghz=row["clock_ghz"],
            dram_gbps=row.get("measured_dram_gbps", row["peak_dram_gbps"] * _COPY_SHARE),
            peak_dram_gbps=row["peak_dram_gbps"],
            l2_bytes=int(row["l2_mib"] * 2**20),
            memory_bytes=int(row["memory_gb"] * 10**9),
            launch_us=row["launch_us"],
            fp32_lanes_per_sm=arch["lanes"],
            max_blocks_per_sm=arch["blocks"],
            max_warps_per_sm=arch["warps"],
            shared_bytes_per_sm=arch["shared_kib"] * 1024,
            shared_bytes_optin=arch["shared_optin_kib"] * 1024,
            shared_bytes_reserved=arch["shared_reserved"],
            shared_unit=arch["shared_unit"],
        )
    return found


def kernels_overlap(arch: str) -> bool:
    """Whether a kernel's blocks may start before the previous kernel has ended: from `sm_90` on."""
    return int(arch.removeprefix("sm_").rstrip("af")) >= 90


def gpu_names() -> tuple[str, ...]:
    """Return all models, then all architectures."""
    models = _table()
    return (*models, *dict.fromkeys(gpu.arch for gpu in models.values()))


def gpu(name: str) -> Gpu:
    """Return the GPU of a model (`h200`), an architecture (`sm_90`) or a device name (`NVIDIA A100-SXM4-80GB`).

    Raises UnknownGpu, a ValueError, with the names that are known.
    """
    # no colon is part of a name: what stands before it is another part of a target
    wanted = re.findall(r"[a-z0-9]+", name.lower()) if ":" not in name else []
    for model, found in _table().items():
        parts = model.split("_")
        if any(wanted[i : i + len(parts)] == parts for i in range(len(wanted))):
            return found
    for found in _table().values():
        if wanted == found.arch.split("_"):
            return found
    raise UnknownGpu(unknown_name("GPU", name, gpu_names()))
