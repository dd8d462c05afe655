"""Where the stages of a block-tiled group go: nested fusion with lifetimes (Sioutas 2020, Listing 2).

A stage that every thread can compute for its own points alone lives in registers; the others are computed
once per block into shared memory. Stages whose lifetimes do not overlap share a slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, Region, regions
from tilefuse.dialects.img.attrs import Level, Memory

CHEAP_RECOMPUTE = 1.3
"""A stage stays in registers if its threads then compute at most this many times the points they need."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of one stage."""

    level: Level
    memory: Memory
    slot: int = 0
    pad: int = 0


def place_stages(
    model: PipelineModel,
    members: Sequence[int],
    output: int,
    follow: Mapping[int, tuple[Follow, ...]],
    micro_tile: Sequence[int],
) -> dict[int, Placement]:
    """The place of every member but the output, for threads that compute `micro_tile` points each."""
    inside = set(members)
    in_thread = {output}
    micro = regions(model, members, output, micro_tile, follow)
    for id in sorted(inside - {output}, reverse=True):
        consumers = [c for c in model.consumers(id) if c in inside]
        needed = min(micro[c].points for c in consumers)
        stays = all(c in in_thread for c in consumers) and all(f.dim is None or f.ratio == 1 for f in follow[id])
        if stays and micro[id].points <= CHEAP_RECOMPUTE * needed:
            in_thread.add(id)
    places: dict[int, Placement] = {}
    last_use = {id: max(c for c in model.consumers(id) if c in inside) for id in inside if id != output}
    # A register stage reads its producers when the output is computed, not before.
    for id in sorted(inside - {output}, reverse=True):
        if id not in in_thread:
            consumers = [c for c in model.consumers(id) if c in inside]
            last_use[id] = max(output if c in in_thread else c for c in consumers)
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


def shared_bytes(model: PipelineModel, places: Mapping[int, Placement], region: Mapping[int, Region]) -> int:
    """Shared memory of a block: for each slot the largest stage in it."""
    slots: dict[int, int] = {}
    for id, place in places.items():
        if place.memory is not Memory.Shared:
            continue
        extents = region[id].extents
        elements = (extents[0] + place.pad) * (region[id].points // extents[0]) if extents else 1
        size = elements * model.nodes[id].bytes
        slots[place.slot] = max(slots.get(place.slot, 0), size)
    return sum(-(-size // 16) * 16 for size in slots.values())


def bank_padding(row: int, bytes: int, threads_x: int, rows_per_thread: int) -> int:
    """Elements to add to shared rows of `row` elements so that a warp's reads fall into different banks.

    A warp reads `threads_x` neighbours in each of several rows, `rows_per_thread` apart; shared memory has 32
    banks of 4 bytes. The smallest padding (under a bank row) with the fewest lanes per bank.
    """
    if threads_x >= 32 or 32 % threads_x:
        return 0

    def conflicts(pad: int) -> int:
        words: dict[int, set[int]] = {}
        for lane in range(32):
            x, y = lane % threads_x, lane // threads_x
            word = (y * rows_per_thread * (row + pad) + x) * bytes // 4
            words.setdefault(word % 32, set()).add(word)
        return max(len(w) for w in words.values())

    return min(range(32), key=lambda pad: (conflicts(pad), pad))
