"""Candidate strips and their features, with the rows that adjacent strips both compute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tilefuse.analysis.index import AnyIndex, GeneralIndex, Index
from tilefuse.analysis.machine import Machine
from tilefuse.analysis.regions import fixed_span
from tilefuse.dialects.img.attrs import Level, Memory
from tilefuse.dialects.img.copies import copied_read
from tilefuse.dialects.img.ops import StageOp
from tilefuse.execution.across import ACROSS_HEIGHT, ACROSS_WIDTH, across_cost, reads_across
from tilefuse.execution.candidate import Candidate, Placement
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.features import predict
from tilefuse.execution.row_strip.features import FEW, StripFeatures
from tilefuse.execution.row_strip.loops import loads, loops
from tilefuse.execution.row_strip.planes import instructions_of_plane, outer_planes, planes_at_once
from tilefuse.execution.row_strip.rows import StageRows, rolling_rows

NAME = "row_strip"

WIDTHS = (256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
HEIGHTS = (32, 64, 128, 256, 512)
ROUNDS = tuple(range(1, FEW + 1))
"""Strips of each core, of such heights that all cores have as many."""
EQUAL = 1.2
"""Main memory's time over that of the arithmetic from which on few strips are given out at once, if all pictures stay
in the cores' second caches: each call then finds there what the last one left. Else slower cores would be waited for.
"""
HEIGHT_MULTIPLE = 8
"""Heights are multiples of this, so that tiles begin where stages of other scales have a row."""
ROW_COST = 12.0
"""Vectors to begin a row of a stage, the one included that is computed again at its end."""
SHARED_ROW_COST = 19.0
"""Vectors to begin a row that is computed with others: their loop needs the addresses of all."""
STORE_WAIT = 100.0
"""Vectors that could be computed while a loop waits for the stores of the one before it, which it reads: in small
pictures, whose rows are short."""
WIDE = 512
"""Columns from which on strips may compute more rows than `OF_SEVERAL` in one loop: a short loop of many rows takes
as long as its stores wait, which the loop after it reads."""
OF_SEVERAL = 4
"""Rows in a loop over several stages, at most: registers hold no more."""
POINTERS = 14
"""Rows that a loop may load or store with the address of each in a register; x86-64 has 16, one is of the column."""
POINTER_COST = 2.5
"""Instructions, for each vector, of the address of each other row."""
LATE_BYTES = 4096
"""Bytes at the start of a row of an input or output that are fetched late, if strips are narrower than the picture:
the row before ends elsewhere, so the address translation of the page is missing. A page, if rows lie two or more pages
apart: then the hardware fetches the rest of a page after a short row in vain, which costs as much."""
LATE_COST = 0.65
"""Instructions that could be done while such a byte is waited for."""
BESIDE_COST = 1.0
"""Instructions that could be done while such a byte of a row is waited for which is computed beside the row before it,
and so does not follow it in time; strips of the picture's width have no others."""
STREAM_CORES = 8
"""Fewer cores do not use all of the memory's bandwidth, and wait for stores past the caches longer than for others."""
HALO_MISS = 0.3
"""Share of the columns that two strips read which comes from main memory twice."""


class SeveralRows(NamedTuple):
    """Constants of loops over several rows, for a number of vector registers."""

    counts: tuple[int, ...]
    """Rows of the output in one loop that are compared: boxes of 3x3 points take 0.6 of the time of one row with four,
    0.54 with six, for which 16 registers are too few."""
    shared_loads: float
    """Share of the loads of one row that several in one loop must be left, at most, for them to be compared."""
    longest: float
    """Instructions of a loop over several rows, of all rows, at most: of longer ones compilers keep most values in
    memory."""
    few_cores_share: float
    """Share of the time of main memory for one row that it takes for several in one loop, if the memory waits for few
    cores: they then load from more places at a time."""


SEVERAL_ROWS = {
    16: SeveralRows(counts=(1, 2, 4), shared_loads=0.76, longest=256.0, few_cores_share=0.8),
    32: SeveralRows(counts=(1, 4, 6), shared_loads=0.73, longest=math.inf, few_cores_share=1.0),
}
"""By vector registers."""


