"""Features of block-tiled schedules, for a picture of a given size.

A roofline, after the measured behaviour of stencil kernels: the larger of memory time and instruction time,
lengthened when too few threads are resident to hide latency, plus a launch. Recompute of overlapped tiles
multiplies instructions; neighbouring tiles find most of their overlapping loads in the L2 cache.
Terms and sources: docs/cost-model.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from xdsl.ir import SSAValue

from tilefuse.analysis.index import AnyIndex, GeneralIndex, Index
from tilefuse.analysis.machine import Machine
from tilefuse.analysis.model import Node, PipelineModel
from tilefuse.analysis.regions import Region, alignment, fixed_span, own_spans, regions
from tilefuse.dialects.img.attrs import BoundaryKind, Memory
from tilefuse.dialects.img.ops import StageOp
from tilefuse.execution.across import ACROSS_LOAD, across_cost, is_across
from tilefuse.execution.block_order import deep_dimensions, loaded_alike
from tilefuse.execution.block_tile.cached_inputs import CachedBox, cached_bytes, cached_inputs
from tilefuse.execution.block_tile.candidate import BlockCandidate
from tilefuse.execution.block_tile.features import USUAL_BLOCKS, BlockFeatures
from tilefuse.execution.block_tile.loads import INDEX_COST, PHASE_COST, Read, loads_of, times_of
from tilefuse.execution.block_tile.placement import follows_one_to_one, holds_planes, place_stages, shared_bytes
from tilefuse.execution.block_tile.registers import LiveValues, words
from tilefuse.execution.block_tile.steps_cost import of_step
from tilefuse.execution.block_tile.tile_candidates import tile_candidates
from tilefuse.execution.border_share import interior_share
from tilefuse.execution.candidate import Candidate, Placement
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.features import Roofline, predict
from tilefuse.execution.read_again import from_memory

NAME = "block_tile"

OVERLAP_MISS = 0.15
"""Share of the overlapping part of input tiles that comes from DRAM and not from a cache."""
PHASE_ROWS = 4
"""Rows of a stage in shared memory that a thread computes together."""
COPY_COST = 12.0
"""Instructions to copy an element that a block keeps to shared memory."""
ROUNDED = 4.0
"""Registers of a thread by which a compiler's count is rounded up, about."""
CAUTIOUS = 4.0
"""Registers more where all that a thread holds counts, or groups are compared."""
WRAPPING = (BoundaryKind.RepeatImage, BoundaryKind.MirrorImage, BoundaryKind.MirrorInterior)
"""Boundaries with a division in the coordinate of each load that is beyond."""
WRAPPED_COST = 4.0
"""Instructions of such a load. Without them the time of 20 tiles on an H100 that mostly lie beyond such boundaries is
1.25 times what the prediction makes of 133 others, with them 1.04; of 22 beyond the other boundaries it is 0.94."""
GATHERED = 3.0
"""Instructions of each lane for a read, on a CPU, whose points for a vector do not lie side by side: one that holds all
its coordinates inside of what it reads in every tile (`GeneralIndex`), one at `x / 2`. Each takes the place of one of
a whole vector."""


