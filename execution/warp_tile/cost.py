"""Candidate schedules of a warp-tiled group, and the features of each.

What a warp does is counted in `counts.py`, the time follows in `features.py`; terms: docs/cost-model.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilefuse.analysis.machine import Machine
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import NotFusable, regions
from tilefuse.dialects.img.attrs import Level, Memory
from tilefuse.execution.border_share import interior_share
from tilefuse.execution.candidate import Kind, Placement, SearchOptions
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.features import predict
from tilefuse.execution.read_again import from_memory
from tilefuse.execution.warp_tile.attribute import EXCHANGE
from tilefuse.execution.warp_tile.candidate import WarpCandidate
from tilefuse.execution.warp_tile.counts import LONG_GROUP, Counts, count
from tilefuse.execution.warp_tile.features import PARTITIONS, WarpFeatures, least_microseconds, saved_by_prefetch
from tilefuse.execution.warp_tile.footprints import WORD_BYTES, Footprints, footprints, is_prefetchable, row_readers
from tilefuse.execution.warp_tile.layout import (
    LANES,
    TilePartition,
    WarpLayout,
    lane_layout,
    planes,
)
from tilefuse.execution.warp_tile.legality import check_warp_group

NAME = "warp_tile"

OF_BLOCK, OF_WARP = Placement(Level.Block, Memory.Register), Placement(Level.Warp, Memory.Register)
"""Places of stages whose rows go from warp to warp, and of others."""

BLOCK_WARPS = (4, 2, 8)
"""Warps of a block that share nothing: small blocks fill multiprocessors evenly, large ones are fewer."""
EXCHANGE_WARPS = (8, 4)
"""Warps of a block that pass rows to one another: what is lost is at the block's top and bottom only."""
PITCHES = (1, 2, 4, 5, 6, 8, 12, 16)
"""Rows of a warp that computes, and loads, again what it needs of its neighbours' rows."""
EXCHANGE_PITCHES = (8, 6, 4, 16, 12)
"""Rows of a warp where rows are exchanged."""
QUICK_PITCHES = (1, 2, 4, 8, 12)
"""Members of PITCHES by which groups are compared."""
QUICK_EXCHANGE_PITCHES, DEEP_EXCHANGE_PITCHES = (8, 6, 4), (16, 12, 8)
"""Members of EXCHANGE_PITCHES by which groups are compared: where the halo is small, and where it is not."""
DEEP_HALO = 8
"""Rows of a block, at its top and bottom, from which a halo is not small. Of less, stages are not warp-tiled plane by
plane: block tiles are as fast there, and hold what planes have in common in caches."""
MOST_ROOM = 1.5
"""Room for so many times the blocks of a multiprocessor is what a compiler may fill with registers."""
REGISTER_LIMIT = 190
"""Estimated registers per thread beyond which a candidate is dropped: the estimate is not exact, 255 is."""
CHAIN_LIMIT = 255
"""Estimated registers of chains from which they are dropped: their inputs may be loaded when they are needed."""

SCARCE_REGISTERS = 0.92
"""Share of the registers that a schedule's blocks leave, from which the compiler mostly takes more by itself."""
SLOW_TO_COMPILE = 1600
"""Instructions per lane from which compiling a kernel in vain takes longer than the better code is worth. (Pairs of
points take fewer registers than estimated. A kernel that prefetches is short of time, not of registers.)"""

SEVERAL_STAGES = 1.5
"""Registers of a kernel that stores several stages over their estimate, as groups are compared: the compiler keeps the
addresses, versions for borders and windows of all of them at once, and a kernel that then gets a smaller tile, or fewer
blocks, takes longer than its parts."""

LARGE_BOX = 1 << 20
"""Points of a picture from which one column per lane is for stages that have no room for more: it gives small pictures
more warps."""

ROLLED_FROM = 3300
"""Instructions per lane from which like stages become a loop (`roll-stages`)."""
ROLLED_COST = 0.04
"""Instructions more in a loop: counters, branches, moves."""


