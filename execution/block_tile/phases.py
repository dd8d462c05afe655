"""Phases of a block tile: a block's threads together compute or copy a stage into shared memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from xdsl.ir import SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.analysis.regions import Region
from tilefuse.analysis.strides import rows_are_contiguous
from tilefuse.dialects.img.ops import StageOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.nvgpu import COPY_BYTES, DeviceAsyncCopyOp
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.execution.block_tile.pieces import (
    Alignment,
    Gather,
    Reader,
    SharedRows,
    access_width,
    moves_by_pieces,
    reads_by_pieces,
    unrolled,
)
from tilefuse.execution.block_tile.placement import row_step, shared_row, staged_read
from tilefuse.execution.block_tile.share_out import Threads
from tilefuse.lowering.emit import PRIVATE, Emitter, Num
from tilefuse.lowering.reads import Point, TileContext, emit_stage

ROWS_PER_ITEM = 4
"""Rows of a block-level region that a thread computes together, so that it loads shared rows once."""


@dataclass(frozen=True)
class _Items:
    """Boxes of equal size that cover (part of) a stage's region, distributed over the threads of the block."""

    counts: list[int]
    """Boxes per dimension, x first."""
    sizes: list[int]
    """Points of each."""
    column: Callable[[Num], Num]
    """The first column, relative to the tile, of the boxes at a place in x."""


def copied_source(stage: StageOp, schedule: BlockSchedule, region: Region) -> SSAValue | None:
    """Return the input that a shared-memory stage only copies, if asynchronous copies can do so."""
    read = staged_read(stage)
    if read is None or schedule.one_thread or not region.follow or not moves_by_pieces(region.follow[0]):
        return None
    base, _ = behind_boundaries(read.source)
    if base.owner.parent_op() is stage.parent_op() or not rows_are_contiguous(base):
        return None
    return base


MOST_PLANES_TOGETHER = 32
"""Points in all planes of a stage that a thread computes together at most, where they are not those of one piece."""