class TileTerms:
    """Cost terms shared by block-tile schedules of one group that have tiles or a thread's points in common."""

    def __init__(self, facts: GroupFacts, machine: Machine, thorough: bool):
        self.thorough = thorough
        """Whether schedules are compared, and not groups."""
        self.model, self.members, self.output, self.follow = facts.model, facts.members, facts.output, facts.follow
        self.stored = self.model.stored(self.members)
        output = facts.model.nodes[facts.output]
        self._needed, self._bounds = (output.needed or ()) if machine.is_gpu else (), facts.bounds
        self._regions: dict[tuple[int, ...], dict[int, Region]] = {}
        self._places: dict[tuple[int, ...], dict[int, Placement]] = {}
        self._loads: dict[tuple[int, ...], float] = {}
        self.update = facts.summed
        """The update whose terms are computed, if that is so."""
        self.steps = math.prod(facts.box[facts.rank - facts.domain :]) if facts.domain else 1
        """Steps of that update."""
        self._cached: dict[tuple[int, ...], dict[SSAValue, CachedBox]] = {}
        self._reads: dict[tuple[int, bool], list[Read]] = {}
        self._registers: dict[tuple[tuple[int, ...], tuple[int, ...], int], float] = {}
        self._is_gpu = machine.is_gpu
        compares = machine.is_gpu and not thorough and self.update is None
        wraps = compares and any(a.boundary in WRAPPING for id in self.members for a in self.model.nodes[id].hull)
        self.beyond = 1.0 - interior_share(facts) if wraps else 0.0
        """Share of the picture in tiles that meet a boundary, edges aside; 0 where tiles of one group are compared, as
        all have the same."""
        self.buffers = len({p for id in self.members for p in self.model.nodes[id].offsets} - set(self.members))
        """Number of functions that are loaded from global memory."""

    def regions(self, tile: Sequence[int]) -> dict[int, Region]:
        """Return the regions of each member that a tile needs."""
        key = tuple(tile)
        if key not in self._regions:
            self._regions[key] = regions(self.model, self.members, self.output, key, self.follow)
        return self._regions[key]

    def cached(self, tile: Sequence[int]) -> dict[SSAValue, CachedBox]:
        """Return the inputs of which a block may cache the points that all steps of a tile read."""
        key = tuple(tile)
        if key not in self._cached and self.update is not None:
            ops = {op: id for id in self.members if isinstance(op := self.model.nodes[id].op, StageOp)}
            self._cached[key] = cached_inputs(self.update, ops, self.regions(key), self.follow)
        return self._cached.get(key, {})

    def places(self, micro: Sequence[int]) -> dict[int, Placement]:
        """Return the places of members if each thread computes `micro` points."""
        key = tuple(micro)
        if key not in self._places:
            self._places[key] = place_stages(self.model, self.members, self.output, self.follow, self.regions(key))
        return self._places[key]

    def reads(self, id: int, deep: int) -> list[Read]:
        """Return the reads of a member of which a thread computes `deep` adjacent points beyond x and y.

        What is read alike at all of these is loaded once.
        """
        key = (id, deep > 1)
        if key not in self._reads:
            found: dict[tuple[int, tuple[int, int], bool], set[tuple[int, ...]]] = {}
            for a in self.model.nodes[id].accesses:
                alike = deep > 1 and all(isinstance(i, Index) and (i.var or 0) < 2 for i in a.indices)
                at = tuple(i.offset if isinstance(i, Index) else 0 for i in a.indices)
                times = times_of(a.indices) if self._is_gpu else (1, 1)  # on CPUs that is not measured yet
                found.setdefault((a.producer, times, alike), set()).add(at)
            self._reads[key] = [Read(p, tuple(sorted(at)), times, alike) for (p, times, alike), at in found.items()]
        return self._reads[key]

    def registers(self, tile: Sequence[int], threads: Sequence[int], micro: Sequence[int], live: float) -> float:
        """Estimate the registers of a thread that computes `micro` points together, from the values live at once.

        Where steps of updates are computed, all that it holds counts, and where groups of threads with several planes
        are compared, but for values of stages at multiples of its coordinates, which die early: by the others' lives,
        of which that estimate makes too few, more would be fused than pays.
        """
        lives = self.thorough or math.prod(micro[2:]) == 1 or self._holds_multiples(micro)
        if self.update is not None or not lives:
            return live + math.prod(micro) * self.model.nodes[self.output].bytes / 4 * 2 + CAUTIOUS
        rounds = tile[0] // threads[0] // micro[0] if self.thorough else 1
        key = (tuple(micro), tuple(tile[2:]), rounds)
        if key not in self._registers:
            region, of_thread, places = self.regions(tile), self.regions(micro), self.places(micro)
            own = {id for id, place in places.items() if place.memory is Memory.Register} | {self.output}
            found = LiveValues(stored=math.prod(micro) * words(self.model.nodes[self.output]))
            for id in self.members:
                node = self.model.nodes[id]
                if id in own:
                    found.add_own(node, of_thread[id].extents, own)
                else:
                    rank = len(region[id].extents)
                    planes = region[id].extents[2:] if holds_planes(node, region[id]) else (1,) * (rank - 2)
                    found.add_phase(node, (micro[0], PHASE_ROWS, *planes)[:rank], own)
            self._registers[key] = found.registers(len(micro), self.buffers, rounds)
        return self._registers[key] + (0.0 if self.thorough else CAUTIOUS)

    def _holds_multiples(self, micro: Sequence[int]) -> bool:
        """Whether a thread keeps stages at multiples of its coordinates in registers."""
        places = self.places(micro)
        return any(p.memory is Memory.Register and not follows_one_to_one(self.follow[id]) for id, p in places.items())

    def at_border(self, box: Sequence[int], tile: Sequence[int]) -> float:
        """Return the share of tiles at the edges of a picture, where a tile may reach beyond it.

        One that is as large as the picture does in a call for a smaller one: `extent` is an estimate, and nothing tells
        sizes but declared bounds. Dimensions that `extent` does not tell count so, too, with a point in each tile:
        tiles of them take longer than their instructions say.
        """
        inner = 1.0
        for d, (n, size) in enumerate(zip(box, tile, strict=True)):
            if n != size or self._bounds[d] is None:
                count = -(-n // size)
                inner *= max(0, count - 2) / count
        return 1.0 - inner

    def stored_points(self, id: int, tile: Sequence[int]) -> int:
        """Return the points of a member that a tile stores."""
        if id not in self.stored:
            return 0
        return math.prod(high - low + 1 for low, high in own_spans(self.model, id, self.follow[id], tile))

    def stored_bytes(self, tile: Sequence[int]) -> int:
        """Return the bytes that a tile stores."""
        return sum(self.stored_points(id, tile) * self.model.nodes[id].bytes for id in self.stored)

    def loaded_bytes(self, tile: Sequence[int], tiles: int) -> float:
        """Return the bytes that one of `tiles` loads from memory; most of the halo shared by neighbours hits a cache.

        So is what all tiles of a row, or all tiles, load alike of a function that is smaller than the picture, and what
        tiles behind one another do, which are begun one after the other.
        """
        key = tuple(tile)
        if key not in self._loads:
            region, inside = self.regions(key), set(self.members)
            loaded: dict[int, list[tuple[int, int]]] = {}
            for id in self.members:
                for p in self.model.nodes[id].offsets:
                    if p not in inside:
                        _note_load(self.model, loaded, id, p, region[id], key)
            bytes = 0.0
            deep = deep_dimensions(self._bounds, tile)
            behind = math.prod(-(-self._needed[d] // tile[d]) for d in deep) if self._needed else 1
            alike = loaded_alike(self.model, self.follow, deep) if behind > 1 else ()
            for p, spans in loaded.items():
                fresh = math.prod(max(1.0, s[1]) for s in spans)
                touched = float(math.prod(max(1, s[0]) for s in spans))
                fresh = from_memory(fresh, tiles, self.model.nodes[p].needed)
                if p in alike:
                    fresh, touched = fresh / behind, touched / behind
                bytes += (fresh + (touched - fresh) * OVERLAP_MISS) * self.model.nodes[p].bytes
            self._loads[key] = bytes
        return self._loads[key]


def _candidate(
    of: TileTerms,
    machine: Machine,
    box: Sequence[int],
    tile: Sequence[int],
    threads: Sequence[int],
    vector: int,
    caches_inputs: bool = False,
) -> Candidate | None:
    """Return one schedule with its cost; None if it does not fit the machine, or has nothing to cache."""
    micro = [min(vector, tile[0]) if d == 0 else t // n for d, (t, n) in enumerate(zip(tile, threads))]
    piece = micro[0] if machine.is_gpu and micro else 1
    # a CPU computes what stays in registers anew for each point; a GPU's rounds are written out and share it
    places = of.places(micro if machine.is_gpu else [1] * len(tile))
    shared = shared_bytes(of.model, places, of.regions(tile), dict.fromkeys(places, piece))
    cached = of.cached(tile) if caches_inputs else {}
    shared += sum(cached_bytes(source, kept) for source, kept in cached.items())
    if shared > (machine.most_fast_bytes if cached else machine.fast_bytes) or (caches_inputs and not cached):
        return None
    blocks = math.prod(-(-n // t) for n, t in zip(box, tile, strict=True))
    if of.update is None:
        instructions, live, passes = _of_tile(of, machine, tile, threads, micro)
    else:
        passes = 0.0
        instructions, live = of_step(of, tile, threads, micro, {of.model.node_of[source] for source in cached})
    bytes = of.stored_bytes(tile) + of.loaded_bytes(tile, blocks)
    written_out = instructions / math.prod(threads)
    if of.update is not None:
        # a block computes all steps of its tile, one after the other
        blocks, bytes, instructions = blocks // of.steps, bytes * of.steps, instructions * of.steps
        instructions += sum(kept.elements for kept in cached.values()) * COPY_COST
    if machine.is_gpu:
        count, registers = math.prod(threads), of.registers(tile, threads, micro, live)
        resident = _resident_threads(machine, count, blocks, shared, registers)
        counts = of.thorough and of.update is None
        found = BlockFeatures(
            blocks=blocks, bytes=bytes, instructions=instructions, passes=passes, resident_threads=resident,
            resident_blocks=max(resident, 1) / count if counts else USUAL_BLOCKS, one_by_one=piece == 1,
            written_out=written_out, steps=of.steps, thread_rows=math.prod(micro[1:2]) if of.update is None else 1,
            stored_alone=0.0 if of.buffers else of.stored_bytes(tile) / count,
        )  # fmt: skip
    else:
        at_border = of.at_border(box, tile)
        found = BlockFeatures(blocks=blocks, bytes=bytes, instructions=instructions, at_border=at_border)
    microseconds = predict(found, machine)
    return BlockCandidate(
        NAME, tuple(tile), tuple(threads), vector, places, found, microseconds, caches_inputs=caches_inputs
    )


def _resident_threads(machine: Machine, count: int, blocks: int, shared: int, registers: float) -> int:
    """Return the resident threads of a multiprocessor, in blocks of `count`."""
    return min(
        machine.max_threads_per_core,
        count * (machine.fast_bytes_per_core // max(shared + 1024, 1)),
        int(machine.registers_per_core // min(registers + ROUNDED, 255)) // count * count,
        count * 32,
        count * -(-blocks // machine.cores),
    )


def _of_tile(
    of: TileTerms,
    machine: Machine,
    tile: Sequence[int],
    threads: Sequence[int],
    micro: Sequence[int],
) -> tuple[float, float, float]:
    """Return (instructions of all threads, registers of one beside the output's, bank passes) of a tile."""
    model, output, inside = of.model, of.output, set(of.members)
    piece = micro[0] if machine.is_gpu and micro else 1
    together = micro if machine.is_gpu else [1] * len(tile)
    region, micro_regions, places = of.regions(tile), of.regions(together), of.places(together)
    instructions, registers, most_ahead, passes = 0.0, 24.0, 0, 0.0
    for id in of.members:
        node = model.nodes[id]
        place = places.get(id)
        in_registers = id != output and place is not None and place.memory is Memory.Register
        if id == output:
            points, rows = float(math.prod(tile)), micro
        elif in_registers:
            points = micro_regions[id].points * (math.prod(tile) / math.prod(together))
            rows = micro
            registers += micro_regions[id].points * node.bytes / 4
        else:
            points, rows = float(region[id].points), [1, PHASE_ROWS]
            instructions += PHASE_COST * math.prod(threads) if machine.is_gpu else 0
            instructions += points * ((1.0 + 2.0 / micro[0]) if machine.is_gpu else 0.5)
        of_thread = micro_regions[id] if place is None or in_registers else region[id]
        in_shared = place is not None and not in_registers
        planes_differ = not machine.is_gpu or (in_shared and not holds_planes(node, region[id]))
        deep = 1 if planes_differ else math.prod(of_thread.extents[2:])
        per_point, ahead = node.instructions - node.shared_instructions * (deep - 1) / deep, 0
        together_rows = rows[1] if len(rows) > 1 else 1
        for read in of.reads(id, deep):
            p = read.producer
            if p not in inside or places[p].memory is not Memory.Register:
                found = loads_of(node, read, piece, together_rows, deep, model.nodes[p].element_bytes[0])
                per_point += found.loads * (1 + INDEX_COST)
                passes += points * found.passes if p in inside else 0
                ahead += found.values if id == output or in_registers else 0
        # what another stage has loaded is gone by then
        most_ahead = max(most_ahead, ahead)
        if not machine.is_gpu:
            per_point += _gathers(node) * GATHERED * machine.vector_bytes / 4
            per_point += across_cost(node, inside, tile[0])
        else:
            loaded = [a for a in node.accesses if a.producer not in inside]
            per_point += ACROSS_LOAD * sum(map(is_across, loaded))
            per_point += WRAPPED_COST * of.beyond * sum(a.boundary in WRAPPING for a in loaded)
        instructions += points * per_point
        if kept := of.stored_points(id, tile):
            instructions += kept * (1 + INDEX_COST) / piece
            # what is in shared memory is loaded from there
            instructions += kept if id != output and not in_registers else 0
    return instructions, registers + most_ahead, passes


def _gathers(node: Node) -> int:
    """Return the reads of a stage at a place of each lane's own, or of its neighbour's, as at `x / 2`."""
    return sum(any(map(_is_gathered, access.indices)) for access in node.accesses)


def _is_gathered(index: AnyIndex) -> bool:
    return isinstance(index, GeneralIndex) or (isinstance(index, Index) and index.var == 0 and index.den != 1)


def _note_load(
    model: PipelineModel,
    loaded: dict[int, list[tuple[int, int]]],
    consumer: int,
    producer: int,
    region: Region,
    tile: Sequence[int],
) -> None:
    """Record, per dimension, (coordinates that a tile touches, coordinates that no other tile touches)."""
    spans: list[list[int]] = []
    for access in model.nodes[consumer].hull:
        if access.producer != producer:
            continue
        for d, index in enumerate(access.indices):
            low, high = index.span(region.spans) if isinstance(index, Index) else (0, 0)
            if len(spans) <= d:
                fresh = 1
                if isinstance(index, Index) and index.var is not None:
                    via = region.follow[index.var]
                    if via.dim is not None:
                        ratio = via.ratio
                        fresh = tile[via.dim] * abs(index.num * ratio.numerator) // (index.den * ratio.denominator) or 1
                spans.append([low, high, fresh])
            else:
                spans[d][0] = min(spans[d][0], low)
                spans[d][1] = max(spans[d][1], high)
    sizes = [
        (high - low + 1, min(fresh, high - low + 1) if fresh > 1 else high - low + 1) for low, high, fresh in spans
    ]
    old = loaded.get(producer)
    loaded[producer] = (
        sizes if old is None else [(max(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, sizes, strict=True)]
    )


def _with_fixed_dimensions(
    model: PipelineModel, output: int, tile: Sequence[int], threads: Sequence[int], vector: int
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Extend a candidate to cover each small declared dimension wholly, in one thread."""
    sizes, counts = list(tile), list(threads)
    for d in range(len(sizes)):
        fixed = fixed_span(model, output, d)
        if fixed is not None:
            sizes[d], counts[d] = fixed[1] - fixed[0] + 1, 1
            vector = vector if d else 1
    return tuple(sizes), tuple(counts), vector


def block_candidates(facts: GroupFacts, machine: Machine, thorough: bool) -> Iterator[Candidate]:
    """Return the block-tile schedules worth comparing, with their cost. Raises NotFusable for an illegal group."""
    if not facts.rank:
        found = Roofline(blocks=1, bytes=0.0, instructions=0.0)
        yield Candidate(NAME, (), (), 1, {}, found, predict(found, machine))
        return
    model, output = facts.model, facts.output
    align = alignment(facts.follow, facts.rank)
    tiles = TileTerms(facts, machine, thorough)
    # of the domain of an update a tile has one point after the other
    steps = (1,) * facts.domain
    for tile, threads, vector in tile_candidates(facts, machine, thorough, loads=tiles.buffers > 0):
        tile, threads = (*tile, *steps), (*threads, *steps)
        tile, threads, vector = _with_fixed_dimensions(model, output, tile, threads, vector)
        if any(t % a for t, a in zip(tile, align, strict=True)):
            continue
        for caches_inputs in (False, True) if steps else (False,):
            candidate = _candidate(tiles, machine, facts.box, tile, threads, vector, caches_inputs)
            if candidate is not None:
                yield candidate
