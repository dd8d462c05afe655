"""Candidate schedules of block tiles."""

from __future__ import annotations

from dataclasses import dataclass

from tilefuse.execution.candidate import Candidate


@dataclass(frozen=True)
class BlockCandidate(Candidate):
    """A candidate that also records whether a block caches the inputs of an update's steps."""

    caches_inputs: bool = False
