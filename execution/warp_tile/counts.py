"""Instructions, loads and registers of a warp, as linear functions of its rows.

A layout is tried with many numbers of rows and warps. All that is counted here grows evenly with the rows of a warp,
so it is summed over the stages once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tilefuse.analysis.calibration import Calibration
from tilefuse.analysis.index import GeneralIndex, Index
from tilefuse.analysis.model import Access, PipelineModel
from tilefuse.analysis.points import Extents
from tilefuse.execution.across import ACROSS_LOAD, is_across
from tilefuse.execution.warp_tile.footprints import WORD_BYTES, Footprint
from tilefuse.execution.warp_tile.layout import (
    WarpLayout,
    exchange_bytes,
    stored_at_once,
)
from tilefuse.execution.warp_tile.pair_costs import pair_instructions
from tilefuse.execution.warp_tile.subwords import best_pair_stride, gain_beside, gain_in_memory

HIDDEN_GATHERED_LOADS = 16
"""Loads for a point of a stage in x and y, each of a place of its own, that hide behind others. Each further one takes
as long as one across rows."""
SECTOR_COST = 0.8
"""Instructions in the time of a load of a place of its own near the point, for each column between neighbouring lanes'
points: these are in as many more sectors."""
FEW_STAGES = 2
"""Stages of a group up to which what it loads and stores, element by element, counts in full beside its arithmetic; of
more stages it is as many times less."""
LONG_GROUP = 16
"""Stages of a group beyond which it is a chain, whose steps follow one another."""


@dataclass
class LinearInRows:
    """A quantity linear in the rows of a warp."""

    fixed: float = 0.0
    each: float = 0.0
    """Value per own row of the warp."""

    def add(self, beyond: int, each: float) -> None:
        """Add `each` for every own row, and for `beyond` further rows."""
        self.fixed += beyond * each
        self.each += each

    def join(self, other: LinearInRows) -> None:
        """Add another quantity."""
        self.fixed += other.fixed
        self.each += other.each

    def at(self, pitch: int) -> float:
        """Evaluate the quantity for a number of own rows."""
        return self.fixed + pitch * self.each


@dataclass(frozen=True)
class Loaded:
    """The way in which an input is loaded."""

    producer: int
    bytes: int
    """Per point in x and y."""
    deep: int
    """Points of a lane for each in x and y, of which `bytes` are all."""
    beyond: int
    """Rows beside a warp's own."""
    needed: Extents | None
    """Points per dimension that the whole picture needs of it."""


@dataclass(frozen=True)
class Scaled:
    """Points of a function that are read from memory at multiples of the coordinates."""

    points: float
    """For each point of a lane in x and y."""
    bytes: int
    """Per point of the function."""
    needed: Extents | None
    """Points per dimension that the whole picture needs of it."""


@dataclass
class Counts:
    """Counts of a group in one layout, per lane unless stated otherwise; see `count`."""

    instructions: LinearInRows = field(default_factory=lambda: LinearInRows(40.0))  # finding the tile
    again: LinearInRows = field(default_factory=LinearInRows)
    """Instructions of stages like one before."""
    loads: bool = False
    """Whether anything is loaded."""
    in_flight: LinearInRows = field(default_factory=LinearInRows)
    """Bytes loaded into tiles."""
    touched: LinearInRows = field(default_factory=LinearInRows)
    """Bytes loaded into tiles, as often as accesses touch their lines."""
    stored_again: LinearInRows = field(default_factory=LinearInRows)
    """Bytes of lines that a store touches after another one of the same row."""
    registers_loaded: LinearInRows = field(default_factory=LinearInRows)
    sources: list[Loaded] = field(default_factory=list)
    exchanges: float = 0.0
    """Accesses of shared memory."""
    exchange_bytes: int = 0
    """Shared memory per warp."""
    windows: float = 0.0
    """Values of live rows."""
    terms: float = 0.0
    """Values that the stage with most reads takes."""
    packed: bool = False
    """Whether two points share a register."""
    unpaired_columns: int = 0
    """Columns of a lane where no two points do; else 0."""
    unpaired_share: float = 1.0
    """Share to which loads and stores of these, element by element, count beside the arithmetic."""
    packed_gain: LinearInRows = field(default_factory=LinearInRows)
    """Gain of neighbours that share a register over points half of a lane's columns apart; see `best_pair_stride`."""
    guarded: bool = False
    """Whether rows that are loaded or stored are not aligned to vectors."""
    scaled: list[Scaled] = field(default_factory=list)
    kept: list[LinearInRows] = field(default_factory=list)
    """Values that wait at each barrier; empty where no rows are exchanged."""
    stored_bytes: int = 0
    """Per point in x and y."""
    row_bytes: float = 0.0
    """Average bytes of a lane's rows in memory."""
    vector: int = 1

    def registers(self, pitch: int, c: Calibration) -> float:
        """Estimate the registers per thread."""
        loaded, v = c.live_loads * self.registers_loaded.at(pitch), self.vector
        stride = best_pair_stride(v, self.packed_gain.at(pitch))
        packed = c.packed_rows * max(0.0, stride - 2) * v / 8 if self.packed else 0.0
        if self.kept:
            waiting = c.exchange_registers + c.at_barrier * max(k.at(pitch) for k in self.kept)
            return max(c.base_registers + loaded, waiting) + c.at_barrier_terms * self.terms + packed
        return c.base_registers + c.live_window * self.windows + loaded + c.live_terms * self.terms + packed