def warp_candidates(facts: GroupFacts, machine: Machine, options: SearchOptions) -> Iterator[WarpCandidate]:
    """Return all warp-tile schedules worth comparing; none if the group cannot be warp-tiled.

    Registers that the compiler reported for schedules correct the estimates of similar ones by the same factor. Not
    `thorough`: one number of warps per block, without schedules that are surely more expensive than earlier ones.
    """
    model, members, output = facts.model, facts.members, facts.output
    if not machine.is_gpu or not facts.rank:
        return
    box, thorough = facts.box, options.thorough
    try:
        check_warp_group(model, members, facts.follow)
    except NotFusable:
        return
    largest, ways = _largest_element(facts), _ways(facts, options)
    least, deep = math.inf, planes(model, output, box)
    by_planes = math.prod(deep) < math.prod(box[2:])
    inner = [id for id in members if id != output]
    for bytes in (16, 8, 4):
        vector = bytes // largest
        if vector < 1 or (vector == 1 and not thorough and math.prod(box) >= LARGE_BOX and least < math.inf):
            continue
        # those that exchange rows are mostly the cheaper ones
        for kept, exchanged, warps, pitches in ways if thorough else reversed(ways):
            places = _places(inner, exchanged)
            try:
                first = lane_layout(model, members, kept, TilePartition(vector, max(warps), max(pitches)))
            except NotFusable:
                continue
            if by_planes and first.top + first.bottom < DEEP_HALO and len(members) <= LONG_GROUP:
                continue
            if not thorough:
                is_deep = first.top + first.bottom >= DEEP_HALO
                warps, pitches = warps[:1], QUICK_PITCHES
                if exchanged:
                    pitches = DEEP_EXCHANGE_PITCHES if is_deep else QUICK_EXCHANGE_PITCHES
            variants = [(at, count(model, members, at, bool(exchanged))) for at in _of_stores(first, model)]
            layouts = []
            for number, pitch, (layout, counts) in itertools.product(warps, pitches, variants):
                try:
                    layouts.append((layout.of_size(number, pitch), counts))
                except NotFusable:
                    continue
            prefetchable = any(is_prefetchable(model.nodes[s.producer]) for s in variants[0][1].sources)
            prefetches = thorough and machine.kernels_overlap and prefetchable and not by_planes
            limit = CHAIN_LIMIT if len(members) > LONG_GROUP else REGISTER_LIMIT
            interior = interior_share(facts) if facts.far_boxes else 1.0
            of = _Estimates(machine, box, deep, places, prefetches, not thorough, interior, limit)
            if not thorough:
                taken = SEVERAL_STAGES if len(facts.stored) > 1 else 1.0
                for at, counts in reversed(layouts):  # tall tiles first: they are mostly the cheaper ones
                    if (best := of.candidate(counts, at, taken, most=least)) is not None:
                        least = min(least, best.microseconds)
                        yield best
                continue
            found = [of.candidate(counts, at) for at, counts in layouts]
            if options.needs and (more := _underestimate(found, options.needs)) > 1.0:
                found = [of.candidate(counts, at, more) for at, counts in layouts]
            yield from (c for c in found if c is not None)


def _largest_element(facts: GroupFacts) -> int:
    """Return the bytes of the widest element that is loaded or stored."""
    nodes = facts.model.nodes
    widths = [
        nodes[a.producer].element_bytes[0]
        for id in facts.members
        for a in nodes[id].hull
        if nodes[a.producer].is_input or a.producer not in facts.follow
    ]
    stored = (bytes for id in facts.model.stored(facts.members) for bytes in nodes[id].element_bytes)
    return max([*stored, *widths])


