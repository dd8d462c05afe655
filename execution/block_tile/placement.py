"""Placement of the stages of a block-tiled group: nested fusion with lifetimes (Sioutas 2020, Listing 2).

A stage that every thread can compute for its own points alone lives in registers, at multiples of their coordinates,
too; the others are computed once per block into shared memory. Stages whose lifetimes do not overlap share a slot.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from xdsl.ir import Attribute

from tilefuse.analysis.index import Index
from tilefuse.analysis.model import Node, PipelineModel
from tilefuse.analysis.regions import SMALL_DIMENSION, Follow, Region, follow_chain, regions
from tilefuse.analysis.tables import looked_up
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level, Memory, PlaceAttr
from tilefuse.dialects.img.copies import copied_read
from tilefuse.dialects.img.ops import GroupOp, ReadOp, StageOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.execution.base import Needs
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.execution.candidate import Placement
from tilefuse.lowering.stored import follow_of, stored_stages

CHEAP_RECOMPUTE = 1.3
"""A stage stays in registers if its threads then compute at most this many times the points they need."""


def place_stages(
    model: PipelineModel,
    members: Sequence[int],
    output: int,
    follow: Mapping[int, tuple[Follow, ...]],
    micro: Mapping[int, Region],
) -> dict[int, Placement]:
    """Return the place of every member except the anchor `output`; `micro`: each member's region per thread."""
    inside, tables, stored = set(members), looked_up(model, members), set(model.stored(members))
    in_thread = {output}
    for id in sorted(inside - {output}, reverse=True):
        consumers = [c for c in model.consumers(id) if c in inside]
        # what nobody in the group reads is stored: a thread's points of the anchor, then
        needed = min((micro[c].points * _ratio(follow[id], follow[c]) for c in consumers), default=micro[id].points)
        stays = all(c in in_thread for c in consumers) and id not in tables
        if not follows_one_to_one(follow[id]):
            stays = stays and id not in stored and _begins_with_threads(follow[id])
            stays = stays and _reads_memory_at_own_points(model.nodes[id], inside)
        if stays and micro[id].points <= CHEAP_RECOMPUTE * needed:
            in_thread.add(id)
    places: dict[int, Placement] = {}
    last_use: dict[int, int] = {}
    for id in inside - in_thread:
        # A register stage reads its producers when the anchor is computed, not before.
        consumers = [c for c in model.consumers(id) if c in inside]
        last_use[id] = max((output if c in in_thread else c for c in consumers), default=id)
    free_at: list[tuple[int, tuple[Attribute, ...]]] = []
    for id in sorted(inside - {output}):
        if id in in_thread:
            places[id] = Placement(Level.Thread, Memory.Register)
            continue
        storage = model.nodes[id].storage
        for slot, (until, kind) in enumerate(free_at):
            if until < id and kind == storage:
                break
        else:
            slot = len(free_at)
            free_at.append((0, storage))
        free_at[slot] = (last_use[id], storage)
        places[id] = Placement(Level.Block, Memory.Shared, slot)
    return places


def follows_one_to_one(follow: Sequence[Follow]) -> bool:
    """Whether each thread has as many points of a stage as of the anchor, so that registers can hold them."""
    return all(f.dim is None or f.ratio == 1 for f in follow)


def _begins_with_threads(follow: Sequence[Follow]) -> bool:
    """Whether each thread's region of a stage begins at an integer multiple of its first own point."""
    return all(f.dim is None or f.ratio.denominator == 1 for f in follow)


def _reads_memory_at_own_points(node: Node, inside: Collection[int]) -> bool:
    """Whether a stage reads memory only at its own point: points read by several threads are better loaded once."""
    return all(
        isinstance(index, Index) and (index.var is None or index == Index(d, 1))
        for access in node.accesses
        if access.producer not in inside
        for d, index in enumerate(access.indices)
    )


def _ratio(stage: Sequence[Follow], consumer: Sequence[Follow]) -> float:
    """Return the points of a stage per point of its consumer, from how both follow the tile."""
    ratios = {f.dim: f.ratio for f in consumer if f.dim is not None}
    return float(math.prod(f.ratio / ratios.get(f.dim, 1) for f in stage if f.dim is not None))


def check_stored(group: GroupOp, model: PipelineModel) -> None:
    """Raise PipelineError for a stored register stage whose points are not each owned by one thread.

    Raises NotFusable for an illegal group.
    """
    for stored in stored_stages(group, model, follow_of(group, model))[1:]:
        place = stored.stage.place
        if place is not None and place.where[1] is Memory.Register and not follows_one_to_one(stored.follow):
            raise PipelineError(
                f"stage '{stored.stage.sym_name.data}' is stored, and has a different number of points than "
                f"'{group.anchor.sym_name.data}', so it cannot be in registers; write #img.place<block, shared>",
                stored.stage,
            )


def staged_read(stage: StageOp) -> ReadOp | None:
    """Return the read of a stage that copies a function asynchronously to shared memory; None for other stages.

    None, too, for a copy that is stored: its values pass through registers.
    """
    if not stage.rank or (isinstance(group := stage.parent_op(), GroupOp) and stage in group.stored):
        return None
    return copied_read(stage)