def count(model: PipelineModel, members: Sequence[int], layout: WarpLayout, exchanges: bool) -> Counts:
    """Count a group; `exchanges`: whether warps exchange rows."""
    stored = model.stored(members)
    found = Counts(vector=layout.vector)
    found.stored_bytes = sum(layout.stages[id].deep * model.nodes[id].bytes for id in stored)
    _count_loads(found, model, layout)
    _count_stages(found, model, members, stored, layout)
    pairs = [layout.stages[id].paired for id in members]
    found.packed = any(pairs)
    if found.packed or any(source.paired for source in layout.sources.values()):
        _count_packed(found, model, layout, stored)
    found.unpaired_columns = 0 if found.packed else layout.vector
    found.unpaired_share = min(1.0, FEW_STAGES / len(members))
    found.terms = layout.vector * max(
        len(model.nodes[id].accesses) / (2 if pair else 1) for id, pair in zip(members, pairs, strict=True)
    )
    if exchanges:
        found.kept = _kept(model, layout)
        found.exchange_bytes = exchange_bytes(model, layout) // layout.warps
    else:
        found.windows = _windows(model, members, layout)
    in_memory = [h.bytes for h in (*layout.sources.values(), *(layout.stages[id] for id in stored))]
    found.row_bytes = layout.vector * sum(in_memory) / len(in_memory)
    return found


def _count_loads(found: Counts, model: PipelineModel, layout: WarpLayout) -> None:
    v = layout.vector
    found.loads = bool(layout.sources)
    for (producer, _), footprint in layout.sources.items():
        deep, beyond = footprint.deep, footprint.rows(0)
        instructions, accesses = 3 + sum(footprint.reach) * _edge(footprint) + v * _split(footprint), 1
        if layout.in_pieces(footprint):
            accesses, cutting = _in_pieces(footprint, v, layout.partial(footprint) is not None)
            instructions += cutting
        elif not (model.nodes[producer].aligned and model.nodes[producer].contiguous):
            accesses = v
        instructions += accesses - 1
        found.guarded |= not model.nodes[producer].aligned
        found.instructions.add(beyond, deep * instructions)
        # each access of a lane touches other lines than the lane's before
        found.touched.add(beyond, deep * v * footprint.bytes * accesses)
        found.in_flight.add(beyond, deep * v * footprint.bytes)
        found.registers_loaded.add(
            beyond, deep * v * (0.5 if footprint.paired else 1.0 if footprint.bytes <= 4 else 2.0)
        )
        found.sources.append(Loaded(producer, deep * footprint.bytes, deep, beyond, model.nodes[producer].needed))


