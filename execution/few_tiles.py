"""Grain size on CPUs, the least points that several threads share: waking them takes longer than little work."""

from __future__ import annotations

import math

from tilefuse.analysis.regions import regions
from tilefuse.execution.facts import GroupFacts

ALONE = 600_000.0
"""Instructions of vector lanes that one thread does while two others would only have begun: some 25 us."""


def shared_from(facts: GroupFacts, tile: tuple[int, ...]) -> int:
    """The number of points of the output from which on several threads compute its tiles."""
    nodes, work = facts.model.nodes, 1.0
    for id, region in regions(facts.model, list(facts.members), facts.output, tile, facts.follow).items():
        reads = sum(len(set(offsets)) for offsets in nodes[id].offsets.values())
        work += region.points * (nodes[id].instructions + nodes[id].values + reads)
    return math.ceil(ALONE * math.prod(tile) / work)
