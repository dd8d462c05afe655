"""What a recurrence takes: chains of steps, of which each waits for the one before."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tilefuse.analysis.machine import Machine
from tilefuse.execution.features import Features

CHAIN_US = 0.0028
"""Microseconds from an operation of a chain to the next: 5 cycles."""
MEMORY_US = 0.6
"""Microseconds that a line waits for its inputs: a miss of all caches."""
CPU_STEP_US = 0.001
CPU_CHAIN_US = 0.0001
BYTES_IN_FLIGHT = 0.7
"""Share of a sector that is used while lanes lie along the lines: each has sectors of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanFeatures(Features):
    """Counts of a kernel, and of the chain of one line."""

    bytes: float
    """From and to main memory, of the whole kernel."""
    instructions: float
    """Of all threads."""
    steps: float
    """Of a line."""
    chain: float
    """Operations of a step, one after the other at worst."""
    lines: float
    unroll: int
    """Steps whose inputs are loaded at once."""
    width: int
    """Lines that a thread takes together."""
    is_along_rows: bool
    """Whether lines go along x, so that lanes lie in rows of their own."""

    def analytical(self, machine: Machine) -> float:
        memory, compute = self.bytes / machine.bytes_per_us, self.instructions / machine.instructions_per_us
        if not machine.is_gpu:
            at_once = min(self.lines, machine.cores * min(float(self.width), 8.0))
            step = CPU_STEP_US + CPU_CHAIN_US * self.chain
            return max(memory, compute, self.lines / at_once * self.steps * step) + machine.launch_us
        rounds = max(1.0, math.ceil(self.lines / (machine.cores * machine.max_threads_per_core)))
        # a sector has eight steps of a line along x
        waits = self.steps / max(self.unroll, 8 if self.is_along_rows else 1)
        chain = rounds * (self.steps * self.chain * CHAIN_US + waits * MEMORY_US)
        return max(memory / (BYTES_IN_FLIGHT if self.is_along_rows else 1.0), compute, chain) + machine.launch_us
