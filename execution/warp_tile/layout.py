"""The layout of a warp-tiled group: values in registers over lanes (x), rows (y) and warps.

Lane l of a warp holds `vector` consecutive x-points of every stage, at the same columns for all stages, and
`pitch` rows of its own. The x halo is whole dead lanes at each side, so loads and stores stay aligned
(Jangda 2020, an overlapped tile per warp). Neighbours in x come by shuffles. Of the rows beside its own, a warp
either computes (or loads) again what it needs, or takes them from the neighbouring warps: the latter for the
*exchanged* stages, whose outer rows in the block are then no longer valid, so that the tile is less high.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from xdsl.ir import Attribute

from tilefuse.analysis.model import Access, PipelineModel
from tilefuse.analysis.regions import NotFusable, Region, fixed_span, follow_chain, regions
from tilefuse.dialects.img.attrs import Level
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp.memory import can_load_pieces
from tilefuse.execution.warp_tile.attribute import WarpSchedule
from tilefuse.execution.warp_tile.legality import check_warp_group, followed_dimensions
from tilefuse.lowering.emit import Emitter, Num

LANES = 32
WORD_BYTES = 4
"""Smaller elements are loaded as words of so many bytes where rows do not lie where vectors do."""


def stored_at_once(element_bytes: int, vector: int) -> int:
    """Columns that one access stores of a lane's row that is moved over the lanes to where such accesses may lie.

    Small elements are stored in words, as moving them takes instructions; rows of 16 bytes at once, as memory prefers.
    """
    in_words = element_bytes < WORD_BYTES and element_bytes * vector in (4, 8)
    return WORD_BYTES // element_bytes if in_words else vector


def words_at_once(row_bytes: int) -> int:
    """The number of words that one access takes of a lane's row that is not aligned.

    Rows of 16 bytes are loaded two at a time: the fewer accesses, the fewer lines of the first-level cache.
    """
    return 1 if row_bytes <= 2 * WORD_BYTES else 2


@dataclass
class Footprint:
    """The part of one function that a warp keeps in registers: of a stage, or of an input as it is loaded."""

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
    """For every further dimension, that of the tile which it follows plane by plane; None where it is not tiled."""
    left: int = 0
    right: int = 0
    """Columns needed outside the tile."""
    bytes: int = 4
    exchanged: bool = False
    paired: bool = False
    """Two points of a row share a register (`pack-subwords`)."""
    shifted: bool = False
    """Of a stage that is stored: whether its rows do not lie where vectors do, so that they move over the lanes."""
    piece: int = 0
    """Of an input whose rows do not lie where vectors do: columns of the pieces in which it may be loaded; else 0."""

    def of_any_vector(self) -> Footprint:
        """Layout without the parts that depend on the columns of a lane."""
        return Footprint(
            self.above, self.below, self.wide, self.reach, self.rest, self.along, self.left, self.right, self.bytes,
            self.exchanged,
        )  # fmt: skip

    @property
    def in_words(self) -> bool:
        """Whether the pieces of an input are words, out of which elements are cut."""
        return self.piece > 0 and self.bytes < WORD_BYTES

    @property
    def deep(self) -> int:
        """Points of the further dimensions."""
        return math.prod([last - first + 1 for first, last in self.rest]) if self.rest else 1

    def rows(self, pitch: int) -> int:
        """Rows computed or loaded by a warp with `pitch` of its own."""
        return pitch + self.above + self.below

    def exchanged_rows(self) -> int:
        """Rows that come from other warps."""
        return self.wide[0] - self.above + self.wide[1] - self.below


def in_grid(deep: Sequence[Num], along: Sequence[int | None], origin: Sequence[Num], e: Emitter) -> list[Num]:
    """Coordinates in the further dimensions on the grid, for some in the tile at `origin` (`Footprint.along`)."""
    return [c if d is None else e.add(origin[d], c) for c, d in zip(deep, along, strict=True)]


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


@dataclass
class WarpLayout:
    """Layout of all functions of a group."""

    vector: int
    warps: int
    pitch: int
    """Rows of a warp."""
    stages: dict[int, Footprint]
    sources: dict[tuple[int, object], Footprint]
    """Inputs, per (node, function as read with its boundaries)."""
    dead_left: int
    """Dead lanes."""
    dead_right: int
    left_spill: int
    """Columns left of the tile that are valid too: so that stores may be shifted to aligned columns."""
    top: int
    """Rows of the block of which something that is stored is not valid, at the top."""
    bottom: int
    rounds: Mapping[int, int]
    """For each stage, how many barriers stand before it: stages that become ready together share one."""
    passed: int
    """Rows that a warp takes from the next one, at most: as many as one must have."""

    @property
    def width(self) -> int:
        """Columns of the block's tile."""
        return (LANES - self.dead_left - self.dead_right) * self.vector

    @property
    def height(self) -> int:
        """Rows of the block's tile."""
        return self.warps * self.pitch - self.top - self.bottom

    def without_left_spill(self) -> WarpLayout:
        """Layout with stores that are not shifted: as few dead lanes as the halo needs."""
        everything = (*self.stages.values(), *self.sources.values())
        left, right = max(h.left for h in everything), max(h.right for h in everything)
        return replace(
            self, left_spill=0, dead_left=math.ceil(left / self.vector), dead_right=math.ceil(right / self.vector)
        )

    def partial(self, footprint: Footprint) -> Literal["left", "right"] | None:
        """The side at which the columns are not needed that an input loaded in pieces lacks there.

        What ends beside a lane's columns another lane has loaded, so the last, or first, lacks all but one column of a
        piece. Of words it is the last. None if there is no such side.
        """
        if not footprint.piece:
            return None
        if self.dead_right * self.vector - footprint.right >= footprint.piece - 1:
            return "right"
        left = self.dead_left * self.vector - footprint.left - self.left_spill
        return "left" if not footprint.in_words and left >= footprint.piece - 1 else None

    def in_pieces(self, footprint: Footprint) -> bool:
        """Whether an input is loaded in pieces: words always are, pairs where they take fewer accesses."""
        return footprint.in_words or self.partial(footprint) is not None

    def of_size(self, warps: int, pitch: int) -> WarpLayout:
        """Layout with other warps, and rows per warp; raises NotFusable if these are too few."""
        if self.passed > pitch or 2 * (self.top + self.bottom) > warps * pitch:
            raise NotFusable(f"{warps} warps of {pitch} rows are too small for this halo")
        return WarpLayout(  # `replace` takes twice as long, and the search asks for many
            self.vector, warps, pitch, self.stages, self.sources, self.dead_left, self.dead_right, self.left_spill,
            self.top, self.bottom, self.rounds, self.passed,
        )  # fmt: skip


