"""Footprints of a warp-tiled group: the points of each function that a warp keeps in registers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tilefuse.analysis.model import Access, Node, PipelineModel
from tilefuse.analysis.regions import Region
from tilefuse.execution.warp_tile.legality import followed_dimensions

WORD_BYTES = 4
"""Smaller elements are loaded as words of this size if rows are not aligned to vectors."""


def is_prefetchable(node: Node) -> bool:
    """Whether cache lines of a function may be prefetched: its rows come from memory."""
    return node.is_input and node.contiguous


@dataclass
class Footprint:
    """The points of one function that a warp keeps in registers: of a stage as computed, of an input as loaded."""

    above: int = 0
    """Rows computed above a warp's own; negative where its first rows are not needed."""
    below: int = 0
    """Rows computed below a warp's own."""
    wide: tuple[int, int] = (0, 0)
    """Rows above and below that a warp keeps, those that come from other warps among them."""
    reach: tuple[int, int] = (0, 0)
    """Columns that consumers read left and right of their own (not negative)."""
    rest: tuple[tuple[int, int], ...] = ()
    """(first, last) of every further dimension: absolute, or relative to the tile's where `along` says so."""
    along: tuple[int | None, ...] = ()
    """For every further dimension, the tile dimension that it follows plane by plane; None if it is not tiled."""
    left: int = 0
    right: int = 0
    """Columns needed outside the tile."""
    bytes: int = 4
    exchanged: bool = False
    paired: bool = False
    """Two points of a row share a register (`pack-subwords`)."""
    shifted: bool = False
    """Whether rows of a stored stage are not aligned, so that they are shifted across lanes."""
    piece: int = 0
    """Columns of the pieces in which an input with unaligned rows may be loaded; else 0."""

    def of_any_vector(self) -> Footprint:
        """Return the key of the layout without the parts that depend on a lane's column count."""
        return Footprint(
            self.above, self.below, self.wide, self.reach, self.rest, self.along, self.left, self.right, self.bytes,
            self.exchanged,
        )  # fmt: skip

    @property
    def in_words(self) -> bool:
        """Whether the pieces of an input are 32-bit words, from which elements are extracted."""
        return self.piece > 0 and self.bytes < WORD_BYTES

    @property
    def deep(self) -> int:
        """Number of points in the further dimensions."""
        return math.prod([last - first + 1 for first, last in self.rest]) if self.rest else 1

    def rows(self, pitch: int) -> int:
        """Return the rows computed or loaded by a warp with `pitch` own rows."""
        return pitch + self.above + self.below

    def exchanged_rows(self) -> int:
        """Return the rows that come from other warps."""
        return self.wide[0] - self.above + self.wide[1] - self.below


@dataclass
class Footprints:
    """Footprints of all functions of a group in warps of any number of columns and rows."""

    stages: dict[int, Footprint]
    sources: dict[tuple[int, object], Footprint]
    top: int
    bottom: int
    rounds: Mapping[int, int]
    passed: int
    """These as in a layout."""


def row_readers(model: PipelineModel, members: Collection[int]) -> list[int]:
    """Return the members of which another reads rows beside its own, so that these can be exchanged."""
    found = set()
    for id in members:
        for access in model.nodes[id].hull:
            if access.producer in members and access.indices[1].offset:  # type: ignore[union-attr]
                found.add(access.producer)
    return sorted(found)


