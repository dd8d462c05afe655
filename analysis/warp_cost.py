"""The cost of a warp-tiled group: instructions per lane, registers, bytes in flight. Terms: docs/cost-model.md.

The constants are fitted to 490 timings of 245 schedules of 8 pipelines on an H200 (2026-11-21): 11 % root mean
square error, near the best of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilefuse.analysis.calibration import Calibration
from tilefuse.analysis.machine import Machine
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, NotFusable, regions
from tilefuse.analysis.warp_layout import (
    LANES,
    Held,
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
FULL_THREADS = 1024
"""Threads resident on a multiprocessor for which `apart_later` is given."""
REGISTER_LIMIT = 190
"""Estimated registers per thread beyond which a candidate is dropped: the estimate is not exact, 255 is."""


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
        total += (high - low + 1) * (layout.vector / (2 if held.paired else 1) + sum(held.reach)) * depth
    return total


def _registers(
    model: PipelineModel, members: Sequence[int], layout: WarpLayout, loaded: float, exchanges: bool, c: Calibration
) -> float:
    """Registers per thread, about, of which `loaded` hold what was loaded."""
    terms = layout.vector * max(
        len(model.nodes[id].accesses) / (2 if layout.stages[id].paired else 1) for id in members
    )
    if exchanges:
        waiting = c.exchange_registers + c.at_barrier * live_at_barriers(model, layout)
        return max(c.base_registers + c.live_loads * loaded, waiting) + c.at_barrier_terms * terms
    windows = c.live_window * _windows(model, members, layout)
    return c.base_registers + windows + c.live_loads * loaded + c.live_terms * terms


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


def _edge(held: Held) -> float:
    """Instructions to get an element of the next lane."""
    return 1.0 if held.bytes >= 4 else 2.0 if held.paired else 3.0


def _split(held: Held) -> float:
    """Instructions per point to take a row out of memory apart, or to join one."""
    return 0.0 if held.bytes >= 4 else (0.75 if held.bytes == 1 else 0.5) if held.paired else 1.0


def _estimate(
    model: PipelineModel,
    members: Sequence[int],
    output: int,
    layout: WarpLayout,
    machine: Machine,
    box: Sequence[int],
    exchanged: tuple[int, ...],
) -> WarpCandidate | None:
    c = machine.calibration
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
        instructions += loads * (3 + sum(held.reach) * _edge(held) + v * _split(held))
        loaded += loads * v * (0.5 if held.paired else 1.0 if held.bytes <= 4 else 2.0)
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
        count = held.rows(pitch)
        each = node.pair_instructions if held.paired and node.pair_instructions is not None else node.instructions
        instructions += count * deep * v * (each + 5 * unstaged)
        if id == output:
            instructions += count * deep * (4 + v * _split(held))
            continue
        if rows := held.exchanged_rows():
            instructions += rows * deep * 2 * c.exchange_row * (2 if held.bytes < 4 else 1)
            count += rows
        instructions += count * deep * sum(held.reach) * _edge(held)
    registers = _registers(model, members, layout, loaded, bool(exchanged), c)
    if registers > REGISTER_LIMIT:
        return None
    shared = exchange_bytes(model, layout)
    stored = own * depth * model.nodes[output].bytes
    fresh += sum(own_bytes for own_bytes, _ in traffic.values())
    extra = sum(other for _, other in traffic.values())
    dram_us = tiles * (fresh + extra * c.overlap_miss) / machine.bytes_per_us
    store_us = tiles * stored / (machine.bytes_per_us * c.store_over_dram)
    code = 1.0 + c.code_penalty * max(0.0, instructions / c.code_limit - 1.0)
    threads = LANES * warps
    given = max(int(c.least_registers), -(-int(registers) // 8) * 8)
    fit = max(1, min(machine.max_threads_per_core // threads, machine.registers_per_core // (given * threads)))
    capacity = fit * threads
    if exchanged:
        # with few other blocks there is little to do while the warps of one wait for each other
        rounds = max(exchange_rounds(model, layout).values())
        instructions += rounds * c.barrier / fit
    if shared:
        if shared > machine.fast_bytes:
            return None
        capacity = min(capacity, machine.fast_bytes_per_core // shared * threads)
    capacity = max(capacity, threads)
    compute_us = tiles * LANES * instructions * c.issue_overhead * code / machine.instructions_per_us
    per_core = threads * -(-blocks // machine.cores)
    resident = min(capacity, per_core)
    together = min(1.0, capacity / per_core)  # the share of the blocks that are in the first wave
    cache_us = tiles * (fresh + loaded_bytes) / (machine.bytes_per_us * c.cache_over_dram)
    # neighbours in x share the ends of rows, and drift apart while they go down tall tiles
    piece = LANES * v * max(h.bytes for h in (*layout.sources.values(), layout.stages[output]))
    drift = (1.0 - together) * min(1.0, max(0.0, (warps * pitch - 8) / 24))
    dram_us *= 1.0 + c.narrow_rows * max(0.0, 16 * LANES / piece - 1.0) * drift
    memory_us = max(dram_us, store_us, cache_us) * max(1.0, c.in_flight / max(1.0, resident * in_flight)) ** 0.5
    compute_us *= max(1.0, c.full_issue_threads / resident) ** c.full_issue_power
    # with one wave of blocks, loading and computing follow one another; with many they overlap
    apart = c.apart * together + c.apart_later * (1.0 - together) * (FULL_THREADS / resident) ** c.apart_power
    masked = any(a.boundary and a.producer in layout.stages for id in members for a in model.nodes[id].hull)
    tail_us = instructions * c.tail_us * (c.masked_tail if masked else 1.0)
    load_us = tiles * LANES * in_flight / (machine.instructions_per_us * c.load_bytes_per_instruction)
    shorter = min(memory_us, compute_us) + load_us
    total = max(memory_us, compute_us) + min(apart, 1.0) * shorter + tail_us + machine.launch_us
    return WarpCandidate(tile, (LANES, warps, *([1] * (len(box) - 2))), v, total, registers, exchanged, fit)