def planes(model: PipelineModel, output: int, box: Sequence[int]) -> list[int]:
    """The points of a tile in the dimensions after x and y: all of declared small dimensions, else one."""
    return [1 if fixed_span(model, output, d) is None else n for d, n in enumerate(box[2:], 2)]


def row_readers(model: PipelineModel, members: Collection[int]) -> list[int]:
    """The members that another one reads in rows beside its own, which can be exchanged."""
    found = set()
    for id in members:
        for access in model.nodes[id].hull:
            if access.producer in members and access.indices[1].offset:  # type: ignore[union-attr]
                found.add(access.producer)
    return sorted(found)


class Partition(NamedTuple):
    """Partition of a block's tile over its lanes and warps."""

    vector: int
    """Columns of a lane."""
    warps: int
    pitch: int = 1
    """Rows of a warp, if they do not follow from `height`."""
    height: int | None = None
    """Rows of the block's tile."""


def warp_layout(
    model: PipelineModel,
    members: Sequence[int],
    region: Mapping[int, Region],
    width: int,
    partition: Partition,
    exchanged: Collection[int] = (),
) -> WarpLayout:
    """Compute the layout of a group, given the members' regions for a tile of `width` columns.

    The group must be one that `check_warp_group` lets pass. Raises NotFusable where it cannot be warp-tiled so.
    """
    return lane_layout(model, members, footprints(model, members, region, width, exchanged), partition)


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
    """The footprint of an input, before any access widens it."""
    return Footprint(
        rest=tuple([i.span(region.spans) for i in access.indices[2:]]),
        along=followed_dimensions(access.indices, region.follow),
        bytes=model.nodes[access.producer].element_bytes[0],
    )