def strip_candidates(facts: GroupFacts, machine: Machine) -> Sequence[Candidate]:
    """Return the strips worth comparing, with their cost. Raises NotFusable for an illegal group.

    What one thread is to compute is one strip, of which nothing is computed twice.
    """
    deep = [fixed_span(facts.model, facts.output, d) for d in range(2, facts.rank)]
    planes = [1 if span is None else span[1] - span[0] + 1 for span in deep]
    counts = [
        rows
        for rows in (rolling_rows(facts, planes, n) for n in _several_rows(machine).counts)
        if rows[facts.output].rows_per_loop <= OF_SEVERAL or all(len(ids) == 1 for ids in _loops(facts, rows))
    ]
    ways = counts if _shares_rows(facts, counts, machine) else counts[:1]
    narrow = [ACROSS_WIDTH] if any(reads_across(facts.model.nodes[id], facts.members) for id in facts.members) else []
    alone = (
        [c for rows in ways for c in _candidates(facts, machine, planes, rows, _single(facts))] if not narrow else []
    )
    return [c for c in alone if _is_little(facts, c, machine)] or [
        c for rows in ways for c in _candidates(facts, machine, planes, rows, _several(facts, machine, narrow))
    ]


def _several_rows(machine: Machine) -> SeveralRows:
    """Return the constants of loops over several rows on a machine."""
    return SEVERAL_ROWS[32 if machine.vector_registers >= 32 else 16]


def _single(facts: GroupFacts) -> Iterator[tuple[int, int]]:
    """Return the columns and rows of a strip that has all points, with the halo that readers need.

    Rows are a power of two, so that stages alike get the same.
    """
    columns, rows = (max(needed, n) for needed, n in zip(_needed(facts)[:2], facts.box[:2], strict=True))
    yield next((w for w in WIDTHS if w >= columns), columns), max(HEIGHT_MULTIPLE, 1 << (rows - 1).bit_length())


def _needed(facts: GroupFacts) -> tuple[int, ...]:
    return facts.model.nodes[facts.output].needed or facts.box


