"""The cost of a warp-tiled group: instructions per lane, registers, bytes in flight. Terms: docs/cost-model.md.

The constants are fitted to 132 timings of 8 pipelines on an H200 (2026-11-21): 11 % root mean square error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilefuse.analysis.machine import Machine
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, NotFusable, regions
from tilefuse.analysis.warp_layout import (
    LANES,
    WarpLayout,
    check_warp_group,
    exchange_bytes,
    row_readers,
    warp_layout,
)

WARPS = 4
"""Warps of a block; they share nothing, so a small block fills multiprocessors evenly."""
EXCHANGE_WARPS = 8
"""Warps of a block that pass rows to one another: what is lost is at the block's top and bottom only."""
EXCHANGE_ROW = 6
"""Instructions to write, or read, a lane's part of a row that goes from warp to warp."""
BARRIER = 60
"""What waiting at a barrier costs, in instructions of a thread."""
REGISTER_LIMIT = 190
"""Estimated registers per thread beyond which a candidate is dropped: the estimate is not exact, 255 is."""
BASE_REGISTERS = 11
"""Registers of a thread beside the rows it holds."""
CODE_LIMIT = 6700
"""Instructions of one thread's straight-line code from which fetching them costs."""
CODE_PENALTY = 0.5
"""What each further CODE_LIMIT of instructions adds, as a share."""
ISSUE_OVERHEAD = 0.9
"""Instructions issued over instructions counted: addresses, moves, waits."""
TAIL_US = 0.002
"""Microseconds that the last block takes per instruction of a thread: nothing hides its latency."""
MASKED_TAIL = 5.4
"""How much longer that is where border tiles mask computed stages."""
FULL_ISSUE_THREADS = 400
"""Threads resident on a multiprocessor from which instructions issue at full rate."""
FULL_ISSUE_POWER = 1.5
"""How the rate falls with fewer."""
STORE_OVER_DRAM = 1.3
"""Rate at which the L2 cache takes stores, over that of DRAM. Unaligned rows are stored element by element,
and each element of a lane then costs a whole sector."""
IN_FLIGHT = 72 * 1024
"""Bytes of loads in flight per multiprocessor from which DRAM is saturated (anchors: 75 to 100 KB)."""
OVERLAP_MISS = 0.13
"""Share of the overlapping part of input tiles that comes from DRAM and not from a cache."""


@dataclass(frozen=True)
class WarpCandidate:
    """A warp-tile schedule and its cost."""

    tile: tuple[int, ...]
    threads: tuple[int, ...]
    vector: int
    microseconds: float
    registers: float
    exchanged: tuple[int, ...] = ()
    """Stages whose rows go from warp to warp."""


def _windows(model: PipelineModel, members: Sequence[int], layout: WarpLayout) -> float:
    """Registers that the live rows of the stages take, at 4 bytes each."""
    rows: dict[int, tuple[int, int]] = {}
    for id in members:
        for access in model.nodes[id].hull:
            if access.producer in layout.stages:
                dy = access.indices[1].offset  # type: ignore[union-attr]
                low, high = rows.get(access.producer, (dy, dy))
                rows[access.producer] = (min(low, dy), max(high, dy))
    total = 0.0
    whole = 0.0
    for id, (low, high) in rows.items():
        held = layout.stages[id]
        depth = math.prod(b - a + 1 for a, b in held.rest) * model.nodes[id].values
        width = layout.vector + sum(held.reach)
        total += (high - low + 1) * width * depth
        if held.exchanged_rows():
            # all of it waits at the barrier
            whole = max(whole, (layout.pitch + held.exchanged_rows()) * layout.vector * depth)
    return total if not whole else whole + total / max(1, len(rows)) * 2


def warp_candidates(
    model: PipelineModel,
    members: Sequence[int],
    output: int,
    follow: Mapping[int, tuple[Follow, ...]],
    machine: Machine,
    box: Sequence[int],
    exchange: bool | None = None,
) -> Iterator[WarpCandidate]:
    """All warp-tile schedules worth comparing; none if the group cannot be warp-tiled.

    `exchange`: whether rows go from warp to warp; None to try both.
    """
    try:
        check_warp_group(model, members, follow)
    except NotFusable:
        return
    out = model.nodes[output]
    widths = [
        model.nodes[a.producer].element_bytes[0]
        for id in members
        for a in model.nodes[id].accesses
        if model.nodes[a.producer].is_input or a.producer not in follow
    ]
    largest = max([*out.element_bytes, *widths])
    readers = row_readers(model, members)
    ways: list[tuple[tuple[int, ...], int]] = []
    if exchange is not True or not readers:
        ways.append(((), WARPS))
    if exchange is not False and readers:
        ways.append((tuple(readers), EXCHANGE_WARPS))
    for bytes in (16, 8) if out.aligned else (16, 8, 4):
        vector = bytes // largest
        if vector < 1:
            continue
        width = LANES * vector
        region = regions(model, members, output, [width, 1, *box[2:]], follow)
        for exchanged, warps in ways:
            for pitch in (4, 6, 8, 12, 16) if exchanged else (1, 2, 4, 6, 8, 12, 16):
                try:
                    layout = warp_layout(
                        model, members, output, follow, region, width, vector, warps, pitch=pitch, exchanged=exchanged
                    )
                except NotFusable:
                    continue
                found = _estimate(model, members, output, layout, machine, box, exchanged)
                if found is not None:
                    yield found


