"""Features of an update that runs in order: threads with many sequential steps."""

from __future__ import annotations

from dataclasses import dataclass

from tilefuse.analysis.machine import Machine
from tilefuse.execution.features import Roofline

GPU_STEP_US = 0.35
"""Microseconds of a point of the domain, where nothing hides them: a load, and a sum that goes through the caches."""
STEPS_NOT_HIDDEN = 0.15
"""Share of the steps that does not hide behind memory or arithmetic."""
CPU_STEP, CPU_FAR = 6.0, 18.0
"""Cycles of a point on a CPU where its neighbour lies beside it, and where it lies in another row."""
CPU_WRITE = 2.5
"""Cycles of a point on a CPU in a loop that only writes."""


@dataclass(slots=True, kw_only=True)
class InOrderFeatures(Roofline):
    """Counts of a kernel, and of the steps that a thread cannot overlap."""

    steps: float
    """Points of the domain, which each thread takes one after the other."""
    threads: float
    """Pure points."""
    is_far: bool
    """Whether points that are neighbours along the innermost dimension of the domain lie apart."""
    planes: int = 0
    """Planes of a thread whose writes have a loop of their own; 0 for no such loop."""

    def analytical(self, machine: Machine) -> float:
        memory, compute = self.roofline(machine)
        at_once = machine.cores * machine.max_threads_per_core
        rounds = max(1.0, self.threads / at_once)
        cycles = CPU_WRITE if self.planes else CPU_FAR if self.is_far else CPU_STEP
        step = GPU_STEP_US if machine.is_gpu else cycles / (machine.clock_ghz * 1e3)
        parts = (memory, compute, rounds * self.steps * step)
        hidden = STEPS_NOT_HIDDEN * parts[2] * (parts[2] < max(parts))
        return max(parts) + hidden + machine.launch_us