def _several(facts: GroupFacts, machine: Machine, narrow: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return the columns and rows of strips that several threads compute."""
    columns, height = facts.box[0], facts.box[1]
    for width in (*narrow, *_widths(columns)):
        for tall in _heights(height, -(-columns // width), machine.cores):
            if width not in narrow or tall >= min(height, ACROSS_HEIGHT):
                yield width, tall


def _is_little(facts: GroupFacts, candidate: Candidate, machine: Machine) -> bool:
    """Whether the only strip of a kernel, with all planes that are needed, is left to one thread."""
    assert isinstance(candidate.features, StripFeatures)
    if not machine.leaves_to_one_thread(facts.extent):
        return False
    return candidate.features.blocks * candidate.features.instructions <= machine.alone_instructions


def _candidates(
    facts: GroupFacts,
    machine: Machine,
    planes: Sequence[int],
    rows: dict[int, StageRows],
    sizes: Iterable[tuple[int, int]],
) -> Iterator[Candidate]:
    places = {id: Placement(Level.Block, Memory.Shared) for id in facts.members if id != facts.output}
    streaming_stores = streams_output(facts, machine)
    by_planes = takes_outer_planes(facts, rows)
    rows_per_loop, each = rows[facts.output].rows_per_loop, _loop_costs(facts, rows)
    if rows_per_loop > 1 and rows_per_loop * max(cost for _, cost in each) > _several_rows(machine).longest:
        return
    for width, tall in sizes:
        kept = kept_bytes(facts, rows, width, math.prod(planes) if by_planes else 1)
        if kept > machine.fast_bytes or (rows_per_loop > OF_SEVERAL and width < min(WIDE, facts.box[0])):
            continue
        tile = (width, tall, *planes)
        found = _features(facts, rows, each, tile, machine)
        few = _several_rows(machine).few_cores_share if rows_per_loop > 1 and machine.cores < STREAM_CORES else 1.0
        found = replace(found, kept_bytes=kept, memory_share=few)
        is_static = is_static_better(found, machine)
        found = replace(
            found, streaming_stores=streaming_stores, is_static=is_static, vector_bytes=machine.vector_bytes,
            by_planes=by_planes,
        )  # fmt: skip
        yield Candidate(NAME, tile, (1,) * len(tile), rows_per_loop, places, found, predict(found, machine))


def takes_outer_planes(facts: GroupFacts, rows: dict[int, StageRows]) -> bool:
    """Whether the loop over planes is outside of the rows': where planes share nothing, fewer rows are kept so."""
    shares = any(planes_at_once(facts.model.nodes[id], r) for id, r in rows.items())
    return not shares and not isinstance(outer_planes(facts), str)


def is_static_better(found: StripFeatures, machine: Machine) -> bool:
    """Whether a static distribution of strips pays, so that each thread finds its last strips in the cache."""
    memory, compute = found.times(machine)
    second_caches = 2 * machine.fast_bytes * machine.cores
    return found.is_balanced(machine) and found.bytes <= second_caches and memory >= EQUAL * compute


def streams_output(facts: GroupFacts, machine: Machine) -> bool:
    """Whether the output goes past the caches: it and the inputs, as far as they are read, do not stay in the last
    until a kernel of the call, or else the next call, reads them."""
    in_call = not facts.model.nodes[facts.output].is_returned
    return machine.cores >= STREAM_CORES and not machine.keeps(facts.picture_bytes, in_call=in_call)


def _shares_rows(facts: GroupFacts, counts: Sequence[dict[int, StageRows]], machine: Machine) -> bool:
    """Whether rows of a stage are worth computing together: they share loads, and match the output's in number."""
    if any(follow[1].ratio != 1 for follow in facts.follow.values()):
        return False
    single, *more = (
        sum(_loads_of(facts, rows, ids) for ids in _loops(facts, rows) if not _is_copy(facts, ids)) for rows in counts
    )
    return min(more, default=single) <= _several_rows(machine).shared_loads * single


def _is_copy(facts: GroupFacts, ids: Sequence[int]) -> bool:
    """Whether a loop only copies a function: its rows have no loads to share."""
    stages = [facts.model.nodes[id].op for id in ids]
    return all(isinstance(stage, StageOp) and copied_read(stage) is not None for stage in stages)


def _loops(facts: GroupFacts, rows: dict[int, StageRows]) -> list[tuple[int, ...]]:
    return loops(facts.model, rows, facts.output)


def _loads_of(facts: GroupFacts, rows: dict[int, StageRows], ids: Sequence[int]) -> float:
    """Count the loads per point of stages in one loop."""
    return loads(facts.model.nodes, ids, rows[ids[0]].rows_per_loop)


def _addresses_of(facts: GroupFacts, rows: dict[int, StageRows], ids: Sequence[int]) -> float:
    """Estimate the instructions per point, of stages in one loop, for row addresses that are not in registers."""
    rows_per_loop, nodes = rows[ids[0]].rows_per_loop, facts.model.nodes
    loaded = {
        (producer, row + (o[1] if len(o) > 1 else 0), o[2:])
        for id in ids
        for producer, offsets in nodes[id].offsets.items()
        for o in offsets
        for row in range(rows_per_loop)
    }
    return POINTER_COST * max(0, len(loaded) + rows_per_loop * len(ids) - POINTERS) / rows_per_loop


def _widths(columns: int) -> Iterator[int]:
    """Yield columns of a strip: less than the picture's, and the first that are no less."""
    for width in WIDTHS:
        yield width
        if width >= columns:
            return


def _heights(rows: int, across: int, cores: int) -> Iterator[int]:
    """Return strip heights, for `across` strips per row: with equally many strips per core, or many low strips."""
    below = [max(1, n * cores // across) for n in ROUNDS]
    balanced = {-(-rows // (n * HEIGHT_MULTIPLE)) * HEIGHT_MULTIPLE for n in below}
    yield from sorted(balanced)
    for tall in HEIGHTS:
        if tall not in balanced and across * -(-rows // tall) > ROUNDS[-1] * cores:
            yield tall


def kept_bytes(facts: GroupFacts, rows: dict[int, StageRows], width: int, planes: int = 1) -> float:
    """Return the bytes of the rows that stages keep, and of input rows that are read again.

    `planes`: of the output, if one comes after the other.
    """
    nodes = facts.model.nodes
    total = sum(float(r.elements(width) * nodes[id].bytes) / planes for id, r in rows.items())
    tall: dict[int, int] = {}
    for id in facts.members:
        for producer, offsets in nodes[id].offsets.items():
            if producer not in rows:
                ys = [o[1] for o in offsets if len(o) > 1]
                tall[producer] = max(tall.get(producer, 1), max(ys, default=0) - min(ys, default=0) + 1)
    return total + sum(n * width * nodes[p].bytes for p, n in tall.items())


def _loop_costs(facts: GroupFacts, rows: dict[int, StageRows]) -> list[tuple[tuple[int, ...], float]]:
    """Return the stages and instructions per point of each loop; reads across rows cost extra."""
    nodes, found = facts.model.nodes, []
    for ids in _loops(facts, rows):
        r = rows[ids[0]]
        each = sum(
            instructions_of_plane(node, r) * node.share_of_rows(r.rows_per_loop) + node.values
            for node in (nodes[id] for id in ids)
        )
        found.append((ids, each + _loads_of(facts, rows, ids) + _addresses_of(facts, rows, ids)))
    return found


def _features(
    facts: GroupFacts,
    rows: dict[int, StageRows],
    costs: Sequence[tuple[tuple[int, ...], float]],
    tile: tuple[int, ...],
    machine: Machine,
) -> StripFeatures:
    nodes, rows_per_loop, vector_bytes = facts.model.nodes, rows[facts.output].rows_per_loop, machine.vector_bytes
    row_cost = (ROW_COST if rows_per_loop == 1 else SHARED_ROW_COST) * vector_bytes
    wait = 0.0
    width, tall = min(tile[0], facts.box[0]), min(tile[1], facts.box[1])
    blocks = math.prod(-(-n // t) for n, t in zip(facts.box, tile, strict=True))
    if all(size >= n for size, n in zip(tile, _needed(facts)[:2], strict=False)) and blocks == 1:
        # what the only strip computes around its points is needed, whatever else is in the kernel
        wait = STORE_WAIT * vector_bytes
        rows = {id: replace(r, columns=(0, 0), first=r.last, spare=0) for id, r in rows.items()}
    instructions = 0.0
    for ids, each in costs:
        r, across = rows[ids[0]], sum(across_cost(nodes[id], facts.members, width) for id in ids)
        row = r.pitch(width) * (each + across) + row_cost / nodes[ids[0]].bytes
        if any(producer in rows for id in ids for producer in nodes[id].offsets):
            row = max(row, wait / nodes[ids[0]].bytes / r.rows_per_loop)
        instructions += _computed(r, tall) * row
    late = LATE_COST if width < facts.box[0] else BESIDE_COST * (rows_per_loop - 1) / rows_per_loop
    if late:
        instructions += late * sum(_late_bytes(facts, rows, width, tall))
    bytes = _memory_bytes(facts, rows, machine, width, tall)
    return StripFeatures(
        blocks=blocks, bytes=bytes, instructions=instructions, kept_bytes=0.0, rows_per_loop=rows_per_loop
    )


def _computed(rows: StageRows, tall: int) -> float:
    """Return the rows of a stage, in all planes, that a strip of a given height computes."""
    return (tall + rows.lead * rows.rows_per_loop) * rows.row_steps / rows.rows_per_loop * rows.planes


def _late_bytes(facts: GroupFacts, rows: dict[int, StageRows], width: int, tall: int) -> Iterator[float]:
    """Yield bytes of a strip that are waited for, of each plane that it reads and of the planes that it writes."""
    nodes, output, columns = facts.model.nodes, rows[facts.output], facts.box[0]
    yield tall * output.planes * _late(nodes[facts.output].bytes, width, columns)
    for id, r in rows.items():
        for producer, offsets in nodes[id].offsets.items():
            if producer not in rows:
                planes = len({o[2:] for o in offsets})
                yield _computed(r, tall) * planes * _late(nodes[producer].bytes, width, columns)


def _late(bytes: int, width: int, columns: int) -> float:
    """Return bytes of one row of a strip that are waited for, or fetched ahead for nothing."""
    row = bytes * width
    far_rows = bytes * columns >= 2 * LATE_BYTES and width > ACROSS_WIDTH
    return float(min(max(row, LATE_BYTES - 2 * row if far_rows else 0), LATE_BYTES))


def _inputs(facts: GroupFacts, rows: dict[int, StageRows]) -> set[int]:
    return {p for id in facts.members for p in facts.model.nodes[id].offsets if p not in rows}


def _memory_bytes(facts: GroupFacts, rows: dict[int, StageRows], machine: Machine, width: int, tall: int) -> float:
    """Return the bytes from and to main memory of all strips: the output's, and of each function its points once, or
    once for each plane of the output if the last cache does not keep what one plane needs."""
    nodes, planes = facts.model.nodes, _planes(facts)
    stored = float(math.prod(facts.box) * nodes[facts.output].bytes)
    read = {p: _read(facts, rows, p) * nodes[p].bytes for p in _inputs(facts, rows)}
    if planes == 1 or machine.keeps((stored + sum(read.values())) / planes, in_call=True):
        read = {p: min(n, float(math.prod(nodes[p].needed or facts.box) * nodes[p].bytes)) for p, n in read.items()}
    return stored + sum(n * (1.0 + _read_twice(facts, rows, p, width, tall)) for p, n in read.items())


def _planes(facts: GroupFacts) -> int:
    """Return the number of planes of the output that different strips compute."""
    return math.prod(n for d, n in enumerate(facts.box) if d > 1 and fixed_span(facts.model, facts.output, d) is None)


def _read_twice(facts: GroupFacts, rows: dict[int, StageRows], producer: int, width: int, tall: int) -> float:
    """Return the share of a function's points that two strips load from main memory."""
    x_halo = y_halo = 0
    for id, r in rows.items():
        for access in facts.model.nodes[id].hull:
            if access.producer == producer and len(access.indices) > 1:
                x, y = (_offset(index, r) for index in access.indices[:2])
                if x is not None and y is not None:
                    x_halo = max(x_halo, r.columns[1] - r.columns[0] + x)
                    y_halo = max(y_halo, r.lead * r.rows_per_loop + y)
    return HALO_MISS * (x_halo / width + y_halo / tall)


def _offset(index: AnyIndex, rows: StageRows) -> int | None:
    """Return the largest offset of an index from the column or row of the strip; None for a data-dependent one."""
    if isinstance(index, Index):
        return abs(index.offset)
    if not isinstance(index, GeneralIndex) or not index.terms:
        return None
    deep = ((factor, rows.deep[var - 2]) for var, factor in index.terms if var >= 2)
    return abs(index.offset) + sum(abs(factor) * max(abs(low), abs(high)) for factor, (low, high) in deep)


def _read(facts: GroupFacts, rows: dict[int, StageRows], producer: int) -> float:
    """Bound the points of a function that all strips read: each reads few of many planes."""
    read: dict[tuple[AnyIndex, ...], float] = {}
    for id, r in rows.items():
        places = [a.indices for a in facts.model.nodes[id].hull if a.producer == producer]
        each = len(facts.model.nodes[id].offsets.get(producer, ())) / max(1, len({at[2:] for at in places}))
        for at in places:
            steps = [float(abs(i.ratio)) if isinstance(i, Index) else 1.0 for i in at[:2]]
            points = r.planes * r.column_steps * r.row_steps / r.rows_per_loop * math.prod(steps)
            read[at[2:]] = max(read.get(at[2:], 0.0), points * _chosen_planes(facts, producer, at, each))
    return sum(read.values()) * _planes(facts) * math.prod(facts.box[:2])


def _chosen_planes(facts: GroupFacts, producer: int, at: Sequence[AnyIndex], reads: float) -> float:
    """Count the planes that `reads` accesses of data-dependent planes read: at most the planes of the function."""
    needed = facts.model.nodes[producer].needed
    chosen = [d for d in range(2, len(at)) if isinstance(i := at[d], GeneralIndex) and i.data_dependent]
    return min(max(1.0, reads), math.prod(float(needed[d]) for d in chosen)) if needed and chosen else 1.0
