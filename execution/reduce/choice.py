"""Candidate schedules of a reduction."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tilefuse.analysis.access import accesses, coordinates, outer_reads
from tilefuse.analysis.index import Index
from tilefuse.analysis.machine import Machine
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.execution.candidate import Candidate
from tilefuse.execution.facts import GroupFacts, UpdateWork
from tilefuse.execution.features import predict
from tilefuse.execution.reduce.attribute import ReduceSchedule
from tilefuse.execution.reduce.features import ReduceFeatures
from tilefuse.execution.reduce.folding import RANK
from tilefuse.lowering.update_body import elements_per_access, wide_reads

NAME = "reduce"
WARP_LANES = 32
MOST_SUMS = 32
"""Words of a thread's registers for what it has found."""
WARPS_PER_CORE = 24
"""Warps that a multiprocessor should have work for."""
SOME_WARPS = 8
"""Warps of a block."""
CPU_SUMS = 16
"""Sums side by side on a CPU: those of a few vectors."""
CPU_COLUMNS = 256
BYTES_AT_ONCE = 64
"""Bytes that a lane should have in flight."""
LEAST_ACCESS = 32
"""Bytes that memory gives at least."""


@dataclass(frozen=True)
class Reduction(Candidate):
    """A schedule of a reduction."""

    schedule: ReduceSchedule | None = None


def reduce_candidates(facts: GroupFacts, machine: Machine) -> Iterator[Reduction]:
    """Return the schedules of a legal group, by direction of lanes and number of blocks that share the domain."""
    work = facts.update_work
    for across in (False, True):
        if across and not work.pure:
            continue
        schedule = _of_gpu(facts, work, across, machine) if machine.is_gpu else _of_cpu(facts, work, across, machine)
        features = _features(facts, work, schedule, machine)
        yield Reduction(
            NAME, schedule.tile_sizes, schedule.thread_counts, schedule.vector_width, {}, features,
            predict(features, machine), schedule=schedule,
        )  # fmt: skip


