"""Predicted time of a strip kernel on a CPU, from its features."""

from __future__ import annotations

from dataclasses import dataclass

from tilefuse.analysis.machine import Machine
from tilefuse.execution.features import Features

BEYOND_CACHE = 1.07
"""Instructions over those of rows that stay in the first cache, where they only stay in the second: of loops over one
row. Those over several load each row once for all of them."""
LAST_STRIPS = 0.5
"""Share of a strip's time for which threads that find no more wait for the others."""
LAST_BALANCED = 0.15
"""Share of a strip's time where all cores have as many strips, and few, and pictures stay in the last cache."""
FEW = 4
"""Strips of a core that are few."""
NOT_HIDDEN = 0.15
"""Share of the shorter of memory and arithmetic that does not hide behind the longer."""


@dataclass(slots=True, kw_only=True)
class StripFeatures(Features):
    """Features of a strip kernel."""

    bytes: float
    """Bytes from and to main memory, of the whole kernel."""
    instructions: float
    """Instructions of a strip, of all vector lanes."""
    kept_bytes: float
    """Bytes of the rows that a strip keeps, and of input rows that it reads again."""
    rows_per_loop: int = 1
    """Rows of the output in one loop."""
    memory_share: float = 1.0
    """Share of the bytes' time that main memory takes, as several rows are accessed at a time."""
    streaming_stores: bool = False
    """Whether the output goes to memory past the caches."""
    is_static: bool = False
    """Whether each thread is given as many strips at once."""
    vector_bytes: int = 0
    """Vector size of the schedule."""
    by_planes: bool = False
    """Whether all rows of a plane come before those of the next."""

    def analytical(self, machine: Machine) -> float:
        memory, compute = self.times(machine)
        return max(memory, compute) + NOT_HIDDEN * min(memory, compute) + machine.launch_us

    def is_balanced(self, machine: Machine) -> bool:
        """Whether all cores have equally many, few strips of pictures that stay in the last-level cache."""
        each, left = divmod(self.blocks, machine.cores)
        return not left and each <= FEW and machine.keeps(self.bytes)

    def times(self, machine: Machine) -> tuple[float, float]:
        """Return the microseconds of main memory and of arithmetic, each without the other."""
        waits = LAST_BALANCED if self.is_balanced(machine) else LAST_STRIPS
        rounds = 1.0 if self.blocks <= 1 else -(-self.blocks // machine.cores) + waits
        compute = rounds * self.instructions / (machine.strip_instructions_per_us / machine.cores)
        if self.rows_per_loop == 1 and self.kept_bytes > machine.first_cache_bytes:
            compute *= BEYOND_CACHE
        return self.memory_share * self.bytes / machine.bytes_per_us, compute
