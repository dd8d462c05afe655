"""The layout of a warp-tiled group: values in registers over lanes (x) and rows (y).

Lane l of a warp holds `vector` consecutive x-points of every stage, at the same columns for all stages, and
the rows that the warp's tile needs. The x halo is whole dead lanes at each side, so loads and stores stay
aligned (Jangda 2020, an overlapped tile per warp). Neighbours in x come by shuffles, in y from registers.
Rows are computed in one sweep: at step t every stage computes the row that has just become possible, so only
a window of rows is live.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilefuse.analysis.index import BoundedIndex, Index
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, NotFusable, Region

LANES = 32


@dataclass
class Held:
    """One function held in registers: a stage, or an input as it is loaded."""

    rows: tuple[int, int]
    """(first, last) row, relative to the warp's tile."""
    reach: tuple[int, int] = (0, 0)
    """Columns that consumers read left and right of their own (not negative)."""
    rest: tuple[tuple[int, int], ...] = ()
    """(first, last) of every further dimension; absolute, since those are not tiled."""
    lag: int = 0
    """Its row 0 is computed at this step of the sweep."""
    left: int = 0
    right: int = 0
    """Columns needed outside the tile."""
    bytes: int = 4

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.rows[1] - self.rows[0] + 1


@dataclass
class WarpLayout:
    """Layout of all functions of a group."""

    vector: int
    stages: dict[int, Held]
    sources: dict[tuple[int, object], Held]
    """Inputs, per (node, function as read with its boundaries)."""
    dead_left: int
    """Dead lanes."""
    dead_right: int
    steps: int
    """Steps of the sweep."""

    @property
    def width(self) -> int:
        """Columns of the valid tile."""
        return (LANES - self.dead_left - self.dead_right) * self.vector


def check_warp_group(
    model: PipelineModel, members: Sequence[int], output: int, follow: Mapping[int, tuple[Follow, ...]]
) -> None:
    """Raise NotFusable unless every stage moves with the warp's tile one to one in x and y."""
    for id in members:
        node = model.nodes[id]
        dims = follow[id]
        if node.rank < 2 or dims[0] != Follow(0) or dims[1] != Follow(1):
            raise NotFusable(f"'{node.name}' does not follow x and y one to one, as warp tiles must")
        if any(f.dim is not None for f in dims[2:]):
            raise NotFusable(f"'{node.name}' has a third dimension that is tiled; declare it small with bound")


def warp_layout(
    model: PipelineModel,
    members: Sequence[int],
    output: int,
    follow: Mapping[int, tuple[Follow, ...]],
    region: Mapping[int, Region],
    tile: Sequence[int],
    vector: int,
) -> WarpLayout:
    """The layout for one warp computing `tile` points, given the members' regions for that tile.

    Raises NotFusable where the group cannot be warp-tiled.
    """
    check_warp_group(model, members, output, follow)
    inside = set(members)
    stages: dict[int, Held] = {}
    for id in members:
        (x0, x1), (y0, y1), *rest = region[id].spans
        stages[id] = Held(
            (y0, y1),
            rest=tuple(rest),
            left=max(0, -x0),
            right=max(0, x1 - tile[0] + 1),
            bytes=model.nodes[id].bytes,
        )
    sources: dict[tuple[int, object], Held] = {}
    ahead: dict[int, list[tuple[Held, int]]] = {id: [] for id in members}
    for id in members:
        mine = stages[id]
        for access in model.nodes[id].hull:
            if access.producer in inside:
                x, y = access.indices[0], access.indices[1]
                assert isinstance(x, Index)
                assert isinstance(y, Index)
                theirs = stages[access.producer]
            else:
                if not is_staged(access.indices):
                    continue
                x, y = access.indices[0], access.indices[1]
                assert isinstance(x, Index)
                assert isinstance(y, Index)
                key = (access.producer, access.source)
                deep = tuple(i.span(region[id].spans) for i in access.indices[2:])  # type: ignore[union-attr]
                rows = (mine.rows[0] + y.offset, mine.rows[1] + y.offset)
                theirs = sources.get(key)  # type: ignore[assignment]
                if theirs is None:
                    theirs = sources[key] = Held(rows, rest=deep, bytes=model.nodes[access.producer].element_bytes[0])
                else:
                    theirs.rows = (min(theirs.rows[0], rows[0]), max(theirs.rows[1], rows[1]))
                    theirs.rest = tuple(
                        (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(theirs.rest, deep, strict=True)
                    )
                theirs.left = max(theirs.left, mine.left - x.offset)
                theirs.right = max(theirs.right, mine.right + x.offset)
            theirs.reach = (max(theirs.reach[0], -x.offset), max(theirs.reach[1], x.offset))
            ahead[id].append((theirs, y.offset))
    for id in sorted(members):
        mine = stages[id]
        for theirs, dy in ahead[id]:
            mine.lag = max(mine.lag, theirs.lag + mine.rows[0] + dy - theirs.rows[0])
    everything = [*stages.values(), *sources.values()]
    left = math.ceil(max(h.left for h in everything) / vector)
    right = math.ceil(max(h.right for h in everything) / vector)
    if left + right > LANES // 2:
        raise NotFusable("the halo takes more than half of the lanes of a warp")
    return WarpLayout(vector, stages, sources, left, right, max(h.lag + h.count for h in everything))


def is_staged(indices: Sequence[object]) -> bool:
    """Whether an input read like this is loaded once per tile into registers: x and y one to one."""
    if len(indices) < 2:
        return False
    x, y, *rest = indices
    return (
        isinstance(x, Index)
        and isinstance(y, Index)
        and (x.var, x.num, x.den) == (0, 1, 1)
        and (y.var, y.num, y.den) == (1, 1, 1)
        and all(isinstance(i, Index | BoundedIndex) for i in rest)
    )
