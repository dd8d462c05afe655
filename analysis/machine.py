"""Machine descriptions for the cost model: the same few numbers for GPUs and CPUs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilefuse.analysis.calibration import DEFAULTS, Calibration, calibration, cpu_rates
from tilefuse.dialects.diagnostics import PipelineError

STAYS_SHARE = 0.4
"""Share of the last cache that a call may expect to find its own: others store and read meanwhile."""
STAYS_IN_CALL = 0.8
"""Share that a kernel may expect to find of what kernels of the call before it stored."""
STARTS = 5.0
"""Times that a loop on all cores begins and ends while one thread computes all of a picture that is left to it."""
STARTS_OF_TILES = 2.5
"""Such times while one thread computes tiles that are cut already: threads that share them compute nothing twice."""

OF_POINT = 100.0
"""Instructions for each point of a small picture. In a larger one some kernels are not left to one thread, so that
threads wait for work already when a coarse level of a pyramid has little."""


@dataclass(frozen=True)
class Machine:
    """Machine figures: rates in units per microsecond, sizes in bytes."""

    name: str
    is_gpu: bool
    bytes_per_us: float
    """Main memory, read and written together."""
    instructions_per_us: float
    """Thread (GPU) or vector-lane (CPU) instructions, all cores."""
    launch_us: float
    fast_bytes: int
    """Shared memory that a block may take, or the cache that a CPU tile should stay in."""
    cores: int
    """Multiprocessors or cores."""
    fast_bytes_per_core: int
    max_threads_per_core: int
    registers_per_core: int
    most_fast_bytes: int
    """Shared memory that a block has at most, if its launch asks for it; or that cache."""
    kernels_overlap: bool = False
    """Whether a kernel's blocks move in before the kernel before has ended."""
    calibration: Calibration = DEFAULTS
    """Fitted constants of the cost of GPU kernels."""
    first_cache_bytes: int = 0
    """L1 cache of a CPU's core, into which rows should fit."""
    vector_bytes: int = 16
    """Size of a vector register; on a GPU the largest load of a thread."""
    vector_registers: int = 16
    """Vector registers of a CPU's core."""
    last_cache_bytes: int = 0
    """Cache that all cores of a CPU share."""
    clock_ghz: float = 3.0
    """Clock of a CPU."""
    strip_instructions_per_us: float = 0.0
    """Vector-lane instructions of all cores of a CPU in loops along rows of strips."""

    def microseconds(self, *, instructions: float, bytes: float = 0.0, kernels: int = 0) -> float:
        """Estimate the time of work that is in no kernel yet: of instructions, then memory, then launches.

        Of a kernel's schedule `predict` makes the time.
        """
        return instructions / self.instructions_per_us + bytes / self.bytes_per_us + kernels * self.launch_us

    @property
    def alone_instructions(self) -> float:
        """Instructions of a kernel that one thread of a CPU runs, as others would hardly have begun."""
        return self._of_one_core(STARTS * self.launch_us)

    @property
    def parallel_instructions(self) -> float:
        """Instructions of a kernel of several tiles from which several threads of a CPU compute the tiles."""
        return self._of_one_core(STARTS_OF_TILES * self.launch_us)

    def leaves_to_one_thread(self, extent: Sequence[int]) -> bool:
        """Whether a picture is so small that one thread of a CPU may run kernels of it."""
        return not self.is_gpu and math.prod(extent) * OF_POINT <= self.alone_instructions

    def _of_one_core(self, microseconds: float) -> float:
        return microseconds * self.instructions_per_us / self.cores

    def keeps(self, bytes: float, *, in_call: bool = False) -> bool:
        """Whether this many bytes stay in the last-level cache of a CPU from one call, or kernel of it, to the next."""
        share = STAYS_IN_CALL if in_call else STAYS_SHARE
        return not self.last_cache_bytes or bytes <= share * self.last_cache_bytes


def check_extent(extent: tuple[int, ...], where: str) -> None:
    """Raise PipelineError, naming `where`, unless `extent` is a valid picture size."""
    if not extent or min(extent) < 1:
        raise PipelineError(f"{where}: extent is {extent}; give positive sizes, x first, as in extent=1536,2560")
    if max(extent) >= 1 << 31:
        raise PipelineError(f"{where}: extent is {extent}; a picture has less than {1 << 31} points in a dimension")


def check_target(target: str, where: str) -> None:
    """Raise PipelineError, naming `where`, unless the target `machine` is known."""
    if not is_cpu(target):
        from tilefuse.targets.gpus import UnknownGpu, gpu

        try:
            gpu(target)
        except UnknownGpu as error:
            raise PipelineError(f"{where}: {error}; or cpu, or a CPU as zen3 (targets/cpus.toml)") from error


def is_cpu(target: str) -> bool:
    """Whether a target name is this machine's CPU, `cpu`, or a row of `targets/cpus.toml`."""
    if target == "cpu":
        return True
    from tilefuse.targets.cpus import cpu_names

    return target in cpu_names()


def machine(target: str) -> Machine:
    """Return the machine of a target: `cpu`, a row of `targets/cpus.toml`, or a GPU's model or arch (`h200`, `sm_90`).

    Raises PipelineError, with the names that are known.
    """
    if is_cpu(target):
        return _cpu_machine(target)
    from tilefuse.targets.gpus import UnknownGpu, gpu, kernels_overlap

    try:
        g = gpu(target)
    except UnknownGpu as error:
        raise PipelineError(f"{error}; or cpu, or a CPU as zen3 (targets/cpus.toml)") from error
    # 0.72: the share of the issue rate that hand-written stencil kernels reach (see docs/cost-model.md)
    issue = g.sms * g.fp32_lanes_per_sm * g.clock_ghz * 1e3 * 0.72
    return Machine(
        g.name, True, g.dram_gbps * 1e3, issue, g.launch_us, g.shared_bytes_per_block,
        g.sms, g.shared_bytes_per_sm, g.max_threads_per_sm, g.registers_per_sm, g.shared_bytes_optin,
        kernels_overlap(g.arch), calibration(g.name),
    )  # fmt: skip


def _cpu_machine(target: str) -> Machine:
    from tilefuse.targets.cpus import cpu, host_cpu

    row = host_cpu().with_rates(cpu_rates()) if target == "cpu" else cpu(target)
    return Machine(
        target, False, row.gbps * 1e3, row.cores * row.vectors_per_ns * 1e3 * row.vector_bytes / 4,
        row.start_us, row.l2_bytes // 2, row.cores, row.l2_bytes, 1, 10**9, row.l2_bytes // 2,
        first_cache_bytes=row.l1_bytes, vector_bytes=row.vector_bytes, vector_registers=row.vector_registers,
        last_cache_bytes=row.l3_bytes, clock_ghz=row.clock_ghz,
        strip_instructions_per_us=row.cores * row.strip_vectors_per_ns * 1e3 * row.vector_bytes / 4,
    )  # fmt: skip
