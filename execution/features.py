"""Features of a kernel, in numbers, and the time that follows from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tilefuse.analysis.machine import Machine


@dataclass(slots=True, kw_only=True)
class Features(ABC):
    """Features that a kernel's time follows from. An execution model counts them; a subclass has further ones."""

    blocks: int
    """Tiles, on a CPU."""
    code: float = 0.0
    """Instructions of the text; 0 where they are not counted."""

    @abstractmethod
    def analytical(self, machine: Machine) -> float:
        """Microseconds by the formula that belongs to these numbers, with its constants."""


@dataclass(slots=True, kw_only=True)
class Roofline(Features):
    """Counts that every model's time starts from: memory and instructions hide behind each other."""

    bytes: float
    """From and to main memory, of the whole kernel."""
    instructions: float
    """Of all threads, or of all vector lanes of a CPU."""

    def roofline(self, machine: Machine) -> tuple[float, float]:
        """Microseconds of main memory, and of the instructions, each alone at its full rate."""
        return self.bytes / machine.bytes_per_us, self.instructions / machine.instructions_per_us

    def analytical(self, machine: Machine) -> float:
        return max(self.roofline(machine)) + machine.launch_us


def predict(features: Features, machine: Machine) -> float:
    """Microseconds of a kernel, with its launch. Nothing else makes a time of features; a measured or learned model
    takes the place of this one function."""
    return features.analytical(machine)
