"""Features of a reduction: warps stream the domain, then combine their sums."""

from __future__ import annotations

from dataclasses import dataclass

from tilefuse.analysis.machine import Machine
from tilefuse.execution.features import Roofline

FLIGHT_US = 0.7
"""Microseconds from a load of main memory to its use, on a GPU."""
SECOND_STAGE_US = 1.5
"""Microseconds of the last block, which joins what others have found, with the memory that is cleared for it."""


@dataclass(slots=True, kw_only=True)
class ReduceFeatures(Roofline):
    """Counts of a reduction kernel."""

    bytes_at_once: float
    """Bytes that all resident warps have in flight."""
    rounds: float
    """Loads that a warp waits for, one after the other."""
    split: int
    """Blocks that join what they have found."""

    def analytical(self, machine: Machine) -> float:
        memory, compute = self.roofline(machine)
        if not machine.is_gpu:
            # instructions are of vectors here, on as many cores as there are blocks
            return max(memory, compute * machine.cores / min(machine.cores, self.blocks)) + machine.launch_us
        flight = self.bytes / self.bytes_at_once * FLIGHT_US if self.bytes_at_once else 0.0
        stage = SECOND_STAGE_US if self.split > 1 else 0.0
        return max(memory, compute, flight, self.rounds * FLIGHT_US) + stage + machine.launch_us