_Way = tuple[Footprints, tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def _ways(facts: GroupFacts, options: SearchOptions) -> list[_Way]:
    """Yield footprints, stages with exchanged rows, numbers of warps and of rows.

    With no such stages, and with all that can be.
    """
    model, members, output = facts.model, facts.members, facts.output
    readers = tuple(row_readers(model, members))
    row = regions(model, members, output, [LANES, 1, *planes(model, output, facts.box)], facts.follow)
    ways: list[_Way] = []
    exchange = options.parameters.get(EXCHANGE)  # None: the cheaper way
    if not exchange or not readers:
        ways.append((footprints(model, members, row, LANES), (), BLOCK_WARPS, PITCHES))
    if exchange != 0 and readers:
        passing = footprints(model, members, row, LANES, readers)
        ways.append((passing, readers, EXCHANGE_WARPS, EXCHANGE_PITCHES))
    return ways


def _places(inner: Sequence[int], exchanged: Sequence[int]) -> dict[int, Placement]:
    """Return the places of all stages but the output."""
    return {id: OF_BLOCK if id in exchanged else OF_WARP for id in inner}


def _of_stores(layout: WarpLayout, model: PipelineModel) -> list[WarpLayout]:
    """Return the layout and, if its shifted stores cost lanes, a variant with unshifted scalar stores."""
    if not layout.left_spill:
        return [layout]
    unshifted = layout.without_left_spill()
    # elements smaller than a word are stored in words
    moved = [bytes for id, kept in layout.stages.items() if kept.shifted for bytes in model.nodes[id].element_bytes]
    if unshifted.width == layout.width or min(moved) < WORD_BYTES:
        return [layout]
    return [layout, unshifted]


def _underestimate(found: Sequence[WarpCandidate | None], needs: Mapping[Kind, int]) -> float:
    """Return the ratio of needed to estimated registers; 1 where no need is known."""
    return max([1.0, *(needs.get(c.kind, 0) / c.registers for c in found if c is not None)])


def _blocks_with_registers(registers: int, warps: int, machine: Machine) -> int:
    """Return the blocks that a multiprocessor has registers and threads for: each partition of it has its own."""
    of_partition = machine.registers_per_core // PARTITIONS // (registers * LANES)
    return min(machine.max_threads_per_core // LANES, PARTITIONS * of_partition) // warps


def _registers_left(blocks: int, warps: int, machine: Machine) -> int:
    """Return the registers per thread at the limit of `blocks` resident blocks, in the fullest partition."""
    of_partition = -(-blocks * warps // PARTITIONS)
    return min(255, machine.registers_per_core // PARTITIONS // (of_partition * LANES)) // 8 * 8


@dataclass(frozen=True)
class _Estimates:
    """Shared terms of the cost estimates of a group's tiles."""

    machine: Machine
    box: Sequence[int]
    deep: Sequence[int]
    """Points of a tile in the dimensions after x and y."""
    places: Mapping[int, Placement]
    prefetches: bool
    """Whether the kernel reads an input that may be prefetched."""
    compares: bool
    """Whether groups are compared: then reads at multiples of the coordinates count as traffic, of which all tiles of
    one group have the same."""
    interior: float
    """The share of the box in whose tiles no boundary is met, edges aside; 1 where tiles of one group are compared,
    as all have the same."""
    most_registers: int = REGISTER_LIMIT

    def candidate(
        self, counts: Counts, layout: WarpLayout, underestimate: float = 1.0, most: float = math.inf
    ) -> WarpCandidate | None:
        """Return the schedule of a layout; None if it does not fit, or certainly takes over `most` microseconds."""
        machine, box, warps, pitch = self.machine, self.box, layout.warps, layout.pitch
        columns, rows_of_tiles = -(-box[0] // layout.width), -(-box[1] // layout.height)
        blocks = columns * rows_of_tiles
        if self.deep:
            blocks *= math.prod(box[2:]) // math.prod(self.deep)
        instructions, again = counts.instructions.at(pitch), counts.again.at(pitch)
        rolled = instructions >= ROLLED_FROM and again > 0.5 * instructions
        code = instructions - again if rolled else instructions
        instructions += ROLLED_COST * again if rolled else 0.0
        at_border = 1.0 - self.interior * max(0, columns - 2) * max(0, rows_of_tiles - 2) / (columns * rows_of_tiles)
        of_lane = instructions, code, at_border
        if least_microseconds(blocks, blocks * warps, of_lane, machine, counts.exchanges) > most:
            return None
        registers = underestimate * counts.registers(pitch, machine.calibration)
        if (room := self._room(registers, warps, counts.exchange_bytes * warps, blocks)) is None:
            return None
        fit, resident, single_wave = room
        features = self._features(counts, layout, blocks, resident, of_lane)
        if (time := predict(features, machine)) > most:
            return None
        tile, threads = (layout.width, layout.height, *self.deep), (LANES, warps, *([1] * (len(box) - 2)))
        saved = saved_by_prefetch(features, time, machine) if self.prefetches else 0.0
        prefetch_rows = -(-resident * machine.cores // columns) if saved else 0
        left = _registers_left(fit, warps, machine)
        slow = code >= SLOW_TO_COMPILE and not counts.packed and not prefetch_rows
        bounded = slow and registers >= SCARCE_REGISTERS * left
        return WarpCandidate(
            NAME, tile, threads, layout.vector, self.places, features, time, fit, prefetch_rows, saved, single_wave,
            registers, bounded,
        )  # fmt: skip

    def _room(self, registers: float, warps: int, shared: int, blocks: int) -> tuple[int, int, bool] | None:
        """Return the blocks limited by registers, the blocks limited by any resource, and whether they are one wave.

        None where not even one fits.
        """
        machine = self.machine
        given = max(int(machine.calibration.least_registers), math.ceil(registers / 8) * 8)
        if given > self.most_registers or shared > machine.fast_bytes:
            return None
        fit = _blocks_with_registers(given, warps, machine)
        if fit == 0:
            return None
        resident = min(fit, max(1, machine.fast_bytes_per_core // shared)) if shared else fit
        # the blocks of a single wave are balanced if there is no room for more: those that move in early take what is
        # free
        per_core = -(-blocks // machine.cores)
        single_wave = machine.kernels_overlap and per_core <= resident <= MOST_ROOM * per_core
        if (
            single_wave
            and _blocks_with_registers(_registers_left(per_core, warps, machine), warps, machine) == per_core
        ):
            return per_core, per_core, True
        return fit, resident, False

    def _features(
        self, counts: Counts, layout: WarpLayout, blocks: int, resident: int, of_lane: tuple[float, float, float]
    ) -> WarpFeatures:
        """Return the features of a kernel. `of_lane`: instructions, code size, and the share of border blocks."""
        warps, pitch = layout.warps, layout.pitch
        instructions, code, at_border = of_lane
        own = layout.width * layout.height / warps  # output points of a warp
        traffic: dict[int, tuple[float, float]] = {}  # per input: bytes of its own points, and of others
        for source in counts.sources:
            # rows that several warps of a block load come from memory once
            rows = (warps * pitch + source.beyond) / warps
            # an input read through several boundaries comes from memory once, and then from the first-level cache
            old = traffic.get(source.producer, (0.0, 0.0))
            more = max(0.0, LANES * layout.vector * rows - own)
            first = from_memory(own * source.deep, blocks * warps, source.needed) / source.deep
            # what others have loaded comes from the cache, as what lies beside a tile's own points
            again = more + own - first
            traffic[source.producer] = (max(old[0], first * source.bytes), max(old[1], again * source.bytes))
        tiles = blocks * warps
        scaled = sum(from_memory(own * s.points, tiles, s.needed) * s.bytes for s in counts.scaled if self.compares)
        own_bytes = own * counts.stored_bytes
        return WarpFeatures(
            blocks=blocks,
            at_border=at_border,
            warps=warps,
            resident_blocks=resident,
            instructions=instructions,
            code=code,
            exchanges=counts.exchanges,
            barriers=max(layout.rounds.values()) if any(p.level is Level.Block for p in self.places.values()) else 0,
            own_bytes=own_bytes + sum(mine for mine, _ in traffic.values()) + scaled,
            other_bytes=sum(others for _, others in traffic.values()),
            stored_bytes=own_bytes,
            loads=counts.loads,
            loaded_bytes=counts.in_flight.at(pitch),
            touched_bytes=counts.touched.at(pitch),
            stored_again=counts.stored_again.at(pitch),
            guarded=counts.guarded,
            row_bytes=LANES * counts.row_bytes,
            rows=warps * pitch,
            unpaired_columns=counts.unpaired_columns,
            unpaired_share=counts.unpaired_share,
        )
