"""The cost of a warp-tiled group: instructions per lane, registers, bytes in flight. Terms: docs/cost-model.md.

The constants are fitted to 241 schedules of 14 pipelines at two sizes on an H200 (2026-11-21): 12 % root mean
square error, near the best of each.
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
    exchange_rounds,
    live_at_barriers,
    row_readers,
    warp_layout,
)

WARPS = 4
"""Warps of a block; they share nothing, so a small block fills multiprocessors evenly."""
EXCHANGE_WARPS = 8
"""Warps of a block that pass rows to one another: what is lost is at the block's top and bottom only."""
EXCHANGE_ROW = 2.1
"""Instructions to write, or read, a lane's part of a row that goes from warp to warp."""
BARRIER = 160
"""What waiting at a barrier costs, in instructions of a thread, where one block has a multiprocessor to itself."""
REGISTER_LIMIT = 190
"""Estimated registers per thread beyond which a candidate is dropped: the estimate is not exact, 255 is."""
BASE_REGISTERS = 17
"""Registers of a thread beside what it computes with."""
LEAST_REGISTERS = 40
"""Registers of a thread that the compiler is always left."""
LIVE_WINDOW = 0.28
"""Registers that a sweep needs, per value of the windows of rows: sums take the place of rows."""
LIVE_LOADS = 1.25
"""The same per value loaded."""
LIVE_TERMS = 0.28
"""The same per value read by the stage that reads most: the compiler mixes neighbouring points."""
AT_BARRIER = 0.93
"""Where rows are exchanged: registers per value that waits at a barrier."""
EARLY_LOADS = 0.7
"""Where rows are exchanged: registers per value loaded."""
AT_BARRIER_TERMS = 0.5
"""Where rows are exchanged: registers per value read by the stage that reads most."""
CODE_LIMIT = 3800
"""Instructions of one thread's straight-line code from which fetching them costs."""
CODE_PENALTY = 0.62
"""What each further CODE_LIMIT of instructions adds, as a share."""
ISSUE_OVERHEAD = 0.71
"""Instructions issued over instructions counted: addresses, moves, waits."""
TAIL_US = 0.0025
"""Microseconds that the last block takes per instruction of a thread: nothing hides its latency."""
MASKED_TAIL = 1.3
"""How much longer that is where border tiles mask computed stages."""
FULL_ISSUE_THREADS = 537
"""Threads resident on a multiprocessor from which instructions issue at full rate."""
FULL_ISSUE_POWER = 0.4
"""How the rate falls with fewer."""
CACHE_OVER_DRAM = 1.4
"""Rate of the L2 cache over that of DRAM, read and written together (anchors: 6.1 against 4.28 TB/s)."""
LOAD_BYTES_PER_INSTRUCTION = 1.4
"""Bytes that the first-level caches give in the time of one thread instruction: 128 against 128 x 0.72 a cycle."""
STORE_OVER_DRAM = 1.8
"""Rate at which the L2 cache takes stores, over that of DRAM."""
IN_FLIGHT = 64 * 1024
"""Bytes of loads in flight per multiprocessor from which DRAM is saturated."""
APART = 0.66
"""Share of the shorter of loading and computing that does not overlap with the other in a single wave of blocks."""
APART_AT_LEAST = 0.42
"""The same with many waves."""
OVERLAP_MISS = 0.02
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
    blocks: int = 0
    """Blocks per multiprocessor that there should be registers for."""


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
    for id, (low, high) in rows.items():
        held = layout.stages[id]
        depth = math.prod(b - a + 1 for a, b in held.rest) * model.nodes[id].values
        total += (high - low + 1) * (layout.vector + sum(held.reach)) * depth
    return total


