"""The cost of a warp-tiled group: which schedules there are, their instructions, registers and bytes.

Their time follows in `warp_time.py`; terms: docs/cost-model.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilefuse.analysis.calibration import Calibration
from tilefuse.analysis.machine import Machine
from tilefuse.analysis.model import Node, PipelineModel
from tilefuse.analysis.regions import Follow, NotFusable, regions
from tilefuse.analysis.warp_layout import (
    LANES,
    WORD_BYTES,
    Held,
    WarpLayout,
    check_warp_group,
    exchange_bytes,
    live_at_barriers,
    row_readers,
    stored_at_once,
    warp_layout,
    words_at_once,
)
from tilefuse.analysis.warp_time import Work, microseconds

WARPS = (4, 2, 8)
"""Warps of a block that share nothing: small blocks fill multiprocessors evenly, large ones are fewer."""
EXCHANGE_WARPS = (8, 4)
"""Warps of a block that pass rows to one another: what is lost is at the block's top and bottom only."""
PITCHES = (1, 2, 4, 6, 8, 12, 16)
"""Rows of a warp that computes, and loads, again what it needs of its neighbours' rows."""
EXCHANGE_PITCHES = (8, 6, 4, 16, 12)
"""Rows of a warp where rows are exchanged."""
QUICK_PITCHES = (1, 2, 4, 8, 12)
"""Those of PITCHES by which groups are compared."""
QUICK_EXCHANGE_PITCHES, DEEP_EXCHANGE_PITCHES = (8, 6, 4), (16, 12, 8)
"""Those of EXCHANGE_PITCHES by which groups are compared: where the halo is small, and where it is not."""
DEEP_HALO = 8
"""Rows of a block, at its top and bottom, from which a halo is not small."""
REGISTER_LIMIT = 190
"""Estimated registers per thread beyond which a candidate is dropped: the estimate is not exact, 255 is."""

ROLLED_FROM = 3300
"""Instructions per lane from which like stages become a loop (`roll-stages`)."""
ROLLED_COST = 0.04
"""Instructions more in a loop: counters, branches, moves."""

Kind = tuple[tuple[int, ...], tuple[int, ...], int, bool]
"""A warp-tile schedule: tile, threads, vector, whether rows are exchanged."""


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
    work: Work | None = None
    """What `microseconds` follows from."""


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
    packed = 0.0
    if any(layout.stages[id].paired for id in members):
        packed = c.packed_rows * max(0.0, layout.vector / 2 - 2) * layout.vector / 8
    if exchanges:
        waiting = c.exchange_registers + c.at_barrier * live_at_barriers(model, layout)
        return max(c.base_registers + c.live_loads * loaded, waiting) + c.at_barrier_terms * terms + packed
    windows = c.live_window * _windows(model, members, layout)
    return c.base_registers + windows + c.live_loads * loaded + c.live_terms * terms + packed


