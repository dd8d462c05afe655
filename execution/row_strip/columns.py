"""Columns of a row free of borders: no boundary moves or masks them, and their reads lie in all buffers.

There the loop over x has no border handling in x, so that it reads side by side, and is vectorised. Where a stage reads
at `x floordiv 2` or `x mod 2`, the loop is over pairs of columns: each column of a pair reads side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilefuse.analysis.access import accesses, behind_boundaries, coordinates, reads
from tilefuse.analysis.index import GeneralIndex, Index, divisors
from tilefuse.dialects.img.ops import BoundaryOp, StageOp
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import Phase, TileContext, boundary_span, moves_right

MOST_PHASES = 4
"""Columns that are computed in one round of a loop."""


@dataclass(frozen=True)
class Middle:
    """The border-free columns, relative to the stage's column where the tile begins."""

    start: Num
    end: Num
    phases: int = 1
    rounds: tuple[Num, Num] = (0, 0)
    """With several phases, the first and the end of the k of these columns (`Phase`)."""


Planes = Callable[[int], tuple[Num, Num]]
"""First and last coordinate of a stage's points in a dimension beyond y."""


def free_columns(
    e: Emitter, tile: TileContext, stages: Sequence[StageOp], start_x: Num, among: tuple[Num, Num], planes: Planes
) -> Middle | None:
    """Find the columns of a range that no boundary moves in any plane; None if all are such."""
    if (count := phases_of(stages[0])) > 1:
        assert len(stages) == 1, "stages that share a loop read side by side"
        return _free_rounds(e, tile, stages[0], start_x, among, count)
    limits = list(dict.fromkeys(limit for stage in stages for limit in _limits(tile, stage)))
    if not limits:
        return None
    start, end = among
    for index, limit in limits:
        first, stop = limit.emit(e, tile)
        low, high = _moved(e, index, planes)
        # the columns x with first <= floor((num x + offset) / den) < stop
        start = e.max(start, e.sub(_up(e, e.sub(first, low), index), start_x))
        end = e.min(end, e.sub(_up(e, e.sub(stop, high), index), start_x))
    start = e.min(start, among[1])
    return Middle(start, e.max(end, start))


def _moved(e: Emitter, index: Index | GeneralIndex, planes: Planes) -> tuple[Num, Num]:
    """Return the minimal and maximal shift of an index by coordinates beyond y."""
    low: Num = 0
    high: Num = 0
    for coordinate, factor in index.terms if isinstance(index, GeneralIndex) else ():
        if coordinate > 1:
            ends = planes(coordinate)[:: 1 if factor > 0 else -1]
            low, high = e.add(low, e.mul(ends[0], factor)), e.add(high, e.mul(ends[1], factor))
    return low, high


def _up(e: Emitter, bound: Num, index: Index | GeneralIndex) -> Num:
    """Return the first x at which the index, moved by x alone, is at least `bound`."""
    if isinstance(index, GeneralIndex):
        return _ceil(e, e.sub(bound, index.offset), dict(index.terms)[0])
    return _ceil(e, e.sub(e.mul(bound, index.den), index.offset), index.num)


def _ceil(e: Emitter, a: Num, d: int) -> Num:
    return a if d == 1 else e.floordiv(e.add(a, d - 1), d)


def phases_of(stage: StageOp) -> int:
    """Return the period in columns after which a stage's reads move by whole points; 1 if all always do."""
    of = coordinates(stage)
    count = 1
    for read in reads(stage):
        xs = {position for position, value in enumerate(read.indices) if of.get(value) == 0}
        for expr in read.map.data.results:
            if (used := expr.used_dims()) and used <= xs:
                count = math.lcm(count, *divisors(expr))
    return count if count <= MOST_PHASES else 1


def _free_rounds(
    e: Emitter, tile: TileContext, stage: StageOp, start_x: Num, among: tuple[Num, Num], count: int
) -> Middle:
    low, high = among
    start = _ceil(e, e.add(start_x, low), count)
    end = e.floordiv(e.add(start_x, high), count)
    for factor, offset, limit in dict.fromkeys(_limits_of_rounds(tile, stage, count)):
        first, stop = limit.emit(e, tile)
        # the k with first <= factor k + offset < stop
        start = e.max(start, _ceil(e, e.sub(first, offset), factor))
        end = e.min(end, _ceil(e, e.sub(stop, offset), factor))
    end = e.max(end, start)

    def column(k: Num) -> Num:
        return e.min(e.max(e.sub(e.mul(k, count), start_x), low), high)

    return Middle(column(start), column(end), count, (start, end))


class _Limit:
    """The extent of a buffer in one dimension, or of a boundary's box."""

    def __init__(self, of: SSAValue | BoundaryOp, dim: int):
        self.of, self.dim = of, dim

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Limit) and self.of is other.of and self.dim == other.dim

    def __hash__(self) -> int:
        return hash((id(self.of), self.dim))

    def emit(self, e: Emitter, tile: TileContext) -> tuple[Num, Num]:
        if isinstance(self.of, BoundaryOp):
            first, extent = boundary_span(e, tile, self.of, self.of.dimensions.index(self.dim))
        else:
            buffer = tile.buffers[self.of]
            first, extent = buffer.mins[self.dim], buffer.extent(self.dim, e)
        return first, e.add(first, extent)


def _limits_of_rounds(tile: TileContext, stage: StageOp, count: int) -> Iterator[tuple[int, int, _Limit]]:
    """Return (factor, offset, limit) of an index factor k + offset."""
    of = coordinates(stage)
    for number in range(count):
        for read in reads(stage):
            base, boundaries = behind_boundaries(read.source)
            for d, at in enumerate(Phase(0, count, number).linear(read, of)):
                if at is None or at[0] <= 0:
                    continue
                if base in tile.buffers:
                    yield *at, _Limit(base, d)
                if base not in tile.masks:
                    yield from ((*at, _Limit(b, d)) for b in boundaries if d in b.dimensions)
        for f in stage.funcs:
            for b in tile.masks.get(f, ()):
                if 0 in b.dimensions:
                    yield count, number, _Limit(b, 0)


def _limits(tile: TileContext, stage: StageOp) -> Iterator[tuple[Index | GeneralIndex, _Limit]]:
    for access in accesses(stage):
        base, boundaries = behind_boundaries(access.function)
        for d, index in enumerate(access.indices):
            if not moves_right(index):
                continue
            assert isinstance(index, Index | GeneralIndex)
            if base in tile.buffers:
                yield index, _Limit(base, d)
            if base not in tile.masks:
                yield from ((index, _Limit(b, d)) for b in boundaries if d in b.dimensions)
    for f in stage.funcs:
        for b in tile.masks.get(f, ()):
            if 0 in b.dimensions:
                yield Index(0, 1, 0, 1), _Limit(b, 0)