def _estimate(
    model: PipelineModel,
    members: Sequence[int],
    output: int,
    layout: WarpLayout,
    machine: Machine,
    box: Sequence[int],
    exchanged: tuple[int, ...],
) -> WarpCandidate | None:
    v, width, height, warps, pitch = layout.vector, layout.width, layout.height, layout.warps, layout.pitch
    depth = math.prod(box[2:])
    tile = (width, height, *box[2:])
    blocks = -(-box[0] // width) * -(-box[1] // height)
    tiles = blocks * warps
    own = width * height / warps  # output points of a warp
    instructions = 40.0  # finding the tile, per lane
    registers = BASE_REGISTERS + _windows(model, members, layout)
    fresh = own * depth * model.nodes[output].bytes
    extra = 0.0
    in_flight = 0.0
    barriers = 0
    for held in layout.sources.values():
        deep = math.prod(b - a + 1 for a, b in held.rest)
        loads = held.rows(pitch) * deep
        narrow = 1.0 if held.bytes < 4 else 0.0
        instructions += loads * (3 + sum(held.reach) * (1 + 2 * narrow) + v * narrow)
        registers += loads * v * (1.0 if held.bytes <= 4 else 2.0)
        in_flight += loads * v * held.bytes
        fresh += own * deep * held.bytes
        # rows that the warps of a block load twice come from the first-level cache
        rows = (warps * pitch + held.above + held.below) / warps if exchanged else held.rows(pitch)
        extra += max(0.0, LANES * v * rows - own) * deep * held.bytes
    for id in members:
        node, held = model.nodes[id], layout.stages[id]
        deep = math.prod(b - a + 1 for a, b in held.rest)
        # reads are of registers; one that is not staged is a load
        unstaged = sum(
            1 for a in node.accesses if a.producer not in layout.stages and (a.producer, a.source) not in layout.sources
        )
        narrow = 1.0 if node.bytes < 4 else 0.0
        count = held.rows(pitch)
        instructions += count * deep * v * (node.instructions + 5 * unstaged)
        if id == output:
            instructions += count * deep * (4 + v * narrow)
            continue
        if rows := held.exchanged_rows():
            barriers += 1
            instructions += rows * deep * 2 * EXCHANGE_ROW * (1 + narrow)
            count += rows
        instructions += count * deep * sum(held.reach) * (1 + 2 * narrow)
    if registers > REGISTER_LIMIT:
        return None
    shared = exchange_bytes(model, layout)
    stored = own * depth * model.nodes[output].bytes
    if not model.nodes[output].aligned:
        stored *= v
    dram_us = tiles * (fresh + extra * OVERLAP_MISS) / machine.bytes_per_us
    store_us = tiles * stored / (machine.bytes_per_us * STORE_OVER_DRAM)
    code = 1.0 + CODE_PENALTY * max(0.0, instructions / CODE_LIMIT - 1.0)
    instructions += barriers * BARRIER
    compute_us = tiles * LANES * instructions * ISSUE_OVERHEAD * code / machine.instructions_per_us
    threads = LANES * warps
    capacity = min(machine.max_threads_per_core, int(machine.registers_per_core / registers) // threads * threads)
    if shared:
        if shared > machine.fast_bytes:
            return None
        capacity = min(capacity, machine.fast_bytes_per_core // shared * threads)
    capacity = max(capacity, threads)
    per_core = threads * -(-blocks // machine.cores)
    resident = min(capacity, per_core)
    memory_us = max(dram_us, store_us) * max(1.0, IN_FLIGHT / max(1.0, resident * in_flight)) ** 0.5
    compute_us *= max(1.0, FULL_ISSUE_THREADS / resident) ** FULL_ISSUE_POWER
    # with one wave of blocks, loading and computing follow one another; with many they overlap
    waves = per_core / capacity
    apart = min(0.6, max(0.1, 0.6 / max(waves, 1.0)))
    masked = any(a.boundary and a.producer in layout.stages for id in members for a in model.nodes[id].hull)
    tail_us = instructions * TAIL_US * (MASKED_TAIL if masked else 1.0)
    total = max(memory_us, compute_us) + apart * min(memory_us, compute_us) + tail_us + machine.launch_us
    return WarpCandidate(tile, (LANES, warps, *([1] * (len(box) - 2))), v, total, registers, exchanged)
