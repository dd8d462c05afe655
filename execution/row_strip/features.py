"""The time of a kernel of strips on a CPU, from its features."""

from __future__ import annotations

from dataclasses import dataclass

from tilefuse.analysis.machine import Machine
from tilefuse.execution.features import Features

BEYOND_CACHE = 1.04
"""Instructions over those of rows that stay in the first cache, where they only stay in the second."""
LAST_STRIPS = 1.0
"""Share of a strip's time for which threads that find no more wait for the others."""
NOT_HIDDEN = 0.15
"""Share of the shorter of memory and arithmetic that does not hide behind the longer."""


@dataclass(slots=True, kw_only=True)
class StripFeatures(Features):
    """Features of a kernel of strips."""

    bytes: float
    """From and to main memory, of the whole kernel."""
    instructions: float
    """Of a strip, all vector lanes."""
    kept_bytes: float
    """Of rows that a strip keeps, and of the rows of inputs that it reads again."""
    streams: bool = False
    """Whether the output goes to memory past the caches."""
    vector_bytes: int = 0
    """Of the schedule."""

    def analytical(self, machine: Machine) -> float:
        rounds = 1.0 if self.blocks <= 1 else max(1.0, self.blocks / machine.cores + LAST_STRIPS)
        compute = rounds * self.instructions / (machine.instructions_per_us / machine.cores)
        if self.kept_bytes > machine.first_cache_bytes:
            compute *= BEYOND_CACHE
        memory = self.bytes / machine.bytes_per_us
        return max(memory, compute) + NOT_HIDDEN * min(memory, compute) + machine.launch_us