def _vector(facts: GroupFacts, across: bool) -> int:
    """Return the elements of a lane's 16-byte load, limited so that their sums fit the registers."""
    op = facts.update.update
    wide = wide_reads(op, op.pure[0] if across else op.domain[0].coordinate)
    most = max((elements_per_access(r.source, 16) for r in wide), default=1)
    elements = [old.type.element for old in op.old_funcs if isinstance(old.type, FuncType)]
    words = sum(max(4, element_bytes(element)) // 4 for element in elements)
    words += 0 if facts.update.first_best is None else element_bytes(RANK) // 4
    words += int(not facts.update.commutes and facts.update.joined_tuple is not None)  # whether there is a value
    while most > 1 and most * words > MOST_SUMS:
        most //= 2
    return most


def _loaded_bytes(facts: GroupFacts) -> int:
    """Return the bytes per point of the narrowest function."""
    op = facts.update.update
    elements = [read.value.type for read in outer_reads(op)]
    return min(map(element_bytes, elements), default=4)


def _of_gpu(facts: GroupFacts, work: UpdateWork, across: bool, machine: Machine) -> ReduceSchedule:
    vector = _vector(facts, across)
    pure, domain = work.pure, work.domain
    wanted = machine.cores * WARPS_PER_CORE
    unroll = max(1, min(4, BYTES_AT_ONCE // (vector * _loaded_bytes(facts))))
    if across:
        while vector > 1 and WARP_LANES * vector > 2 * pure[0]:
            vector //= 2
        width = WARP_LANES * vector
        rows = math.prod((-(-pure[0] // width), *pure[1:]))
        share = max(1, min(-(-wanted // rows), -(-domain[-1] // 4)))
    else:
        rows = math.prod(pure)
        segment = max(1, min(8, domain[0] // (WARP_LANES * vector * unroll)))
        items = math.prod(domain[1:]) * -(-domain[0] // (WARP_LANES * vector * unroll * segment))
        share = max(1, min(-(-wanted // rows), items))
    # the domain of a row of the tile: to the warps of a block first, then to several blocks
    team = min(1 << (share - 1).bit_length(), SOME_WARPS)
    split = -(-share // team) if share > team else 1
    slots = SOME_WARPS // team if len(pure) > across else 1
    slots = min(slots, 1 << (max(1, pure[across]) - 1).bit_length()) if len(pure) > across else 1
    tile = [width, slots] if across else [slots]
    tile = (tile + [1] * len(pure))[: len(pure)]
    if across:
        return ReduceSchedule(
            tile=tile, threads=[WARP_LANES, team * slots], vector=vector, unroll=8, split=split, pure_lanes=1
        )
    return ReduceSchedule(
        tile=tile, threads=[WARP_LANES, team * slots], vector=vector, unroll=unroll, segment=segment, split=split
    )


def _of_cpu(facts: GroupFacts, work: UpdateWork, across: bool, machine: Machine) -> ReduceSchedule:
    pure, domain = work.pure, work.domain
    if across:
        width = min(CPU_COLUMNS, 1 << (max(1, pure[0]) - 1).bit_length())
        blocks = math.prod((-(-pure[0] // width), *pure[1:]))
        split = max(1, min(-(-4 * machine.cores // blocks), -(-domain[-1] // 16)))
        tile = [width, *[1] * (len(pure) - 1)]
        return ReduceSchedule(tile=tile, threads=[1, 1], vector=width, split=split, pure_lanes=1)
    # a better point is met seldom, so that a branch is cheaper than vectors of selects
    most, longest = (CPU_SUMS, 256) if facts.update.first_best is None else (1, 4096)
    sums = min(most, 1 << (max(1, domain[0]) - 1).bit_length())
    segment = max(1, min(longest, domain[0] // sums))
    items = math.prod(domain[1:]) * -(-domain[0] // (sums * segment))
    split = max(1, min(-(-4 * machine.cores // math.prod(pure)), items))
    return ReduceSchedule(tile=[1] * len(pure), threads=[1, 1], vector=sums, segment=segment, split=split)


def _features(facts: GroupFacts, work: UpdateWork, s: ReduceSchedule, machine: Machine) -> ReduceFeatures:
    tiles = math.prod(-(-n // size) for n, size in zip(work.pure, s.tile_sizes, strict=True))
    points = math.prod(work.pure) * work.steps
    bytes, scattered = _bytes(facts, work, s.pure_lanes)
    warps = tiles * s.split * s.warps
    # what lanes do side by side: fewer where tiles or rows are not filled
    covered = tiles * s.points * work.steps if s.pure_lanes else points * _filled(work.domain[0], s)
    each = work.instructions / points + 2.0
    if machine.is_gpu:
        each = (each - 3.0) + 3.0 / s.vector_width + scattered
    at_once = min(warps, machine.cores * machine.max_threads_per_core // WARP_LANES) * s.lanes
    per_thread = covered / max(1, warps * s.lanes)
    unroll = s.number("unroll")
    in_flight = s.vector_width * (min(unroll, per_thread / s.vector_width) if s.vector_width else 1)
    return ReduceFeatures(
        blocks=tiles * s.split,
        bytes=bytes,
        instructions=covered * each * (1.0 if s.lanes > 1 or s.vector_width > 1 else 4.0),
        bytes_at_once=at_once * max(1.0, in_flight) * bytes / points,
        rounds=per_thread / (s.vector_width * unroll),
        split=s.split,
    )


def _filled(extent: int, s: ReduceSchedule) -> float:
    """Return the points, per point of a domain row, that lanes have room for."""
    full, rest = divmod(extent, s.chunk)
    return (full * s.chunk + -(-rest // s.lanes) * s.lanes * 2) / extent


def _bytes(facts: GroupFacts, work: UpdateWork, across: bool) -> tuple[float, float]:
    """Return bytes to and from memory, and extra instructions per point, where lanes are not contiguous in memory."""
    op, nodes, node_of = facts.update.update, facts.model.nodes, facts.model.node_of
    own = op.pure[0] if across else op.domain[0].coordinate
    number = coordinates(op)[own]
    points = math.prod(work.pure) * work.steps
    total, scattered = 0.0, 0.0
    for read in accesses(op):
        assert isinstance(read.base.type, FuncType)
        if read.base in op.currents:
            continue
        node = nodes[node_of[read.base]]
        touched = math.prod(node.needed) if node.needed else points
        first = read.indices[0] if read.indices else None
        is_unit_stride = isinstance(first, Index) and first.var == number
        moves = any(not isinstance(i, Index) or i.var == number for i in read.indices)
        # a lane by itself takes a sector of memory, and the others of it later, if it still is in a cache
        is_strided = moves and not is_unit_stride
        total += min(points, touched) * (max(node.bytes, LEAST_ACCESS) if is_strided else node.bytes)
        scattered += WARP_LANES / 4 if is_strided else 0.0
    return total + math.prod(work.pure) * facts.ends_bytes, scattered
