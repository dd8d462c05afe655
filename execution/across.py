"""Detection of reads across rows, as in a transposition: neighbours along x read different rows.

On a CPU their cost says how wide a tile is whose rows share lines of the cache; on a GPU the loads of a warp's lanes
lie in as many lines.
"""

from __future__ import annotations

from collections.abc import Collection

from tilefuse.analysis.index import Index
from tilefuse.analysis.model import Access, Node

ACROSS_WIDTH = 16
"""Columns of a tile, or lines of a scan, that read across rows of an input: as many lines stay in the first cache until
the next row reads the next element of each, also where their addresses share few sets. A line of floats is written."""
ACROSS_HEIGHT = 128
"""Rows of such a tile, at least: what is fetched ahead of each row that it reads is used."""
ACROSS_COST = 100.0
"""Instructions that could be done while such an element comes from further away."""
ACROSS_LOAD = 15
"""Instructions of a lane in the time of a load across rows on a GPU: a warp's lie in several lines of the first-level
cache."""


def across_cost(node: Node, members: Collection[int], width: int) -> float:
    """Return the instructions per point spent waiting for cache lines that the L1 cache has evicted."""
    if width <= ACROSS_WIDTH:
        return 0.0
    return ACROSS_COST * reads_across(node, members)


def reads_across(node: Node, members: Collection[int]) -> int:
    """Return the reads from memory whose neighbours along x lie in different rows of the source."""
    return sum(access.producer not in members and is_across(access) for access in node.hull)


def is_across(access: Access) -> bool:
    """Whether neighbours along x read different rows of the source."""
    by_x = [isinstance(i, Index) and i.var == 0 for i in access.indices]
    return any(by_x) and not by_x[0]
