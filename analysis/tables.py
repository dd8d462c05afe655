"""Tables: small stages that others of their group read where data say, so that a block needs all of them.

    %curve = img.stage "curve" (%i) -> ui8 { ... }                      // of 256 points, as a byte has so many values
    %out = img.stage "out" (%x, %y) -> ui8 { ... img.read %curve[%byte] }

A block computes such a table once, in memory of its own, in place of a kernel that stores it.
"""

from __future__ import annotations

from collections.abc import Collection

from tilefuse.analysis.model import PipelineModel


def looked_up(model: PipelineModel, members: Collection[int]) -> dict[int, int]:
    """The tables among the members of a group, each with one that reads it."""
    found: dict[int, int] = {}
    for id in members:
        for access in model.nodes[id].hull:
            if access.producer in members and access.looks_up:
                found.setdefault(access.producer, id)
    return found


def of_tables(model: PipelineModel, members: Collection[int]) -> set[int]:
    """The tables of a group, and the stages computed for them: at points that the call may not need."""
    found: set[int] = set()
    waiting = list(looked_up(model, members))
    while waiting:
        id = waiting.pop()
        if id not in found:
            found.add(id)
            waiting += [p for p in model.producers(id) if p in members]
    return found
