"""Features of a kernel, in numbers, and the prediction of its time from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tilefuse.analysis.machine import Machine


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

    This is the only function that makes a time of features; a measured or learned model would replace it.
    """
    return features.analytical(machine)
