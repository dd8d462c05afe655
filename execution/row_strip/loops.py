"""Fusion of column loops: independent stages that share loads are computed in one loop.

So the two gradients of a picture are computed of the same values around a point, each of which is loaded once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tilefuse.analysis.index import Index
from tilefuse.analysis.model import Node, PipelineModel
from tilefuse.execution.row_strip.planes import planes_at_once
from tilefuse.execution.row_strip.rows import StageRows

LOADS_LEFT = 0.75
"""Share of the loads of rows or stages that those in one loop must be left, at most, for the loop to be worth it."""


def loops(model: PipelineModel, rows: Mapping[int, StageRows], output: int) -> list[tuple[int, ...]]:
    """List the loops in which the members are computed, in order; `output`'s is its own."""
    found: list[tuple[int, ...]] = []
    for id, r in rows.items():
        at = _beside(model, rows, found, id) if id != output else None
        if at is None:
            found.append((id,))
        else:
            found[at] = (*found[at], id)
    return found


def _beside(
    model: PipelineModel, rows: Mapping[int, StageRows], found: Sequence[tuple[int, ...]], id: int
) -> int | None:
    """Return the loop that a stage may join; None if it needs its own."""
    nodes, producers = model.nodes, set(model.producers(id))
    for at in reversed(range(len(found))):
        if producers.intersection(found[at]):
            return None
        first, rows_per_loop = found[at][0], rows[id].rows_per_loop
        if not all(_side_by_side(nodes[other]) for other in (first, id)) or not _alike(nodes, rows, first, id):
            continue
        separate = loads(nodes, found[at], rows_per_loop) + loads(nodes, [id], rows_per_loop)
        if loads(nodes, [*found[at], id], rows_per_loop) <= LOADS_LEFT * separate:
            return at
    return None


def _side_by_side(node: Node) -> bool:
    """Whether neighbours along x read neighbours."""
    xs = [a.indices[0] for a in node.hull if a.indices]
    return all(isinstance(i, Index) and (i.var, i.num, i.den) == (0, 1, 1) for i in xs)


def _alike(nodes: Sequence[Node], rows: Mapping[int, StageRows], a: int, b: int) -> bool:
    """Whether two stages have equal rows, columns and planes, and numbers of one width."""
    facts = [(r.follow, r.columns, r.first, r.last, r.deep) for r in (rows[a], rows[b])]
    of_planes = [(set(nodes[id].element_bytes), planes_at_once(nodes[id], rows[id])) for id in (a, b)]
    return facts[0] == facts[1] and of_planes[0] == of_planes[1]


def loads(nodes: Sequence[Node], ids: Collection[int], rows_per_loop: int) -> float:
    """Count the loads per point of stages in one loop over several rows."""
    found = set()
    for id in ids:
        for producer, offsets in nodes[id].offsets.items():
            found |= {
                (producer, *o[:1], *(n + row for n in o[1:2]), *o[2:]) for o in offsets for row in range(rows_per_loop)
            }
    return len(found) / rows_per_loop
