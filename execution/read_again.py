"""Points that a tile loads from memory of a function of which others load the same points again."""

from __future__ import annotations

import math
from collections.abc import Sequence

READ_AGAIN = 2
"""Times that tiles load each point of a function, from which on it is smaller than what tiles load of it, and all loads
but the first are of a cache: rows that neighbours share, and rounding, are less."""


def from_memory(points: float, tiles: int, needed: Sequence[int] | None) -> float:
    """Points of a tile that come from memory, of `points` that it loads and its neighbours do not.

    `tiles`: the tiles of the kernel. `needed`: points per dimension that all of them need; None if that is not known.
    """
    if needed is None or tiles * points <= READ_AGAIN * math.prod(needed):
        return points
    return math.prod(needed) / tiles