def _registers(
    model: PipelineModel, members: Sequence[int], layout: WarpLayout, loaded: float, exchanges: bool
) -> float:
    """Registers per thread, about, of which `loaded` hold what was loaded."""
    terms = layout.vector * max(len(model.nodes[id].accesses) for id in members)
    if exchanges:
        most = max(EARLY_LOADS * loaded, AT_BARRIER * live_at_barriers(model, layout))
        return BASE_REGISTERS + most + AT_BARRIER_TERMS * terms
    return BASE_REGISTERS + LIVE_WINDOW * _windows(model, members, layout) + LIVE_LOADS * loaded + LIVE_TERMS * terms


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
    for bytes in (16, 8, 4):
        vector = bytes // largest
        if vector < 1:
            continue
        width = LANES * vector
        region = regions(model, members, output, [width, 1, *box[2:]], follow)
        for exchanged, warps in ways:
            pitches = (8, 6, 4) if exchanged else (1, 2, 4, 6, 8, 12, 16)
            try:
                first = warp_layout(
                    model, members, output, follow, region, width, vector, warps, pitch=pitches[0], exchanged=exchanged
                )
            except NotFusable:
                continue
            for pitch in pitches:
                try:
                    layout = first.at_pitch(pitch)
                except NotFusable:
                    break
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
    fresh = own * depth * model.nodes[output].bytes
    traffic: dict[int, tuple[float, float]] = {}  # per input: bytes of its own points, and of others
    loaded_bytes = 0.0  # of other tiles' points, from a cache
    in_flight = 0.0
    loaded = 0.0  # registers
    for (producer, _), held in layout.sources.items():
        deep = math.prod(b - a + 1 for a, b in held.rest)
        loads = held.rows(pitch) * deep
        narrow = 1.0 if held.bytes < 4 else 0.0
        instructions += loads * (3 + sum(held.reach) * (1 + 2 * narrow) + v * narrow)
        loaded += loads * v * (1.0 if held.bytes <= 4 else 2.0)
        in_flight += loads * v * held.bytes
        # rows that several warps of a block load come from memory once
        rows = (warps * pitch + held.above + held.below) / warps
        # an input read through several boundaries comes from memory once
        old = traffic.get(producer, (0.0, 0.0))
        more = max(0.0, LANES * v * rows - own)
        loaded_bytes += more * deep * held.bytes
        traffic[producer] = (max(old[0], own * deep * held.bytes), max(old[1], more * deep * held.bytes))
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
            instructions += rows * deep * 2 * EXCHANGE_ROW * (1 + narrow)
            count += rows
        instructions += count * deep * sum(held.reach) * (1 + 2 * narrow)
    registers = _registers(model, members, layout, loaded, bool(exchanged))
    if registers > REGISTER_LIMIT:
        return None
    shared = exchange_bytes(model, layout)
    stored = own * depth * model.nodes[output].bytes
    fresh += sum(own_bytes for own_bytes, _ in traffic.values())
    extra = sum(other for _, other in traffic.values())
    dram_us = tiles * (fresh + extra * OVERLAP_MISS) / machine.bytes_per_us
    store_us = tiles * stored / (machine.bytes_per_us * STORE_OVER_DRAM)
    code = 1.0 + CODE_PENALTY * max(0.0, instructions / CODE_LIMIT - 1.0)
    threads = LANES * warps
    given = max(LEAST_REGISTERS, -(-int(registers) // 8) * 8)
    fit = max(1, min(machine.max_threads_per_core // threads, machine.registers_per_core // (given * threads)))
    capacity = fit * threads
    if exchanged:
        # with few other blocks there is little to do while the warps of one wait for each other
        rounds = max(exchange_rounds(model, layout).values())
        instructions += rounds * BARRIER / fit
    if shared:
        if shared > machine.fast_bytes:
            return None
        capacity = min(capacity, machine.fast_bytes_per_core // shared * threads)
    capacity = max(capacity, threads)
    compute_us = tiles * LANES * instructions * ISSUE_OVERHEAD * code / machine.instructions_per_us
    per_core = threads * -(-blocks // machine.cores)
    resident = min(capacity, per_core)
    cache_us = tiles * (fresh + loaded_bytes) / (machine.bytes_per_us * CACHE_OVER_DRAM)
    memory_us = max(dram_us, store_us, cache_us) * max(1.0, IN_FLIGHT / max(1.0, resident * in_flight)) ** 0.5
    compute_us *= max(1.0, FULL_ISSUE_THREADS / resident) ** FULL_ISSUE_POWER
    # with one wave of blocks, loading and computing follow one another; with many they overlap
    waves = per_core / capacity
    apart = min(APART, max(APART_AT_LEAST, APART / max(waves, 1.0)))
    masked = any(a.boundary and a.producer in layout.stages for id in members for a in model.nodes[id].hull)
    tail_us = instructions * TAIL_US * (MASKED_TAIL if masked else 1.0)
    load_us = tiles * LANES * in_flight / (machine.instructions_per_us * LOAD_BYTES_PER_INSTRUCTION)
    shorter = min(memory_us, compute_us) + load_us
    total = max(memory_us, compute_us) + apart * shorter + tail_us + machine.launch_us
    return WarpCandidate(tile, (LANES, warps, *([1] * (len(box) - 2))), v, total, registers, exchanged, fit)
