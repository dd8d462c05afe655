"""Memory traffic of points that several tiles load."""

from __future__ import annotations

import math
from collections.abc import Sequence

READ_AGAIN = 2
"""Times that tiles load each point of a function, from which on it is smaller than what tiles load of it, and all loads
but the first are of a cache: rows that neighbours share, and rounding, are less."""


def from_memory(points: float, tiles: int, needed: Sequence[int] | None) -> float:
    """Return the points that a tile loads from memory rather than a cache, of `points` that only it loads.

    `tiles`: the tiles of the kernel. `needed`: points per dimension that all of them need; None if that is not known.
    """
    if needed is None or tiles * points <= READ_AGAIN * math.prod(needed):
        return points
    return math.prod(needed) / tiles