def warp_candidates(
    model: PipelineModel,
    members: Sequence[int],
    output: int,
    follow: Mapping[int, tuple[Follow, ...]],
    machine: Machine,
    box: Sequence[int],
    exchange: bool | None = None,
    needs: Mapping[Kind, int] | None = None,
    thorough: bool = True,
) -> Iterator[WarpCandidate]:
    """All warp-tile schedules worth comparing; none if the group cannot be warp-tiled.

    `exchange`: whether rows go from warp to warp; None to try both. `needs`: registers per thread that schedules
    were found to need; the estimates of those like them are corrected by as much. Not `thorough`: one number of
    warps per block, enough to compare groups.
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
    readers = tuple(row_readers(model, members))
    ways: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = []
    if exchange is not True or not readers:
        ways.append(((), WARPS, PITCHES))
    if exchange is not False and readers:
        ways.append((readers, EXCHANGE_WARPS, EXCHANGE_PITCHES))
    for bytes in (16, 8, 4):
        vector = bytes // largest
        if vector < 1:
            continue
        width = LANES * vector
        region = regions(model, members, output, [width, 1, *box[2:]], follow)
        for exchanged, warps, pitches in ways:
            try:
                first = warp_layout(
                    model, members, output, region, width, vector, max(warps),
                    pitch=max(pitches), exchanged=exchanged,
                )  # fmt: skip
            except NotFusable:
                continue
            if not thorough:
                deep = first.top + first.bottom >= DEEP_HALO
                warps, pitches = warps[:1], QUICK_PITCHES
                if exchanged:
                    pitches = DEEP_EXCHANGE_PITCHES if deep else QUICK_EXCHANGE_PITCHES
            layouts = []
            for count, pitch, stores in itertools.product(warps, pitches, _of_stores(first, out)):
                try:
                    layouts.append(stores.of_size(count, pitch))
                except NotFusable:
                    continue
            found = [_estimate(model, members, output, layout, machine, box, exchanged, 1.0) for layout in layouts]
            if needs and (more := _underestimate(found, needs)) > 1.0:
                found = [_estimate(model, members, output, layout, machine, box, exchanged, more) for layout in layouts]
            yield from (c for c in found if c is not None)


def _of_stores(layout: WarpLayout, output: Node) -> list[WarpLayout]:
    """The layout with stores that are moved to where vectors lie and, if that takes lanes, with stores one by one."""
    unshifted = layout.without_slack()
    # elements smaller than a word are stored in words
    if unshifted.width == layout.width or min(output.element_bytes) < WORD_BYTES:
        return [layout]
    return [layout, unshifted]


def _underestimate(found: Sequence[WarpCandidate | None], needs: Mapping[Kind, int]) -> float:
    """How many times more registers than estimated are needed; 1 where nothing is known."""
    known = (
        needs.get((c.tile, c.threads, c.vector, bool(c.exchanged)), 0) / c.registers for c in found if c is not None
    )
    return max([1.0, *known])


def _edge(held: Held) -> float:
    """Instructions to get an element of the next lane."""
    return 1.0 if held.bytes >= 4 else 2.0 if held.paired else 3.0


def _apart(bytes: int, vector: int) -> tuple[int, float]:
    """Accesses, and instructions beside them, to load a row that does not lie where vectors do (`warp_shifts`)."""
    words = vector * bytes // WORD_BYTES
    if bytes >= WORD_BYTES or not words:
        return vector, 0.0
    piece = words_at_once(vector * bytes)
    return words // piece + 1, 6 + (words + 1 if piece == 2 else 0) + words


def _moved(bytes: int, vector: int) -> tuple[int, float]:
    """Accesses that store a row which is moved over the lanes to where they may lie, and instructions beside them."""
    piece = stored_at_once(bytes, vector)
    cut = bytes < WORD_BYTES and not vector * bytes % WORD_BYTES
    words, most = (n * bytes // WORD_BYTES if cut else n for n in (vector, piece))
    selected = sum(words + by - (not cut) for by in (4, 2, 1) if by < most)
    return vector // piece, 6 + most - (not cut) + selected + (words if cut else 0)


def _split(held: Held) -> float:
    """Instructions per point to take a row out of memory apart, or to join one."""
    return 0.0 if held.bytes >= 4 else (0.5 if held.bytes == 1 else 0.0) if held.paired else 1.0


def _estimate(
    model: PipelineModel,
    members: Sequence[int],
    output: int,
    layout: WarpLayout,
    machine: Machine,
    box: Sequence[int],
    exchanged: tuple[int, ...],
    underestimate: float,
) -> WarpCandidate | None:
    c = machine.calibration
    v, width, height, warps, pitch = layout.vector, layout.width, layout.height, layout.warps, layout.pitch
    depth = math.prod(box[2:])
    tile = (width, height, *box[2:])
    columns, rows_of_tiles = -(-box[0] // width), -(-box[1] // height)
    blocks = columns * rows_of_tiles
    own = width * height / warps  # output points of a warp
    own_bytes = own * depth * model.nodes[output].bytes
    instructions = 40.0  # finding the tile, per lane
    exchanges = in_flight = touched = stored_again = 0.0
    traffic: dict[int, tuple[float, float]] = {}  # per input: bytes of its own points, and of others
    loaded = 0.0  # registers
    for (producer, _), held in layout.sources.items():
        deep = math.prod(b - a + 1 for a, b in held.rest)
        loads = held.rows(pitch) * deep
        instructions += loads * (3 + sum(held.reach) * _edge(held) + v * _split(held))
        accesses = 1
        if not model.nodes[producer].aligned:
            accesses, cutting = _apart(held.bytes, v)
            instructions += loads * (accesses - 1 + cutting)
        touched += loads * v * held.bytes * accesses  # each access of a lane touches other lines than the lane's before
        loaded += loads * v * (0.5 if held.paired else 1.0 if held.bytes <= 4 else 2.0)
        in_flight += loads * v * held.bytes
        # rows that several warps of a block load come from memory once
        rows = (warps * pitch + held.above + held.below) / warps
        # an input read through several boundaries comes from memory once, and then from the first-level cache
        old = traffic.get(producer, (0.0, 0.0))
        more = max(0.0, LANES * v * rows - own)
        traffic[producer] = (max(old[0], own * deep * held.bytes), max(old[1], more * deep * held.bytes))
    kinds: set[object] = set()
    again = 0.0  # instructions of stages like one before
    for id in members:
        before = instructions
        node, held = model.nodes[id], layout.stages[id]
        deep = math.prod(b - a + 1 for a, b in held.rest)
        # reads are of registers; one that is not staged is a load
        unstaged = sum(
            1 for a in node.accesses if a.producer not in layout.stages and (a.producer, a.source) not in layout.sources
        )
        count = held.rows(pitch)
        if held.paired and node.pair_instructions is not None:
            per_column = deep * node.pair_instructions
        else:
            per_column = deep * node.instructions - (deep - 1) * node.shared_instructions
        instructions += count * v * (per_column + deep * 5 * unstaged)
        if id == output:
            instructions += count * deep * (4 + v * _split(held))
            if not node.aligned:
                accesses, moving = _moved(held.bytes, v) if layout.slack else (v, 0.0)
                instructions += count * deep * (accesses - 1 + moving)
                stored_again += count * deep * v * held.bytes * (accesses - 1)
            continue
        if rows := held.exchanged_rows():
            # pieces of more than 16 bytes are several accesses, which meet in the banks
            pieces = math.ceil(v * (2 if held.paired else held.bytes) / 16)
            exchanges += rows * deep * 2 * pieces * pieces * (2 if held.bytes < 4 and not held.paired else 1)
            count += rows
        instructions += count * deep * sum(held.reach) * _edge(held)
        kind = (node.instructions, held.above, held.below, held.wide, held.reach, held.rest, held.paired)
        if kind in kinds:
            again += instructions - before
        kinds.add(kind)
    rolled = instructions >= ROLLED_FROM and again > 0.5 * instructions
    code = instructions - again if rolled else instructions
    instructions += ROLLED_COST * again if rolled else 0.0
    registers = underestimate * _registers(model, members, layout, loaded, bool(exchanged), c)
    threads = LANES * warps
    given = max(int(c.least_registers), math.ceil(registers / 8) * 8)
    if given > REGISTER_LIMIT:
        return None
    fit = min(machine.max_threads_per_core // threads, machine.registers_per_core // (given * threads))
    if fit == 0:
        return None
    resident = fit
    if shared := exchange_bytes(model, layout):
        if shared > machine.fast_bytes:
            return None
        resident = min(resident, max(1, machine.fast_bytes_per_core // shared))
    work = Work(
        blocks=blocks,
        at_border=1.0 - max(0, columns - 2) * max(0, rows_of_tiles - 2) / blocks,
        warps=warps,
        resident_blocks=resident,
        instructions=instructions,
        code=code,
        exchanges=exchanges,
        barriers=max(layout.rounds.values()) if exchanged else 0,
        own_bytes=own_bytes + sum(mine for mine, _ in traffic.values()),
        other_bytes=sum(others for _, others in traffic.values()),
        stored_bytes=own_bytes,
        loaded_bytes=in_flight,
        touched_bytes=touched,
        stored_again=stored_again,
        row_bytes=LANES * v * max(h.bytes for h in (*layout.sources.values(), layout.stages[output])),
        rows=warps * pitch,
    )
    return WarpCandidate(
        tile, (LANES, warps, *([1] * (len(box) - 2))), v, microseconds(work, machine), registers, exchanged, fit, work
    )
