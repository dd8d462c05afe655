"""Features of a scatter: conflicts in tables or memory, and the initialisation and summation of tables."""

from __future__ import annotations

from dataclasses import dataclass

from tilefuse.analysis.machine import Machine
from tilefuse.execution.features import Roofline

SHARED_PER_US = 15e3
"""Values that lanes with copies of their own join with a multiprocessor's tables in a microsecond."""
GLOBAL_PER_US = 30e3
"""Values that all multiprocessors join with global memory in a microsecond, at places that differ."""
SAME_PLACE_US = 0.002
"""Microseconds between two that meet at one place of global memory."""
CLASHES = 0.6
"""Exponent of the waiting time in the number of lanes per copy: it depends on data, and many pictures have large
areas."""
FULL_FLIGHT = 40e3
"""Bytes on their way to a multiprocessor that hide what memory takes to answer."""
LATENCY_US = 1.2
"""Microseconds until the first points are there, and for the last tables to be added up."""
CPU_JOIN, CPU_ATOMIC = 2.7, 60.0
"""Cycles of a core to join a value with its table, and with memory that others write, too."""


STEP_US = 0.05
"""Microseconds of a point of the domain, of threads with tables of their own: loads do not wait for it."""
CPU_SCATTER_STEP = 4.5
"""Cycles of such a point on a CPU."""
ELEMENT_US = 0.03
"""Microseconds of an element that is loaded before, and stored after."""


@dataclass(slots=True, kw_only=True)
class ThreadTableFeatures(Roofline):
    """Counts of a kernel with a table per thread."""

    steps: float
    """Points of the domain, which each thread takes one after the other."""
    elements: float
    """Elements of a table."""
    threads: float
    """Pure points."""
    resident: int
    """Threads that a multiprocessor has room for."""

    def analytical(self, machine: Machine) -> float:
        memory, compute = self.roofline(machine)
        rounds = max(1.0, self.threads / (machine.cores * self.resident))
        cycles = CPU_SCATTER_STEP / (machine.clock_ghz * 1e3)
        step, element = (STEP_US, ELEMENT_US) if machine.is_gpu else (cycles, cycles)
        chain = rounds * (self.steps * step + self.elements * element)
        return max(memory, compute, chain) + machine.launch_us


@dataclass(slots=True, kw_only=True)
class ScatterFeatures(Roofline):
    """Counts of a kernel with tables that lanes share."""

    values: float
    """Values that are joined with elements."""
    elements: float
    """Elements that a block's part of the values may meet at: of its table, or in memory."""
    copies: int
    """Copies of each element in the block's table; 0 without a table."""
    threads: int
    """Threads of a block."""
    resident: int
    """Blocks on a multiprocessor."""
    in_flight: float
    """Bytes that a thread has on their way."""

    def analytical(self, machine: Machine) -> float:
        if not machine.is_gpu:
            cycles = self.values * (CPU_JOIN if self.copies else CPU_ATOMIC)
            if self.copies:
                cycles += self.blocks * self.elements * (self.copies * CPU_JOIN * 2 + CPU_ATOMIC)
            return cycles / (machine.clock_ghz * 1e3) / min(machine.cores, self.blocks) + machine.launch_us
        busy = min(1.0, self.blocks / machine.cores)
        flight = min(1.0, self.threads * self.resident * self.in_flight / FULL_FLIGHT)
        memory = self.bytes / (machine.bytes_per_us * busy * flight)
        compute = self.instructions / (machine.instructions_per_us * busy)
        if not self.copies:
            joins = max(self.values / GLOBAL_PER_US, self.values / self.elements * SAME_PLACE_US)
            return max(memory, compute, joins) + LATENCY_US + machine.launch_us
        cells = self.blocks * self.elements * self.copies
        clashes: float = (32 / self.copies) ** CLASHES
        joins = self.values * clashes / (SHARED_PER_US * machine.cores * busy)
        # filled and read once; then as many adds to memory as there are blocks, which meet there
        tables = 2 * cells / (SHARED_PER_US * machine.cores * busy) + max(
            self.blocks * self.elements / GLOBAL_PER_US, self.blocks * SAME_PLACE_US
        )
        return max(memory, compute, joins) + tables + LATENCY_US + machine.launch_us
