"""Candidate schedules of warp tiles."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilefuse.execution.candidate import Candidate


@dataclass(frozen=True)
class WarpCandidate(Candidate):
    """A candidate with its registers and its prefetching."""

    prefetch_rows: int = 0
    """`prefetch_rows` of the schedule."""
    prefetch_us: float = 0.0
    """Time that this saves a group that is all of its pipeline; not taken off `microseconds` yet."""
    single_wave: bool = False
    """Whether no more than `blocks` are to share a multiprocessor, either."""
    registers: float = 0.0
    """Registers per thread, estimated."""
    bounded: bool = False
    """Whether the kernel has a bound on registers from the start: without one it is long to compile, likely in vain."""

    def by_itself(self, alone: bool) -> WarpCandidate:
        if not alone:
            return replace(self, prefetch_rows=0, prefetch_us=0.0)
        return replace(self, microseconds=self.microseconds - self.prefetch_us, prefetch_us=0.0)