def _count_stages(
    found: Counts, model: PipelineModel, members: Sequence[int], stored: Sequence[int], layout: WarpLayout
) -> None:
    v = layout.vector
    kinds: set[object] = set()
    in_pairs = pair_instructions(model)
    for id in members:
        node, footprint = model.nodes[id], layout.stages[id]
        deep, beyond = footprint.deep, footprint.rows(0)
        # reads are of registers; one that is not staged is a load
        unstaged = near = across = 0
        if not all(a.is_staged or a.producer in layout.stages for a in node.hull):
            for a in node.accesses:
                if a.producer not in layout.stages and not a.is_staged:
                    unstaged += 1
                    near += _is_near(a)
                    across += is_across(a)
        found.loads |= unstaged > 0
        found.scaled += _scaled(model, id, layout.stages, deep) if unstaged else ()
        many = v * max(deep * across, deep * unstaged - HIDDEN_GATHERED_LOADS)
        if footprint.paired and id in in_pairs:
            per_column = deep * in_pairs[id]
        else:
            per_column = deep * node.instructions - (deep - 1) * node.shared_instructions
        mine = LinearInRows()
        mine.add(beyond, v * (per_column + deep * (5 * unstaged + SECTOR_COST * (v - 1) * near)) + ACROSS_LOAD * many)
        if id in stored:
            # of the rows that a warp computes its own
            mine.add(0, deep * (4 + v * _split(footprint)))
            found.guarded |= not node.aligned
            if not (node.aligned and node.contiguous):
                accesses, moving = _moved(footprint.bytes, v) if layout.left_spill else (v, 0.0)
                mine.add(0, deep * (accesses - 1 + moving))
                found.stored_again.add(0, deep * v * footprint.bytes * (accesses - 1))
        rows = footprint.exchanged_rows()
        if rows:
            # pieces of more than 16 bytes are several accesses, which meet in the banks
            pieces = math.ceil(v * (2 if footprint.paired else footprint.bytes) / 16)
            found.exchanges += (
                rows * deep * 2 * pieces * pieces * (2 if footprint.bytes < 4 and not footprint.paired else 1)
            )
        left, right = footprint.reach
        if left or right:
            mine.add(beyond + rows, deep * (left + right) * _edge(footprint))
        found.instructions.join(mine)
        if id in stored:
            continue  # stages with a store behind them are no loop
        kind = (
            node.instructions,
            footprint.above,
            footprint.below,
            footprint.wide,
            footprint.reach,
            footprint.rest,
            footprint.paired,
        )
        if kind in kinds:
            found.again.join(mine)
        kinds.add(kind)


def _scaled(model: PipelineModel, id: int, inside: Collection[int], planes: int) -> Iterator[Scaled]:
    """Yield the functions that a stage reads from memory at multiples of its coordinates, as at `x / 2` or `2 * x + 1`.

    Rows between those that it reads are not loaded; columns are, as parts of lines. `planes`: points of a lane in the
    dimensions after x and y.
    """
    read: dict[tuple[int, Fraction, Fraction], set[Hashable]] = {}
    for access in model.nodes[id].accesses:
        x, y, *deep = (*access.indices, None, None)[: max(2, len(access.indices))]
        if access.producer in inside or access.is_staged or not (isinstance(x, Index) and isinstance(y, Index)):
            continue
        if (x.var, y.var) == (0, 1) and x.num and y.num:
            each = planes if any(isinstance(i, Index) and i.var is not None for i in deep) else 1
            row = (y.offset % abs(y.num), *deep)
            read.setdefault((access.producer, abs(x.ratio), Fraction(each, y.den)), set()).add(row)
    for (producer, columns, rows), places in read.items():
        node = model.nodes[producer]
        yield Scaled(float(columns * rows * len(places)), node.element_bytes[0], node.needed)


def _is_near(access: Access) -> bool:
    """Whether a read follows its reader along x, and is at data-dependent or other places in another dimension.

    Neighbouring lanes' points then lie beside one another.
    """
    first, *others = access.indices or (None,)
    follows = isinstance(first, Index) and first.var == 0 and first.num != 0
    return follows and any(isinstance(i, GeneralIndex) for i in others)


def _count_packed(found: Counts, model: PipelineModel, layout: WarpLayout, stored: Sequence[int]) -> None:
    """Record in `found` the column distance of a register's points, as `pack-subwords` determines it."""
    v = layout.vector
    functions = [(h, 1) for h in layout.sources.values()]
    functions += [(h, model.nodes[id].values) for id, h in layout.stages.items()]
    for footprint, values in functions:
        if footprint.paired:
            rows = footprint.rows(0) + footprint.exchanged_rows()
            found.packed_gain.add(rows, footprint.deep * values * gain_beside(v, footprint.reach))
    moved = [(h, h.bytes) for h in layout.sources.values()]
    moved += [(layout.stages[id], bytes) for id in stored for bytes in model.nodes[id].element_bytes]
    for footprint, bytes in moved:
        if footprint.paired:
            found.packed_gain.add(footprint.rows(0), footprint.deep * gain_in_memory(v, bytes))