def _widen_source(theirs: Footprint, access: Access, region: Region, mine: Footprint) -> None:
    """Add the columns and planes of an input that an access needs."""
    x, _, *deep = access.indices
    theirs.left = max(theirs.left, mine.left - x.offset)  # type: ignore[union-attr]
    theirs.right = max(theirs.right, mine.right + x.offset)  # type: ignore[union-attr]
    if deep:
        spans = [i.span(region.spans) for i in deep]
        theirs.rest = tuple([(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(theirs.rest, spans, strict=True)])


def _widen(theirs: Footprint, first: bool, mine: Footprint, dx: int, dy: int) -> None:
    """Add the rows, and columns beside their own, that `mine` reads; `first`: none have been added yet."""
    above, below = mine.above - dy, mine.below + dy
    most_above, most_below = theirs.wide
    if first:
        theirs.wide = (above, below)
    elif above > most_above or below > most_below:
        theirs.wide = (max(most_above, above), max(most_below, below))
    left, right = theirs.reach
    if dx > right or -dx > left:
        theirs.reach = (max(left, -dx), max(right, dx))


def lane_layout(model: PipelineModel, members: Sequence[int], found: Footprints, partition: Partition) -> WarpLayout:
    """Compute the layout of a group of which footprints are known. Raises NotFusable as `warp_layout`."""
    vector, warps, pitch, height = partition
    stages = {id: h.of_any_vector() for id, h in found.stages.items()}
    sources = {key: h.of_any_vector() for key, h in found.sources.items()}
    _pair(model, members, stages, sources, vector)
    top, bottom = found.top, found.bottom
    if height is not None:
        pitch, left_over = divmod(height + top + bottom, warps)
        if left_over:
            raise NotFusable(
                f"a tile of {height} rows, with {top} and {bottom} more that the halo makes invalid, does not lie "
                f"evenly on {warps} warps; the next larger tile has {height + warps - left_over} rows"
            )
    for (id, _), source in sources.items():
        node = model.nodes[id]
        if node.contiguous and not node.aligned:
            source.piece = columns_at_once(node.storage[0], vector)
    left_spill = 0
    for id in model.stored(members):
        node = model.nodes[id]
        if not node.aligned and node.contiguous:
            stages[id].shifted = True
            left_spill = max(left_spill, *(stored_at_once(size, vector) - 1 for size in node.element_bytes))
    everything = [*stages.values(), *sources.values()]
    left = math.ceil((max(h.left for h in everything) + left_spill) / vector)
    right = math.ceil(max(h.right for h in everything) / vector)
    if left_spill:
        right = max(right, 1)  # the last columns of a picture's row move into the lane behind
    if left + right > LANES // 2:
        raise NotFusable("the halo takes more than half of the lanes of a warp")
    layout = WarpLayout(
        vector, warps, pitch, stages, sources, left, right, left_spill, top, bottom, found.rounds, found.passed
    )
    return layout.of_size(warps, pitch)


def columns_at_once(element: Attribute, vector: int) -> int:
    """Columns of the pieces in which a row is loaded that does not lie where vectors do; 0 if it is loaded one by one.

    Of elements smaller than a word pieces are words. Else they are pairs: out of longer ones a lane's columns are not
    taken in so few instructions that it is worth the accesses saved.
    """
    if not can_load_pieces(element, vector):
        return 0
    size = element_bytes(element)
    return 2 if size >= WORD_BYTES else words_at_once(size * vector) * WORD_BYTES // size


def _invalid(model: PipelineModel, stages: Mapping[int, Footprint], stored: Sequence[int]) -> tuple[int, int]:
    """Rows of the block, at its top and bottom, where a stored function has undefined values.

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


def group_layout(group: GroupOp, model: PipelineModel) -> WarpLayout:
    """The layout that a group's schedule and places describe. Raises NotFusable if they describe none."""
    schedule = WarpSchedule.expect(group.schedule)
    ids = {model.node_of[s.funcs[0]]: s for s in group.stages}
    members, output = list(ids), model.node_of[group.anchor.funcs[0]]
    tile, threads, vector = schedule.tile_sizes, schedule.thread_counts, schedule.vector_width
    follow = follow_chain(model, members, output)
    check_warp_group(model, members, follow)
    for d, points in enumerate(tile[2:], 2):
        fixed = fixed_span(model, output, d)
        if fixed is not None and points != (extent := fixed[1] - fixed[0] + 1):
            raise NotFusable(
                f"a warp tile computes all {extent} points of dimension {d}, so its size there is {extent}, "
                f"not {points}"
            )
        if fixed is None and points != 1:
            raise NotFusable(f"a warp tile has one plane of dimension {d}, which is not small, not {points}")
    exchanged = [id for id, s in ids.items() if s.place is not None and s.place.where[0] is Level.Block]
    region = regions(model, members, output, tile, follow)
    layout = warp_layout(model, members, region, tile[0], Partition(vector, threads[1], height=tile[1]), exchanged)
    if tile[0] != layout.width:
        # a tile may leave no columns to shift by
        unshifted = layout.without_left_spill()
        layout = unshifted if tile[0] == unshifted.width else layout
    if threads[0] != LANES:
        raise NotFusable(f"threads of a warp tile start with the {LANES} lanes of a warp, not with {threads[0]}")
    if tile[0] != layout.width:
        raise NotFusable(
            f"a warp tile of {LANES} lanes x {vector} points with this halo is {layout.width} wide, not {tile[0]}"
        )
    if math.prod(threads[2:]) != 1:
        raise NotFusable(f"threads of a warp tile are lanes and warps, not {list(threads)}")
    return layout


def _pair(
    model: PipelineModel,
    members: Sequence[int],
    stages: Mapping[int, Footprint],
    sources: Mapping[tuple[int, object], Footprint],
    vector: int,
) -> None:
    """Pairs of points that `pack-subwords` will compute together: see there."""
    if all(model.nodes[id].pair_instructions is None for id in members):
        return
    # the hull has every function that is read, as it is read, in fewer accesses
    accesses = {id: model.nodes[id].hull for id in members}
    masked = {a.producer for id in members for a in accesses[id] if a.boundary and a.producer in stages}
    for id in members:
        node = model.nodes[id]
        if node.pair_instructions is None or id in masked:
            continue
        near = [stages.get(a.producer) or sources.get((a.producer, a.source)) for a in accesses[id]]
        smallest = min(node.element_bytes + tuple(model.nodes[a.producer].element_bytes[0] for a in accesses[id]))
        if vector % (4 // smallest) or any(h is None or 2 * max(h.reach) > vector for h in (*near, stages[id])):
            continue
        stages[id].paired = True
        for a in accesses[id]:
            if (footprint := sources.get((a.producer, a.source))) is not None:
                footprint.paired = True


def _exchange_rounds(model: PipelineModel, stages: Mapping[int, Footprint]) -> dict[int, int]:
    rounds: dict[int, int] = {}
    for id in sorted(stages):
        rounds[id] = max(
            (rounds[p] + (stages[p].exchanged_rows() > 0) for p in model.producers(id) if p in stages), default=0
        )
    return rounds


def exchange_bytes(model: PipelineModel, layout: WarpLayout) -> int:
    """Shared memory, in bytes per block, through which rows go from warp to warp.

    Stages that become ready together are exchanged in one round; two buffers take turns, so that one barrier per
    round is enough.
    """
    rounds = layout.rounds
    need: dict[int, int] = {}
    for id, footprint in layout.stages.items():
        if rows := footprint.exchanged_rows():
            row = LANES * layout.vector * (2 if footprint.paired else footprint.bytes)
            need[rounds[id]] = need.get(rounds[id], 0) + layout.warps * rows * footprint.deep * row
    return sum(max((n for r, n in need.items() if r % 2 == parity), default=0) for parity in (0, 1))