class Phases:
    """Emit the phases of one group."""

    def __init__(self, e: Emitter, tile: TileContext, schedule: BlockSchedule, alignment: Alignment, gather: Gather):
        self.e, self.tile, self.schedule, self.alignment, self.gather = e, tile, schedule, alignment, gather
        self.threads = Threads(e, schedule.thread_counts)

    def rows(self, stage: StageOp, region: Region, arrays: Sequence[SSAValue]) -> list[SharedRows]:
        """Return the rows of a stage in shared memory."""
        assert stage.place is not None
        first, pitch = shared_row(region, stage.place.pad.data, row_step(stage, self.schedule))
        strides = [1, pitch]
        for n in region.extents[1:-1]:
            strides.append(strides[-1] * n)
        piece = self.schedule.piece
        return [
            SharedRows(
                array,
                [first, *(low for low, _ in region.spans[1:])][: len(region.extents)],
                strides[: len(region.extents)],
                access_width(f, piece) if pitch % piece == 0 else 1,
            )
            for f, array in zip(stage.funcs, arrays, strict=True)
        ]

    def emit(self, stage: StageOp, region: Region, rows: Sequence[SharedRows], *, planes: bool = False) -> bool:
        """Emit a phase; return whether it starts asynchronous copies. `planes`: a thread computes all planes."""
        source = copied_source(stage, self.schedule, region)
        with self.threads.together() as t:
            if source is None:
                self._compute_all(stage, region, rows, t, planes)
                return False
            self.e.choose(
                self.tile.border,
                lambda: self._compute_all(stage, region, rows, t, planes),
                lambda: self._copy_all(source, region, rows[0], t),
            )
        return True

    # --- computing

    def _compute_all(self, stage: StageOp, region: Region, rows: Sequence[SharedRows], t: Num, planes: bool) -> None:
        for number, items in enumerate(self._items(stage, region, planes)):
            each = partial(self._compute, stage, region, rows, items)
            self.threads.walk(t, items.counts, each, from_last=number > 0)

    def _items(self, stage: StageOp, region: Region, planes: bool) -> list[_Items]:
        """Split the region of a stage into pieces, and the columns left over."""
        if not region.spans:
            return [_Items([1], [1], lambda i: i)]
        (low, high), *rest = region.spans
        rows = rest[0][1] - rest[0][0] + 1 if rest else 1
        most = self.schedule.micro_tile[1] if self.schedule.unroll_factors and rest else ROWS_PER_ITEM
        deep = [b - a + 1 for a, b in rest[1:]]
        extents = deep if planes else [1] * len(deep)
        if planes:
            most = max(1, min(most, MOST_PLANES_TOGETHER // (math.prod(deep) * self.schedule.piece)))
            deep = [1] * len(deep)
        heights = [p for p in range(most, 0, -1) if rows % p == 0]

        def items(columns: int, width: int, height: int, column: Callable[[Num], Num]) -> _Items:
            counts = [columns, *([rows // height] if rest else []), *deep]
            return _Items(counts, [width, *([height] if rest else []), *extents], column)

        piece, e = self.schedule.piece, self.e
        start, end = _full_pieces(low, high, piece)
        if piece == 1 or start >= end or not rest or not reads_by_pieces(stage, region.follow):
            return [items(high + 1 - low, 1, heights[0], lambda i: e.add(i, low))]
        pieces = (end - start) // piece

        def work(height: int) -> tuple[int, int]:
            # rounds of a thread by what it does in each, counting the rows beside its own as read
            return -(-(pieces * rows * math.prod(deep)) // (height * self.threads.total)) * (height + 1), -height

        found = [items(pieces, piece, min(heights, key=work), lambda i: e.add(e.mul(i, piece), start))]
        if start > low or end <= high:
            beside = start - low + high + 1 - end
            found.append(items(beside, 1, heights[0], lambda i: _beside(e, i, low, start, end)))
        return found

    def _compute(
        self, stage: StageOp, region: Region, rows: Sequence[SharedRows], items: _Items, at: Sequence[Num]
    ) -> None:
        """Emit one item of a phase, into shared memory."""
        e = self.e
        sizes = items.sizes
        origin = [items.column(at[0])]
        for i, n, (low, _) in zip(at[1:], sizes[1:], region.spans[1:], strict=True):
            origin.append(e.add(e.mul(i, n), low))
        inner = self.tile
        if sizes[0] > 1:
            reader = Reader(stage, region.follow, origin, [(0, n - 1) for n in sizes], self.schedule.piece)
            inner = replace(inner, windows=self.gather.load([reader]))
        planes = [d for d in range(len(sizes) - 1, 1, -1) if sizes[d] > 1]
        shape = [sizes[d] for d in planes]
        shape += [sizes[1], sizes[0]] if sizes[0] > 1 else [math.prod(sizes[:2])]
        results = [e.alloca(shape, f.type.storage, PRIVATE, f"r_{stage.sym_name.data}") for f in stage.funcs]

        def own(k: Sequence[Num]) -> list[Num]:
            return [k[d] for d in planes] + ([k[1], k[0]] if sizes[0] > 1 else list(k[1:2]) or [0])

        with unrolled(e, sizes) as k:
            relative = [e.add(o, c) for o, c in zip(origin, k, strict=True)][: len(region.spans)]
            for value, r in zip(emit_stage(e, inner, stage, Point(region.follow, relative)), results, strict=True):
                e.store(value, r, own(k))
        with unrolled(e, [1, *sizes[1:]]) as k:
            for r, target in zip(results, rows, strict=True):
                for v in range(0, sizes[0], width := min(target.width, sizes[0])):
                    values = [e.load(r, own([v + w, *k[1:]])) for w in range(width)]
                    at_lane = [e.add(o, c) for o, c in zip(origin, [v, *k[1:]], strict=True)]
                    e.store_vector(values, target.array, target.index(e, at_lane[: len(region.spans)]))

    # --- copying

    def _copy_all(self, source: SSAValue, region: Region, rows: SharedRows, t: Num) -> None:
        """Copy rows of an interior tile by pieces of up to 16 bytes as alignment allows, then the other elements."""
        e = self.e
        (low, high), *rest = region.spans
        size = element_bytes(source.type.element)  # type: ignore[attr-defined]
        box = [b - a + 1 for a, b in rest]
        per_piece = max(COPY_BYTES) // size
        start, end = _full_pieces(low, high, per_piece)
        start, end = (start, end) if start < end else (low, low)

        def each(column: Callable[[Num], Num], count: int, width: int, at: Sequence[Num]) -> None:
            others = [e.add(i, first) for i, (first, _) in zip(at[1:], rest, strict=True)]
            for c in range(0, count, width):
                self._copy(source, region, rows, [e.add(column(at[0]), c), *others], width)

        def pieces(width: int) -> None:
            each_piece = partial(each, lambda i: e.add(e.mul(i, per_piece), start), per_piece, width)
            self.threads.walk(t, [(end - start) // per_piece, *box], each_piece)

        if start < end:
            pitch = rows.strides[1] if box else 0
            widths = [n // size for n in sorted(COPY_BYTES, reverse=True) if n > size and pitch % (n // size) == 0]
            self.alignment.choose(source, self.tile.buffers[source], widths, pieces)
        if beside := start - low + high + 1 - end:
            each_beside = partial(each, lambda i: _beside(e, i, low, start, end), 1, 1)
            self.threads.walk(t, [beside, *box], each_beside, from_last=True)

    def _copy(self, source: SSAValue, region: Region, rows: SharedRows, relative: Sequence[Num], width: int) -> None:
        """Copy `width` adjacent elements."""
        e = self.e
        buffer = self.tile.buffers[source]
        absolute = [self.tile.absolute(e, f, c) for f, c in zip(region.follow, relative, strict=True)]
        here, there = buffer.index(absolute, e), rows.index(e, relative)
        bytes = width * element_bytes(source.type.element)  # type: ignore[attr-defined]
        if bytes not in COPY_BYTES:
            assert width == 1
            e.store(e.load(buffer.memref, here), rows.array, there)
            return
        indices = ([e.value(i) for i in here], [e.value(i) for i in there])
        # only pieces of 16 bytes can pass by the first-level cache
        e.effect(DeviceAsyncCopyOp(buffer.memref, indices[0], rows.array, indices[1], width, bytes == max(COPY_BYTES)))


def _full_pieces(low: int, high: int, piece: int) -> tuple[int, int]:
    """Return (first, end) of the multiples of `piece` in the columns low..high."""
    return -(-low // piece) * piece, (high + 1) // piece * piece


def _beside(e: Emitter, i: Num, low: int, start: int, end: int) -> Num:
    """Return the i-th column from `low` on outside start..end - 1."""
    left = start - low
    if not left:
        return e.add(i, end)
    if isinstance(i, int):
        return low + i if i < left else end + i - left
    return e.pick(e.compare("slt", i, left), e.add(i, low), e.add(i, end - left))
