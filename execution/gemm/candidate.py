"""Candidate schedules of register blocks."""

from __future__ import annotations

from dataclasses import dataclass

from tilefuse.execution.candidate import Candidate
from tilefuse.execution.gemm.attribute import GemmSchedule


@dataclass(frozen=True)
class GemmCandidate(Candidate):
    """A candidate with the complete schedule."""

    schedule: GemmSchedule | None = None
