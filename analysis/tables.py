"""Detection of tables: small stages with data-dependent reads from their group, so that a block needs all of them.

    %curve = img.stage "curve" (%i) -> ui8 { ... }                      // of 256 points, as a byte has so many values
    %out = img.stage "out" (%x, %y) -> ui8 { ... img.read %curve[%byte] }

A block computes such a table once, in memory of its own, in place of a kernel that stores it.
"""

from __future__ import annotations

from collections.abc import Collection

from tilefuse.analysis.model import PipelineModel


def looked_up(model: PipelineModel, members: Collection[int]) -> dict[int, int]:
    """Find the tables among the members of a group, each with one of its readers."""
    found: dict[int, int] = {}
    for id in members:
        for access in model.nodes[id].hull:
            if access.producer in members and access.looks_up:
                found.setdefault(access.producer, id)
    return found


def of_tables(model: PipelineModel, members: Collection[int]) -> set[int]:
    """Find the tables of a group and the stages that only they need, which may be computed at points no call needs."""
    return model.needed(looked_up(model, members), members)
