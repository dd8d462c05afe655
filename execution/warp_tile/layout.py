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

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import NotFusable, Region, fixed_span, follow_chain, regions
from tilefuse.dialects.img.attrs import Level
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp.memory import can_load_pieces
from tilefuse.execution.warp_tile.attribute import WarpSchedule
from tilefuse.execution.warp_tile.footprints import WORD_BYTES, Footprint, Footprints, footprints
from tilefuse.execution.warp_tile.legality import check_warp_group
from tilefuse.execution.warp_tile.pair_costs import pair_instructions
from tilefuse.lowering.emit import Emitter, Num

LANES = 32


def stored_at_once(element_bytes: int, vector: int) -> int:
    """Return the columns per access when a lane's row is stored shifted across lanes to aligned addresses.

    Small elements are stored in words, as moving them takes instructions; rows of 16 bytes at once, as memory prefers.
    """
    in_words = element_bytes < WORD_BYTES and element_bytes * vector in (4, 8)
    return WORD_BYTES // element_bytes if in_words else vector


def words_at_once(row_bytes: int) -> int:
    """Return the words per access for a lane's row that is not aligned.

    Rows of 16 bytes are loaded two at a time: the fewer accesses, the fewer lines of the first-level cache.
    """
    return 1 if row_bytes <= 2 * WORD_BYTES else 2


def in_grid(deep: Sequence[Num], along: Sequence[int | None], origin: Sequence[Num], e: Emitter) -> list[Num]:
    """Convert coordinates in the further dimensions from the tile at `origin` to absolute ones (`Footprint.along`)."""
    return [c if d is None else e.add(origin[d], c) for c, d in zip(deep, along, strict=True)]


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
    """Number of barriers before each stage: stages that become ready together share a barrier."""
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
        """Return the layout without shifted stores: only as many dead lanes as the halo needs."""
        everything = (*self.stages.values(), *self.sources.values())
        left, right = max(h.left for h in everything), max(h.right for h in everything)
        return replace(
            self, left_spill=0, dead_left=math.ceil(left / self.vector), dead_right=math.ceil(right / self.vector)
        )

    def partial(self, footprint: Footprint) -> Literal["left", "right"] | None:
        """Return the side on which an input loaded in pieces lacks columns that are not needed.

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
        """Whether an input is loaded in pieces: always in words, in pairs where they take fewer accesses."""
        return footprint.in_words or self.partial(footprint) is not None

    def of_size(self, warps: int, pitch: int) -> WarpLayout:
        """Return the layout with other warps, and rows per warp; raises NotFusable if these are too few."""
        if self.passed > pitch or 2 * (self.top + self.bottom) > warps * pitch:
            raise NotFusable(f"{warps} warps of {pitch} rows are too small for this halo")
        return WarpLayout(  # `replace` takes twice as long, and the search asks for many
            self.vector, warps, pitch, self.stages, self.sources, self.dead_left, self.dead_right, self.left_spill,
            self.top, self.bottom, self.rounds, self.passed,
        )  # fmt: skip


def planes(model: PipelineModel, output: int, box: Sequence[int]) -> list[int]:
    """Return the points of a tile beyond x and y: all points of declared small dimensions, else one."""
    return [1 if fixed_span(model, output, d) is None else n for d, n in enumerate(box[2:], 2)]


class TilePartition(NamedTuple):
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
    partition: TilePartition,
    exchanged: Collection[int] = (),
) -> WarpLayout:
    """Compute the layout of a group, given the members' regions for a tile of `width` columns.

    The group must be one that `check_warp_group` lets pass. Raises NotFusable where it cannot be warp-tiled so.
    """
    return lane_layout(model, members, footprints(model, members, region, width, exchanged), partition)


def lane_layout(
    model: PipelineModel, members: Sequence[int], found: Footprints, partition: TilePartition
) -> WarpLayout:
    """Compute the layout of a group with known footprints. Raises NotFusable as `warp_layout` does."""
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
    """Return the columns per piece of an unaligned row; 0 if it is loaded by single elements.

    Of elements smaller than a word pieces are words. Else they are pairs: out of longer ones a lane's columns are not
    taken in so few instructions that it is worth the accesses saved.
    """
    if not can_load_pieces(element, vector):
        return 0
    size = element_bytes(element)
    return 2 if size >= WORD_BYTES else words_at_once(size * vector) * WORD_BYTES // size


def group_layout(group: GroupOp, model: PipelineModel) -> WarpLayout:
    """Return the layout that a group's schedule and places describe. Raises NotFusable if they are inconsistent."""
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
    layout = warp_layout(model, members, region, tile[0], TilePartition(vector, threads[1], height=tile[1]), exchanged)
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
    """Pair the points that `pack-subwords` will compute together: see there."""
    in_pairs = pair_instructions(model)
    if in_pairs.keys().isdisjoint(members):
        return
    # the hull has every function that is read, as it is read, in fewer accesses
    accesses = {id: model.nodes[id].hull for id in members}
    masked = {a.producer for id in members for a in accesses[id] if a.boundary and a.producer in stages}
    for id in members:
        node = model.nodes[id]
        if id not in in_pairs or id in masked:
            continue
        near = [stages.get(a.producer) or sources.get((a.producer, a.source)) for a in accesses[id]]
        smallest = min(node.element_bytes + tuple(model.nodes[a.producer].element_bytes[0] for a in accesses[id]))
        if vector % (4 // smallest) or any(h is None or 2 * max(h.reach) > vector for h in (*near, stages[id])):
            continue
        stages[id].paired = True
        for a in accesses[id]:
            if (footprint := sources.get((a.producer, a.source))) is not None:
                footprint.paired = True


def exchange_bytes(model: PipelineModel, layout: WarpLayout) -> int:
    """Return the shared memory per block, in bytes, through which warps exchange rows.

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
