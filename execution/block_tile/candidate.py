"""A schedule of block tiles that the search compares."""

from __future__ import annotations

from dataclasses import dataclass

from tilefuse.execution.candidate import Candidate


@dataclass(frozen=True)
class BlockCandidate(Candidate):
    """A candidate that says, too, whether a block keeps the inputs of an update's steps."""

    holds: bool = False
