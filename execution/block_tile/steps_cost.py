"""Instruction counts of a tile per step of an update: as in `cost.py`, plus the differences between steps.

Steps read at places that move with them: each point of a thread has its own loads then, in another row of banks or
sectors for each of `vector` points side by side. Inputs that a block keeps are read at indices that rows share.
What chooses by a small dimension, of which a thread has all points written out, is known when the text is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from xdsl.dialects import arith

from tilefuse.analysis.dependence import depending
from tilefuse.analysis.index import AnyIndex, GeneralIndex, Index
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.analysis.model import Access, Node, PipelineModel
from tilefuse.analysis.regions import Follow, Region
from tilefuse.dialects.img.attrs import Memory
from tilefuse.dialects.img.ops import ReadOp, StageOp
from tilefuse.execution.block_tile.loads import INDEX_COST, PHASE_COST, piece_loads, shared_loads
from tilefuse.execution.candidate import Placement

STAGED_ROWS_TOGETHER = 4
"""Rows of a stage in shared memory that a thread computes together at most."""
GATHERED_SPREAD = 0.5
"""Relative extra time of a load at a lane's own place, for each further adjacent point."""


class Tiles(Protocol):
    """The tiles of a group, as far as the costs of steps depend on them."""

    model: PipelineModel
    members: Sequence[int]
    output: int
    follow: Mapping[int, tuple[Follow, ...]]

    def regions(self, tile: Sequence[int]) -> Mapping[int, Region]:
        """Return the regions of each member that a tile needs."""

    def places(self, micro: Sequence[int]) -> Mapping[int, Placement]:
        """Return the places of members if each thread computes `micro` points."""


def known_cost(stage: StageOp, dims: Collection[int]) -> float:
    """Return the instructions of a body that depend on known coordinates alone, and of choices by such values."""
    args = stage.body.block.args
    moving = depending(stage.body.block.ops, [v for d, v in enumerate(args) if d not in dims])
    moving |= {op.value for op in stage.body.block.ops if isinstance(op, ReadOp)}
    moving = depending(stage.body.block.ops, moving)
    found = 0.0
    for op in stage.body.block.ops:
        if isinstance(op, ReadOp) or not op.results:
            continue
        if moving.isdisjoint(op.results) or (isinstance(op, arith.SelectOp) and op.cond not in moving):
            found += instruction_cost(op)
    return found


def _moves_with(index: AnyIndex) -> set[int]:
    """Return the reader's dimensions that an index follows."""
    if isinstance(index, GeneralIndex):
        return {d for d, _ in index.terms}
    return {index.var} if isinstance(index, Index) and index.var is not None else set()


def _is_general(access: Access) -> bool:
    return any(isinstance(index, GeneralIndex) for index in access.indices)


def loads_in_step(
    node: Node, model: PipelineModel, producer: int, fixed: Mapping[int, int], piece: int, rows: int
) -> float:
    """Count the loads per point that a stage takes of a producer. `fixed`: one thread's points of small dimensions,
    which share the loads that do not depend on these dimensions."""
    total = 0.0
    together: dict[int, list[tuple[int, ...]]] = {}
    for access in node.accesses:
        if access.producer != producer:
            continue
        along = set().union(*map(_moves_with, access.indices))
        share = math.prod(n for d, n in fixed.items() if d not in along)
        if _is_general(access):
            total += (1.0 + GATHERED_SPREAD * (piece - 1)) / share
        else:
            at = tuple(index.offset if isinstance(index, Index) else 0 for index in access.indices)
            together.setdefault(share, []).append(at)
    for share, offsets in together.items():
        total += _windowed(tuple(offsets), piece, rows, model.nodes[producer].element_bytes[0]) / share
    return total


def item_rows(region: Region, most: int) -> int:
    """Return the rows of a shared stage that a thread computes together."""
    rows = region.extents[1] if len(region.extents) > 1 else 1
    return next(p for p in range(most, 0, -1) if rows % p == 0)


def has_own_places(node: Node) -> bool:
    """Whether a stage reads places that do not follow its point, so that pieces do not help."""
    return any(map(_is_general, node.accesses))


def in_registers(place: Placement | None) -> bool:
    """Whether threads keep a stage's points in registers: the output, or a stage placed there."""
    return place is None or place.memory is Memory.Register


def _windowed(offsets: tuple[tuple[int, ...], ...], piece: int, rows: int, bytes: int) -> float:
    found = piece_loads(offsets, piece, rows, bytes)[0] if piece > 1 else 0.0
    return found or shared_loads(offsets, rows)


def of_step(
    of: Tiles, tile: Sequence[int], threads: Sequence[int], micro: Sequence[int], cached: Collection[int]
) -> tuple[float, float]:
    """Return (instructions of all threads, registers of one) of a tile in one step of an update, as `_of_tile` does.

    `cached`: functions from outside that are in shared memory.
    """
    model, inside = of.model, set(of.members)
    region, micro_regions, places = of.regions(tile), of.regions(micro), of.places(micro)
    instructions, registers = 0.0, 24.0
    for id in of.members:
        node, place = model.nodes[id], places.get(id)
        assert isinstance(node.op, StageOp)
        own = id == of.output or in_registers(place)
        extents = micro_regions[id].extents
        follow = of.follow[id]
        fixed = {d: n for d, n in enumerate(extents) if own and d > 1 and follow[d].dim is None and n > 1}
        piece, rows = micro[0], (micro[1] if len(micro) > 1 else 1)
        if own:
            points = micro_regions[id].points * (math.prod(tile) / math.prod(micro))
            registers += micro_regions[id].points * node.bytes / 4 if id != of.output else 0
        else:
            piece, rows = (1 if has_own_places(node) else piece), item_rows(region[id], STAGED_ROWS_TOGETHER)
            points = float(region[id].points)
            instructions += PHASE_COST * math.prod(threads) + points * (1.0 + 2.0 / (piece * rows))
        per_point = node.instructions - known_cost(node.op, fixed)
        for p in model.producers(id):
            if p in inside and places[p].memory is Memory.Register:
                continue
            each = 1.0 if p in cached or p in inside else 1 + INDEX_COST
            per_point += loads_in_step(node, model, p, fixed, piece, rows) * each
        instructions += points * per_point
    return instructions, registers