def footprints(
    model: PipelineModel,
    members: Sequence[int],
    region: Mapping[int, Region],
    width: int,
    exchanged: Collection[int] = (),
) -> Footprints:
    """Compute the footprints of a group's functions in a warp, of the members' regions for a tile of any `width`."""
    inside, stored = set(members), model.stored(members)
    stages: dict[int, Footprint] = {}
    sources: dict[tuple[int, object], Footprint] = {}
    for id in sorted(members, reverse=True):
        (x0, x1), _, *rest = region[id].spans
        mine = stages.setdefault(id, Footprint())
        mine.rest, mine.along = tuple(rest), tuple(f.dim for f in region[id].follow[2:])
        mine.left, mine.right = max(0, -x0), max(0, x1 - width + 1)
        mine.bytes = model.nodes[id].bytes
        mine.exchanged = id in exchanged
        # consumers came first and left in `wide` what they need
        if mine.exchanged or id in stored:
            mine.wide = (max(0, mine.wide[0]), max(0, mine.wide[1]))
        if not mine.exchanged:
            mine.above, mine.below = mine.wide
        for access in model.nodes[id].hull:
            if access.producer in inside:
                theirs = stages.get(access.producer)
                if first := theirs is None:
                    theirs = stages[access.producer] = Footprint()
            elif access.is_staged:
                key = (access.producer, access.source)
                theirs = sources.get(key)
                if first := theirs is None:
                    theirs = sources[key] = _source(model, access, region[id])
                _widen_source(theirs, access, region[id], mine)
            else:
                continue
            x, y = access.indices[:2]
            _widen(theirs, first, mine, x.offset, y.offset)  # type: ignore[union-attr]
    for footprint in sources.values():
        footprint.above, footprint.below = footprint.wide
    top, bottom = _invalid(model, stages, stored)
    passed = max((max(h.wide) for h in stages.values() if h.exchanged), default=0)
    return Footprints(stages, sources, top, bottom, _exchange_rounds(model, stages), passed)


def _source(model: PipelineModel, access: Access, region: Region) -> Footprint:
    """Return the footprint of an input before any access widens it."""
    return Footprint(
        rest=tuple([i.span(region.spans) for i in access.indices[2:]]),
        along=followed_dimensions(access.indices, region.follow),
        bytes=model.nodes[access.producer].element_bytes[0],
    )


def _widen_source(theirs: Footprint, access: Access, region: Region, mine: Footprint) -> None:
    """Widen an input by the columns and planes that an access needs."""
    x, _, *deep = access.indices
    theirs.left = max(theirs.left, mine.left - x.offset)  # type: ignore[union-attr]
    theirs.right = max(theirs.right, mine.right + x.offset)  # type: ignore[union-attr]
    if deep:
        spans = [i.span(region.spans) for i in deep]
        theirs.rest = tuple([(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(theirs.rest, spans, strict=True)])


def _widen(theirs: Footprint, first: bool, mine: Footprint, dx: int, dy: int) -> None:
    """Widen by the rows and side columns that `mine` reads; `first`: nothing has been added yet."""
    above, below = mine.above - dy, mine.below + dy
    most_above, most_below = theirs.wide
    if first:
        theirs.wide = (above, below)
    elif above > most_above or below > most_below:
        theirs.wide = (max(most_above, above), max(most_below, below))
    left, right = theirs.reach
    if dx > right or -dx > left:
        theirs.reach = (max(left, -dx), max(right, dx))


def _invalid(model: PipelineModel, stages: Mapping[int, Footprint], stored: Sequence[int]) -> tuple[int, int]:
    """Return the rows at the block's top and bottom where a stored function has undefined values.

    A row that came from outside the block is undefined, and so is what is computed from it.
    """
    # per function: the first valid row, counted from the block's first; and the same from the bottom
    invalid: dict[int, tuple[int, int]] = {}
    for id in sorted(stages):
        mine = stages[id]
        top, bottom = -mine.above, -mine.below
        for access in model.nodes[id].hull:
            if access.producer not in invalid:
                continue
            dy = access.indices[1].offset  # type: ignore[union-attr]
            theirs = invalid[access.producer]
            top, bottom = max(top, theirs[0] - dy), max(bottom, theirs[1] + dy)
        invalid[id] = (top, bottom)
    tops, bottoms = zip(*(invalid[id] for id in stored), strict=True)
    return max(tops), max(bottoms)


def _exchange_rounds(model: PipelineModel, stages: Mapping[int, Footprint]) -> dict[int, int]:
    rounds: dict[int, int] = {}
    for id in sorted(stages):
        rounds[id] = max(
            (rounds[p] + (stages[p].exchanged_rows() > 0) for p in model.producers(id) if p in stages), default=0
        )
    return rounds
