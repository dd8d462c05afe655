"""The body of a strip: row by row of the output, each stage computes the row that has become needed, and keeps a few.

    for s in 0 .. rows of the output + lead (of several rows together, s counts their groups):
      for each stage, or stages that share a loop (`loops.py`), producers first, once s has come to its first row:
        row t + last of it, of t = the strip's first row - lead + s, into place (s + last) mod kept; of a stage that
        has n rows for each of the output's the n rows up to n t + last, into places (n s + ...) mod kept

Planes that have most of their work in common are computed in one loop, so that this is done once for all of them. The
columns in the middle of a row, which no boundary moves (`columns.py`), are one loop, those beside it another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import SSAValue

from tilefuse.analysis.access import accesses, reads
from tilefuse.analysis.index import Index
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow
from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import GroupOp, StageOp
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.row_strip.attribute import StripSchedule
from tilefuse.execution.row_strip.columns import Middle, free_columns
from tilefuse.execution.row_strip.invariants import may_fail
from tilefuse.execution.row_strip.loops import loops
from tilefuse.execution.row_strip.planes import outer_planes, planes_at_once
from tilefuse.execution.row_strip.rows import StageRows, rolling_rows
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import SHARED, Emitter, Num
from tilefuse.lowering.reads import Phase, Point, Resident, TileContext, emit_stage

Place = tuple[SSAValue, list[SSAValue]]
"""A memref and indices."""
Stages = tuple[StageOp, ...]
"""Stages of one loop over columns; its rows, columns and planes are those of the first."""


@dataclass(frozen=True)
class _Columns:
    """The columns of a row, first to last, relative to the strip."""

    first: Num
    end: Num
    middle: Middle | None
    """The columns that no boundary moves; None if that is all of them."""


class StripBody:
    """Emits the body of one strip, which a tile of the schedule is."""

    def __init__(
        self, group: GroupOp, model: PipelineModel, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]
    ):
        self.group, self.e, self.tile, self.outputs = group, e, tile, outputs
        schedule = StripSchedule.expect(group.schedule)
        self.sizes, self.rows_per_loop, self.streaming_stores = (
            schedule.tile_sizes,
            schedule.rows_per_loop,
            schedule.streaming_stores,
        )
        facts = GroupFacts.of(group, model)
        rows = rolling_rows(facts, self.sizes[2:], self.rows_per_loop, schedule.vector_bytes)
        self.vector_bytes = schedule.vector_bytes
        self.rows: dict[StageOp, StageRows] = {s: rows[model.node_of[s.funcs[0]]] for s in group.stages}
        stage_of = {model.node_of[s.funcs[0]]: s for s in group.stages}
        of_loops = loops(model, rows, model.node_of[group.anchor.funcs[0]])
        self.loops: list[Stages] = [tuple(stage_of[id] for id in ids) for ids in of_loops]
        self.planes = {s: planes_at_once(model.nodes[model.node_of[s.funcs[0]]], r) for s, r in self.rows.items()}
        self.bytes = {f: model.nodes[id].bytes for f, id in model.node_of.items()}
        self.lead = max(r.lead for r in self.rows.values())
        self.arrays: dict[SSAValue, SSAValue] = {}
        outer = outer_planes(facts) if schedule.by_planes else {}
        assert not isinstance(outer, str), "the schedule was checked"
        self.outer_planes = {stage_of[id]: planes for id, planes in outer.items()}
        """The dimensions of the output whose coordinates a stage has, if all rows of a plane come before the next."""
        self.plane: Mapping[int, Num] = {}
        """Coordinates of the present plane by dimension of the output, where that is so."""
        self.extents = [self._extent(d) for d in range(len(self.sizes))]
        """Extents of the strip inside the picture, per dimension."""

    def _extent(self, d: int) -> Num:
        e, out = self.e, self.outputs[0]
        return e.min(e.sub(e.add(out.mins[d], out.extent(d, e)), self.tile.origin[d]), self.sizes[d])

    def emit(self) -> None:
        """Emit the tile body."""
        e = self.e
        for stage, rows in self.rows.items():
            if stage is not self.group.anchor:
                for f in stage.funcs:
                    name = f"rows_{stage.sym_name.data}"
                    self.arrays[f] = e.alloca([rows.elements(self.sizes[0])], f.type.storage, SHARED, name)
        columns = [self._columns(stages) for stages in self.loops]
        groups = e.ceildiv(self.extents[1], self.rows_per_loop) if self.rows_per_loop > 1 else self.extents[1]
        with ExitStack() as around:
            self.plane = self._planes_of_output(around)
            s = around.enter_context(e.loop(e.add(groups, self.lead), "s"))
            first = e.sub(self.tile.origin[1], self.lead * self.rows_per_loop)
            present = e.add(first, e.mul(s, self.rows_per_loop), "y")
            origin = [self.tile.origin[0], present, *self.tile.origin[2:]]
            inner = replace(self.tile, origin=origin, resident={}, safe_reads=True)
            for stages, of_loop in zip(self.loops, columns, strict=True):
                rows = self.rows[stages[0]]
                wait = self.lead - rows.lead
                with e.when(e.compare("sge", s, wait) if wait else None):
                    self._new_rows(inner, stages, of_loop, s)
                for f in (f for stage in stages for f in stage.funcs if f in self.arrays):
                    inner.resident[f] = Resident(self._load(f, rows, s))

    def _planes_of_output(self, around: ExitStack) -> Mapping[int, Num]:
        """Open the loops over planes outside of the rows'; return the coordinates by dimension of the output."""
        anchor = self.group.anchor
        rows, found = self.rows[anchor], dict[int, Num]()
        for d in self.outer_planes.get(anchor, ()):
            if d is not None:
                start, stop = self._planes(anchor, d, rows.follow[d], *rows.deep[d - 2])
                found[d] = around.enter_context(self.e.loop(stop, letter(d), start=start))
        return found

    def _columns(self, stages: Stages) -> _Columns:
        e, rows = self.e, self.rows[stages[0]]
        low = rows.columns[0]
        high = e.add(e.mul(e.sub(self.extents[0], 1), rows.column_steps), rows.columns[1] + 1)
        start = self.tile.absolute(e, rows.follow[0], 0)

        def planes(d: int) -> tuple[Num, Num]:
            first, last = (self.tile.absolute(e, rows.follow[d], n) for n in rows.deep[d - 2])
            return first, last

        return _Columns(low, high, free_columns(e, self.tile, stages, start, (low, high), planes))

    def _new_rows(self, tile: TileContext, stages: Stages, columns: _Columns, s: Num) -> None:
        """Emit the rows of stages that are computed with the output's, together or one after the other."""
        e, rows = self.e, self.rows[stages[0]]
        if self.rows_per_loop == 1:
            for y in rows.new:
                self._rows(tile, stages, columns, [y], s)
            return
        if self.group.anchor not in stages:
            self._rows(tile, stages, columns, rows.new, s)
            return
        done = e.mul(e.sub(s, self.lead), self.rows_per_loop)

        def last() -> None:
            # fewer than all, and at least one
            for y in rows.new[:-1]:
                with e.when(e.compare("slt", e.add(done, y), self.extents[1]) if y else None):
                    self._rows(tile, stages, columns, [y], s)

        all_inside = e.compare("sle", e.add(done, self.rows_per_loop), self.extents[1])
        e.choose(all_inside, lambda: self._rows(tile, stages, columns, rows.new, s), last)

    def _rows(self, tile: TileContext, stages: Stages, columns: _Columns, ys: Sequence[int], s: Num) -> None:
        """Emit the columns of rows in one loop, for each plane at their y; `s`: the number of the output's row."""

        def one_by_one() -> None:
            self._plane_by_plane(tile, stages, columns, ys, s)

        def at_once() -> None:
            for y in ys:
                self._columns_of(tile, stages, columns, [[y, *at] for at in planes], s)

        planes = self.planes[stages[0]]
        if not planes:
            one_by_one()
        elif self.group.anchor in stages:
            self.e.choose(self._has_all_planes(), at_once, one_by_one)
        else:
            at_once()

    def _plane_by_plane(self, tile: TileContext, stages: Stages, columns: _Columns, ys: Sequence[int], s: Num) -> None:
        """Emit the columns of rows, one plane after the other."""
        with ExitStack() as around:
            deep = self._open_planes(around, stages[0])
            self._columns_of(tile, stages, columns, [[y, *deep] for y in ys], s)

    def _open_planes(self, around: ExitStack, stage: StageOp) -> list[Num]:
        """Open the loops over a stage's planes that are inside of the rows'; return all coordinates."""
        rows, deep = self.rows[stage], list[Num]()
        for d, (f, (low, high)) in enumerate(zip(rows.follow[2:], rows.deep, strict=True), 2):
            present = self.outer_planes[stage][d] if self.outer_planes else None
            if present is not None:
                deep.append(self.plane[present])
                continue
            start, stop = self._planes(stage, d, f, low, high)
            deep.append(around.enter_context(self.e.loop(stop, letter(d), start=start)))
        return deep

    def _has_all_planes(self) -> SSAValue:
        """Whether the output has all planes of the tile."""
        e, out = self.e, self.outputs[0]
        found: SSAValue | None = None
        for d, (low, high) in enumerate(self.rows[self.group.anchor].deep, 2):
            starts = e.compare("sle", out.mins[d], low)
            ends = e.compare("sgt", e.add(out.mins[d], out.extent(d, e)), high)
            found = e.both(e.both(found, starts), ends)
        assert found is not None, "it has several planes"
        return found

    def _columns_of(
        self, tile: TileContext, stages: Stages, columns: _Columns, rest: Sequence[list[Num]], s: Num
    ) -> None:
        """Emit the columns of rows in one loop; `rest`: the other coordinates, of each row."""
        e = self.e
        middle = columns.middle or Middle(columns.first, columns.end)
        self._middle(replace(tile, free_x=True), stages, middle, rest, s)
        if columns.middle is None:
            return
        # the columns to the left, then those to the right: few, so one loop is enough text for both
        with e.loop(2, "side") as side:
            right = e.compare("ne", side, 0)
            first, last = e.pick(right, middle.end, columns.first), e.pick(right, columns.end, middle.start)
            with e.loop(last, "x", start=first) as x:
                self._points(tile, stages, [[x, *at] for at in rest], s)

    def _middle(self, tile: TileContext, stages: Stages, middle: Middle, rest: Sequence[list[Num]], s: Num) -> None:
        """Emit the columns that no boundary moves; `rest`: the other coordinates, of each row."""
        e, rows = self.e, self.rows[stages[0]]
        if middle.phases == 1:
            end = self._whole_vectors(stages, middle.start, middle.end)
            with e.loop(end, "x", start=middle.start, simd=True) as x:
                self._points(tile, stages, [[x, *at] for at in rest], s)
            if isinstance(loop := e.block.last_op, scf.ForOp):
                if end is middle.end and self.vector_bytes:
                    loop.attributes["kernel.shift_inwards"] = IntegerAttr(self._lanes(stages), i64)
                if self.streaming_stores and self.group.anchor in stages:
                    loop.attributes["kernel.stream"] = UnitAttr()
            return
        start, end = middle.rounds
        first = tile.absolute(e, rows.follow[0], 0)
        with e.loop(end, "k", start=start, simd=True) as k:
            for number in range(middle.phases):
                phase = Phase(k, middle.phases, number)
                x = e.sub(phase.x(e), first)
                self._points(replace(tile, phase=phase), stages, [[x, *at] for at in rest], s)

    def _whole_vectors(self, stages: Stages, start: Num, end: Num) -> Num:
        """Return a row's end, rounded up to whole vectors; `end` if stages access other memory than rows of stages.

        The columns at the end are computed for nothing, or by the loop over columns at the side again.
        """
        if not self.vector_bytes or self.group.anchor in stages or not all(map(self._reads_rows, stages)):
            return end
        lanes = self._lanes(stages)
        return self.e.add(start, self.e.mul(self.e.ceildiv(self.e.sub(end, start), lanes), lanes))

    def _lanes(self, stages: Stages) -> int:
        """Return columns that compilers take at once: a vector of the narrowest that is read or written."""
        touched = (f for stage in stages for f in (*stage.funcs, *(r.source for r in reads(stage))))
        return int(self.vector_bytes // min(self.bytes[f] for f in touched))

    def _reads_rows(self, stage: StageOp) -> bool:
        """Whether a stage may be computed at any column: of rows of stages, without ops that fail for some numbers."""
        beside = all(
            a.op.source in self.arrays and isinstance(i := a.indices[0], Index) and (i.var, i.num, i.den) == (0, 1, 1)
            for a in accesses(stage)
        )
        return beside and self.rows[stage].column_steps == 1 and not any(map(may_fail, stage.body.block.ops))

    def _planes(self, stage: StageOp, d: int, follow: Follow, low: int, high: int) -> tuple[Num, Num]:
        """Return (first, end) of the coordinates of a dimension beyond y; for the output, clipped to its box."""
        e = self.e
        if follow.dim is not None:
            return low, e.add(self.extents[follow.dim], high + 1 - self.sizes[follow.dim])
        if stage is not self.group.anchor:
            return low, high + 1
        out = self.outputs[0]
        return e.max(low, out.mins[d]), e.min(high + 1, e.add(out.mins[d], out.extent(d, e)))

    def _points(self, tile: TileContext, stages: Stages, points: Sequence[list[Num]], s: Num) -> None:
        """Compute all points before the first is stored, so that their common values are loaded once."""
        e, follow = self.e, self.rows[stages[0]].follow
        values = [v for at in points for of in stages for v in emit_stage(e, tile, of, Point(follow, at))]
        places = [place for at in points for of in stages for place in self._places(tile, of, at, s)]
        for value, (target, index) in zip(values, places, strict=True):
            e.store(value, target, index)

    def _places(self, tile: TileContext, stage: StageOp, at: list[Num], s: Num) -> list[Place]:
        """Return the memref and the indices that each value of a stage at a point goes to."""
        e, rows = self.e, self.rows[stage]
        if stage is not self.group.anchor:
            return [(self.arrays[f], [e.value(self._place(rows, at, s))]) for f in stage.funcs]
        where = [tile.absolute(e, f, c) for f, c in zip(rows.follow, at, strict=True)]
        if tile.phase is not None:
            where[0] = tile.phase.x(e)
        return [(buffer.memref, [e.value(i) for i in buffer.index(where, e)]) for buffer in self.outputs]

    def _load(self, f: SSAValue, rows: StageRows, s: Num) -> Callable[[Emitter, Sequence[Num]], SSAValue]:
        return lambda e, relative: e.load(self.arrays[f], [self._place(rows, relative, s)])

    def _place(self, rows: StageRows, at: Sequence[Num], s: Num) -> Num:
        """Return the index in a stage's array of the point at coordinates relative to the present row."""
        e, (x, y, *deep) = self.e, at
        assert isinstance(y, int), "rows follow the output's"
        ahead = y - min(0, y // rows.kept * rows.kept)  # the same row modulo those that are kept, and not negative
        slot: Num = e.div_rem(e.add(e.mul(s, rows.row_steps), ahead), rows.kept)[1] if rows.kept > 1 else 0
        for c, (low, high) in zip(deep, rows.deep, strict=True):
            slot = e.add(e.mul(slot, high - low + 1), e.sub(c, low))
        return e.add(e.mul(slot, rows.pitch(self.sizes[0])), e.sub(x, rows.columns[0]))