def _windows(model: PipelineModel, members: Sequence[int], layout: WarpLayout) -> float:
    """Count the registers of the live rows of all stages, at 4 bytes each."""
    rows: dict[int, tuple[int, int]] = {}
    for id in members:
        for access in model.nodes[id].hull:
            if access.producer in layout.stages:
                dy = access.indices[1].offset  # type: ignore[union-attr]
                low, high = rows.get(access.producer, (dy, dy))
                rows[access.producer] = (min(low, dy), max(high, dy))
    taken: dict[int, float] = {}
    for id, (low, high) in rows.items():
        footprint = layout.stages[id]
        depth = footprint.deep * model.nodes[id].values
        taken[id] = (high - low + 1) * (layout.vector / (2 if footprint.paired else 1) + sum(footprint.reach)) * depth
    single = {id for id, (low, high) in rows.items() if low == high}
    if len(members) <= LONG_GROUP:
        return sum(taken.values())
    # of a chain each row lives until it has been read
    return sum(taken[id] for id in taken if id not in single) + _most_alive(model, members, taken, single)


def _most_alive(
    model: PipelineModel, members: Sequence[int], taken: Mapping[int, float], single: Collection[int]
) -> float:
    """Count the registers of the `single` stages live at one time, in program order."""
    last = {a.producer: id for id in members for a in model.nodes[id].hull if a.producer in single}
    alive, most = 0.0, 0.0
    for id in members:
        alive += taken[id] if id in single else 0.0
        most = max(most, alive)
        alive -= sum(taken[p] for p, reader in last.items() if reader == id)
    return most


def _kept(model: PipelineModel, layout: WarpLayout) -> list[LinearInRows]:
    """Count the values live across each barrier."""
    rounds = layout.rounds
    kept = [LinearInRows() for _ in range(max(rounds.values(), default=0) + 1)]
    needed: dict[object, int] = {}
    for id in layout.stages:
        for access in model.nodes[id].hull:
            key: object = access.producer if access.producer in layout.stages else (access.producer, access.source)
            needed[key] = max(needed.get(key, 0), rounds[id])
    functions = [(id, h, rounds[id], model.nodes[id].values) for id, h in layout.stages.items()]
    functions += [(key, h, 0, 1) for key, h in layout.sources.items()]  # type: ignore[misc]
    for key, footprint, first, values in functions:
        registers = layout.vector * values / (2 if footprint.paired else 1)
        for n in range(first, needed.get(key, first)):
            kept[n].add(footprint.rows(0), registers * footprint.deep)
    return kept


def _edge(footprint: Footprint) -> float:
    """Count the instructions to fetch an element from the adjacent lane."""
    return 1.0 if footprint.bytes >= 4 else 2.0 if footprint.paired else 3.0


def _split(footprint: Footprint) -> float:
    """Count the instructions per point to unpack a row of memory, or to pack one."""
    return 0.0 if footprint.bytes >= 4 else (0.5 if footprint.bytes == 1 else 0.0) if footprint.paired else 1.0


def _in_pieces(footprint: Footprint, vector: int, partial: bool) -> tuple[int, float]:
    """Count accesses and other instructions to load a row in pieces (`warp_pieces`)."""
    count = vector // footprint.piece + (not partial)
    if not footprint.in_words:
        return count, vector + footprint.bytes / WORD_BYTES
    words, piece = vector * footprint.bytes // WORD_BYTES, footprint.piece * footprint.bytes // WORD_BYTES
    return count, 6 + (words + 1 if piece == 2 else 0) + words + partial * piece


def _moved(bytes: int, vector: int) -> tuple[int, float]:
    """Count accesses and other instructions to store a row shifted across lanes to aligned addresses."""
    piece = stored_at_once(bytes, vector)
    cut = bytes < WORD_BYTES and not vector * bytes % WORD_BYTES
    words, most = (n * bytes // WORD_BYTES if cut else n for n in (vector, piece))
    selected = sum(words + by - (not cut) for by in (4, 2, 1) if by < most)
    return vector // piece, 6 + most - (not cut) + selected + (words if cut else 0)
