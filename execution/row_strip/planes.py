"""Planes of a strip: computed together in a loop over columns, or by a loop outside of the loop over rows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from tilefuse.analysis.index import AnyIndex, GeneralIndex, Index
from tilefuse.analysis.model import Node
from tilefuse.analysis.regions import PLANES_AT_ONCE, fixed_span
from tilefuse.execution.across import reads_across
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.row_strip.rows import StageRows

IN_COMMON = 0.25
"""Share of a stage's instructions along a row that depends on no plane, from which on all planes are in one loop: with
a smaller share loops over planes are as fast, and need fewer registers."""


GATHERED_AT_ONCE = 16
"""Planes in one loop at most, if they are read at places that data decide, which all have in common."""


def planes_at_once(node: Node, rows: StageRows) -> list[tuple[int, ...]]:
    """Return the planes of a stage if they are few and share most of their work; else none.

    Reads across rows leave no room in the first cache for lines of other planes.
    """
    most = GATHERED_AT_ONCE if _gathers(node) else PLANES_AT_ONCE
    if not 1 < rows.planes <= most or any(f.dim is not None for f in rows.follow[2:]):
        return []
    if node.shared_row_instructions < IN_COMMON * node.row_instructions or reads_across(node, ()):
        return []
    return list(itertools.product(*(range(low, high + 1) for low, high in rows.deep)))


def _gathers(node: Node) -> bool:
    """Whether a stage reads a function at data-dependent places."""
    return any(isinstance(i, GeneralIndex) and i.data_dependent for access in node.hull for i in access.indices)


def instructions_of_plane(node: Node, rows: StageRows) -> float:
    """Return the instructions per point of one plane; instructions common to all planes of a loop count once."""
    count = len(planes_at_once(node, rows)) or 1
    return node.instructions - node.shared_instructions * (count - 1) / count


PlaneMap = tuple[int | None, ...]
"""Of each dimension of a stage: the dimension of the output whose coordinate it has, None where it has all points."""


def outer_planes(facts: GroupFacts) -> Mapping[int, PlaneMap] | str:
    """Relate the planes of every member to the output's, each of which needs a single plane of each stage.

    Returns one sentence that says why not, if planes share points of a stage, or of a function in memory.
    """
    model, output, rank = facts.model, facts.output, facts.rank
    tiled = [d for d in range(2, rank) if fixed_span(model, output, d) is not None]
    if not tiled or facts.domain:
        return "a strip has one plane of it"
    if len(facts.stored) > 1:
        return "it stores several functions"
    found: dict[int, PlaneMap] = {output: tuple(d if d in tiled else None for d in range(rank))}
    for reader in sorted(facts.members, reverse=True):
        for access in model.nodes[reader].hull:
            planes = tuple(_plane(index, found[reader]) for index in access.indices)
            if not set(tiled).issubset(planes) and (access.producer in facts.members or _has_rows(access.indices)):
                return f"several planes of it need the same points of '{model.nodes[access.producer].name}'"
            if access.producer in facts.members and found.setdefault(access.producer, planes) != planes:
                return f"a plane of it needs several planes of '{model.nodes[access.producer].name}'"
    return found


def _plane(index: AnyIndex, of_reader: PlaneMap) -> int | None:
    """Return the output's dimension whose coordinate an index is."""
    is_plain = isinstance(index, Index) and index.var is not None and (index.num, index.offset, index.den) == (1, 0, 1)
    return of_reader[index.var] if is_plain else None  # type: ignore[union-attr,index]


def _has_rows(indices: Sequence[AnyIndex]) -> bool:
    """Whether a read goes along the rows of the strip."""
    return any(isinstance(i, Index) and i.var == 0 for i in indices)
