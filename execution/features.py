"""Features of a kernel, in numbers, and the prediction of its time from them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from tilefuse.analysis.machine import Machine

START_US = 0.00125
"""Microseconds from the start of a block to that of the next one on a GPU, whatever the number of its threads."""
STARTS_POWER, HIDDEN_WORK = 3.0, 1e-6
"""Power of the mean of all starts and of the blocks' work where nothing is loaded; elsewhere the share of the shorter
one that counts, which decides between kernels that take as long as their starts."""
STORED_TAIL = 0.002
"""Microseconds of the last blocks of a kernel that loads nothing, per byte that a thread stores."""


@dataclass(slots=True, kw_only=True)
class Features(ABC):
    """Features of a kernel, which an execution model counts, and from which its time is predicted."""

    blocks: int
    """Blocks of the grid; on a CPU tiles."""
    code: float = 0.0
    """Instructions of the code; 0 if they are not counted."""

    @abstractmethod
    def analytical(self, machine: Machine) -> float:
        """Return the microseconds by the analytical formula of these features, with its constants."""


@dataclass(slots=True, kw_only=True)
class Roofline(Features):
    """Features of a roofline model: memory traffic and instructions overlap."""

    bytes: float
    """Bytes from and to main memory, of the whole kernel."""
    instructions: float
    """Instructions of all threads, or of all vector lanes of a CPU."""

    def roofline(self, machine: Machine) -> tuple[float, float]:
        """Return microseconds of main memory, and of the instructions, each alone at its full rate."""
        return self.bytes / machine.bytes_per_us, self.instructions / machine.instructions_per_us

    def analytical(self, machine: Machine) -> float:
        return max(self.roofline(machine)) + machine.launch_us


def predict(features: Features, machine: Machine) -> float:
    """Predict the microseconds of a kernel, including its launch.

    This is the only function that makes a candidate's time of features; a measured or learned model would replace it.
    What else estimates times, and would have to follow: docs/cost-model.md.
    """
    return features.analytical(machine)


def beside(longer: float, shorter: float, power: float) -> float:
    """Return the time of two overlapping activities; a larger `power` means better overlap."""
    return longer * math.pow(1.0 + math.pow(shorter / longer, power), 1.0 / power)


def with_starts(work: float, blocks: int, loads: bool) -> float:
    """Predict the microseconds of blocks that a GPU starts one after the other, and whose work alone takes `work`."""
    longer, shorter = sorted((work, blocks * START_US), reverse=True)
    # while blocks wait for memory, others are started
    return longer + HIDDEN_WORK * shorter if loads else beside(longer, shorter, STARTS_POWER)