def row_step(stage: StageOp, schedule: BlockSchedule) -> int:
    """Return the alignment of a stage's shared rows, in elements.

    Threads move pieces of the schedule's vector width; copies are moved by 16 bytes.
    """
    if schedule.one_thread:
        return 1
    if staged_read(stage) is None:
        return schedule.piece
    return math.lcm(schedule.piece, max(1, 16 // element_bytes(stage.funcs[0].type.element)))


PLANES = 0.4
"""Share of a stage's instructions that its planes must have in common for a thread to compute all of them together."""


def holds_planes(node: Node, region: Region) -> bool:
    """Whether a thread computes all planes of a shared stage at once: they are few and share much."""
    count = math.prod(region.extents[2:])
    return (
        1 < count <= SMALL_DIMENSION
        and all(f.dim is None for f in region.follow[2:])
        and node.shared_instructions >= PLANES * node.instructions
    )


def shared_row(region: Region, pad: int, step: int) -> tuple[int, int]:
    """Return (first column, elements) of a row in shared memory.

    Rows begin and end at multiples of `step` from the tile's origin, so that pieces lie where vectors may. A number,
    which has no dimensions, is an element by itself.
    """
    if not region.spans:
        return 0, 1
    low, high = region.spans[0]
    first = low // step * step
    return first, -(-(high + 1 - first) // step) * step + pad


def shared_elements(region: Region, pad: int, step: int) -> int:
    """Return the shared-memory elements of a region."""
    return shared_row(region, pad, step)[1] * math.prod(region.extents[1:]) if region.spans else 1


def shared_bytes(
    model: PipelineModel,
    places: Mapping[int, Placement],
    region: Mapping[int, Region],
    steps: Mapping[int, int],
) -> int:
    """Return the shared memory of a block: the largest stage of each slot. `steps`: see `row_step`."""
    slots: dict[int, int] = {}
    for id, place in places.items():
        if place.memory is not Memory.Shared:
            continue
        size = shared_elements(region[id], place.pad, steps[id]) * model.nodes[id].bytes
        slots[place.slot] = max(slots.get(place.slot, 0), size)
    return sum(-(-size // 16) * 16 for size in slots.values())


def bank_padding(row: int, bytes: int, threads_x: int, rows_per_thread: int, piece: int, step: int) -> int:
    """Return the padding of shared rows of `row` elements that avoids bank conflicts of a warp's reads.

    A warp reads `threads_x` neighbouring pieces in each of several rows, `rows_per_thread` apart; shared memory has
    32 banks of 4 bytes and serves 128 bytes at a time. The smallest multiple of `step` (under a bank row) with the
    fewest lanes per bank.
    """
    if threads_x >= 32 or 32 % threads_x:
        return 0
    lanes = max(1, min(32, 128 // (piece * bytes)))

    def conflicts(pad: int) -> int:
        words: dict[int, set[int]] = {}
        for lane in range(lanes):
            x, y = lane % threads_x, lane // threads_x
            start = (y * rows_per_thread * (row + pad) + x * piece) * bytes // 4
            for word in range(start, start + max(1, piece * bytes // 4)):
                words.setdefault(word % 32, set()).add(word)
        return max(len(w) for w in words.values())

    return min(range(0, 32, step), key=lambda pad: (conflicts(pad), pad))


def group_places(group: GroupOp, model: PipelineModel) -> dict[StageOp, PlaceAttr]:
    """Return the places of a scheduled group's stages except the output, with rows padded against bank conflicts.

    Raises NotFusable for an illegal group.
    """
    schedule = BlockSchedule.expect(group.schedule)
    ids = {model.node_of[s.funcs[0]]: s for s in group.tiled}
    output = model.node_of[group.anchor.funcs[0]]
    follow = follow_chain(model, ids, output)
    of_thread = regions(model, list(ids), output, schedule.micro_tile, follow)
    places = place_stages(model, list(ids), output, follow, of_thread)
    region = regions(model, list(ids), output, schedule.tile_sizes, follow)
    threads_x = schedule.thread_counts[0] if schedule.thread_counts else 1
    micro = schedule.micro_tile
    found = {}
    for id, place in places.items():
        pad = 0
        if place.memory is Memory.Shared and not schedule.one_thread:
            # a stage may have more dimensions than the output
            rows = micro[1] if min(len(micro), len(region[id].extents)) > 1 else 1
            step = row_step(ids[id], schedule)
            row = shared_row(region[id], 0, step)[1]
            pad = bank_padding(row, model.nodes[id].element_bytes[0], threads_x, rows, schedule.piece, step)
        found[ids[id]] = PlaceAttr(place.level, place.memory, place.slot, pad)
    return found


def group_shared_memory(group: GroupOp, model: PipelineModel) -> Needs:
    """Return the shared memory of a scheduled group's placed stages."""
    schedule = BlockSchedule.expect(group.schedule)
    ids = {model.node_of[s.funcs[0]]: s for s in group.tiled}
    output = model.node_of[group.anchor.funcs[0]]
    region = regions(model, list(ids), output, schedule.tile_sizes)
    places = {
        id: Placement(*s.place.where, s.place.slot.data, s.place.pad.data)
        for id, s in ids.items()
        if s.place is not None
    }
    steps = {id: row_step(s, schedule) for id, s in ids.items()}
    shared = [id for id, p in places.items() if p.memory is Memory.Shared]
    largest = max(shared, key=lambda id: region[id].points * model.nodes[id].bytes, default=output)
    return Needs(shared_bytes(model, places, region, steps), ids[largest].sym_name.data)
