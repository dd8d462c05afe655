"""Emission of a recurrence: a thread scans its line in order, with the last steps' results in registers.

The inputs of several steps are loaded before the first of them is computed, so that a line waits for memory once for
all of them. Results are those of the definition to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tilefuse.analysis.recurrence import Line, Recurrence, recurrence
from tilefuse.analysis.updates import UpdateFacts
from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import SET, GroupOp, ReadOp, UpdateOp, WriteOp
from tilefuse.execution.scan.attribute import ScanSchedule
from tilefuse.lowering.emit import PRIVATE, Num
from tilefuse.lowering.prefetch import prefetch_row
from tilefuse.lowering.shared_body import SharedBody
from tilefuse.lowering.symbols import identifier
from tilefuse.lowering.update_body import UpdateFunction
from tilefuse.lowering.update_ends import Ends
from tilefuse.lowering.workspaces import Workspace

CoordinateValues = dict[SSAValue, Num]
"""Value of each coordinate of an update."""


def scan_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group that holds a recurrence."""
    return ScanKernel(group).emit()


class ScanKernel(UpdateFunction):
    """A recurrence's kernel during emission."""

    def __init__(self, group: GroupOp, workspaces: Sequence[Workspace] = ()):
        super().__init__(group, workspaces)
        found = recurrence(UpdateFacts(self.op))
        assert isinstance(found, Recurrence)
        self.schedule = ScanSchedule.expect(group.schedule)
        self._of(self.op, found)

    def _of(self, update: UpdateOp, found: Recurrence) -> None:
        """Emit the steps of an update from now on."""
        scan = next(d for d in update.domain if d.coordinate is found.along)
        self.op, self.recurrence = update, found
        self.low, self.steps = self.scalar(scan.min), self.scalar(scan.extent)

    @property
    def stores_out_of_place(self) -> bool:
        """Whether results are stored out of place: not in the memory of the functions that are updated."""
        return self.epilogue is not None

    @property
    def has_steps(self) -> bool:
        """Whether lines may have steps: their number is not known to be zero."""
        return not isinstance(self.steps, int) or self.steps > 0

    def emit(self) -> func.FuncOp:
        """Emit the kernel; return its function."""
        if not self.has_steps and not self.stores_out_of_place:
            return self.finished()
        with ExitStack() as open_scopes:
            where, rest = self._line(open_scopes)
            width = self.schedule.width
            if width > 1 and self.recurrence.dim != 0:
                # of a constant number of lines side by side a compiler makes no loop, and keeps values in registers
                self.e.choose(
                    self.e.compare("sge", rest, width),
                    lambda: self._take_lines(where, width),
                    lambda: self._take_lines(where, rest),
                )
            else:
                self._take_lines(where, rest)
        return self.finished()

    def _take_lines(self, where: CoordinateValues, rest: Num) -> None:
        """Emit the lines of a thread from the first one: `rest` of them, at most its width."""
        self._before(where, rest)
        if self.stores_out_of_place:
            self._others_of_all(where, rest)
        if not self.has_steps:
            return
        if self.schedule.width > 1 and self.recurrence.dim == 0:
            self._rows_together(where, rest)
        elif self.schedule.width > 1:
            self._lines_together(where, rest)
        else:
            self._one_line(where)

    def _before(self, where: CoordinateValues, rest: Num) -> None:
        """Emit all that comes before the first step of a thread's lines, of which there are `rest` at most."""

    # --- which lines

    def _line(self, open_scopes: ExitStack) -> tuple[CoordinateValues, Num]:
        """Open the loops over blocks and threads: the first line of a thread, and how many there are from it on."""
        e, sizes, lines = self.e, self.schedule.tile_sizes, self.recurrence.lines
        counts = [
            e.ceildiv(self.out.extent(line.dim, e), size, f"tiles_{letter(line.dim)}")
            for line, size in zip(lines, sizes, strict=True)
        ]
        blocks, lanes = self.grid(counts, open_scopes)
        offsets = self._offsets(blocks, counts, open_scopes)
        inside: SSAValue | None = None
        where: CoordinateValues = {}
        rest: Num = 1
        for number, line in enumerate(lines):
            first, extent = self._span(line)
            lane = e.mul(lanes[number], self.schedule.width) if number == 0 else lanes[number]
            offset = e.add(offsets[number], lane)
            where[line.coordinate] = e.add(first, offset)
            inside = e.both(inside, e.compare("slt", offset, extent))
            rest = e.sub(extent, offset) if number == 0 else rest
        open_scopes.enter_context(e.when(inside))
        return where, rest

    def _offsets(self, blocks: Sequence[Num], counts: Sequence[Num], open_scopes: ExitStack) -> list[Num]:
        """Return the first line of a block along each coordinate, where there are `counts` blocks.

        Lines of a domain may be more than a part of the results has: then a block goes on with others.
        """
        e, offsets = self.e, []
        for line, block, count, size in zip(
            self.recurrence.lines, blocks, counts, self.schedule.tile_sizes, strict=True
        ):
            offset = e.mul(block, size)
            if not line.is_pure:
                step = e.mul(count, size)
                offset = open_scopes.enter_context(
                    e.loop(self._span(line)[1], "line", start=offset, step=step, unroll=1)
                )
            offsets.append(offset)
        return offsets

    def _span(self, line: Line) -> tuple[Num, Num]:
        """Return the first line along a coordinate, and the number of lines."""
        if line.is_pure:
            return self.out.mins[line.dim], self.out.extent(line.dim, self.e)
        dimension = next(d for d in self.op.domain if d.coordinate is line.coordinate)
        return self.scalar(dimension.min), self.scalar(dimension.extent)

    # --- steps

    def _one_line(self, where: CoordinateValues) -> None:
        e, unroll = self.e, self.schedule.unroll
        kept = self._kept(self.recurrence.depth)
        for back in range(self.recurrence.depth):
            self._keep_old(kept, where, back, [back])
        name = identifier(self.recurrence.along.name_hint or "r")

        def steps(k: Num, count: int) -> None:
            self._steps([self._at(where, e.add(k, u)) for u in range(count)], kept, [])

        if isinstance(self.steps, int):
            unrolled = self.steps // unroll * unroll
            if unrolled:
                with e.loop(unrolled, name, step=unroll) as k:
                    steps(k, unroll)
            if unrolled < self.steps:
                steps(unrolled, self.steps - unrolled)
            return
        count = e.max(self.steps, 0)
        last = e.sub(count, e.mod(count, unroll))
        with e.loop(last, name, step=unroll) as k:
            steps(k, unroll)
        if unroll > 1:
            with e.loop(count, name, start=last) as k:
                steps(k, 1)

    def _rows_together(self, where: CoordinateValues, rest: Num) -> None:
        """Emit several lines along x step by step, unrolled, so that their latencies overlap."""
        e, width = self.e, self.schedule.width

        def one_by_one() -> None:
            with e.loop(rest, "i") as i:
                self._one_line(where | {first: e.add(where[first], i)})

        first = self.recurrence.lines[0].coordinate
        e.choose(e.compare("sge", rest, width), lambda: self._whole_rows(where), one_by_one)

    def _whole_rows(self, where: CoordinateValues) -> None:
        e, width, depth = self.e, self.schedule.width, self.recurrence.depth
        first = self.recurrence.lines[0].coordinate
        lines = [where | {first: e.add(where[first], i)} for i in range(width)]
        kept = self._kept(depth, width)
        for i, line in enumerate(lines):
            for back in range(depth):
                self._keep_old(kept, line, back, [back, i])
        with e.loop(self.steps, identifier(self.recurrence.along.name_hint or "r")) as k:
            for i, line in enumerate(lines):
                self._steps([self._at(line, k)], kept, [i])

    def _lines_together(self, where: CoordinateValues, rest: Num) -> None:
        """Emit adjacent lines step by step, in a vectorisable loop over them."""
        kept, count = self._kept_of_lanes(where, rest)
        with self.e.loop(self.steps, identifier(self.recurrence.along.name_hint or "r")) as k:
            if self.schedule.prefetch:
                self._prefetch(self._at(where, self.e.add(k, self.schedule.prefetch)))
            with self._lanes(where, count) as (i, line):
                self._steps([self._at(line, k)], kept, [i])

    def _prefetch(self, where: CoordinateValues) -> None:
        """Prefetch, to be written, the results of a step of adjacent lines; `where` has the first."""
        if self.stores_out_of_place:
            ends = Ends(self)
            ends.prefetch_at(ends.position(where), self.schedule.width)
            return
        for number in range(len(self.op.old_funcs)):
            prefetch_row(self.e, self.old(number).memref, self._position(number, where), self.schedule.width)

    def _kept_of_lanes(self, where: CoordinateValues, rest: Num) -> tuple[list[SSAValue], Num]:
        """Keep the old values of adjacent lines; return them and the number of lines, at most `rest`."""
        width, depth = self.schedule.width, self.recurrence.depth
        kept = self._kept(depth, width)
        count = self.e.min(rest, width)
        for back in range(depth):
            with self._lanes(where, count) as (i, line):
                self._keep_old(kept, line, back, [back, i])
        return kept, count

    @contextmanager
    def _lanes(self, where: CoordinateValues, count: Num) -> Iterator[tuple[Num, CoordinateValues]]:
        """Open a loop over adjacent lines; yield the number and the coordinates of one."""
        first = self.recurrence.lines[0].coordinate
        with self.e.loop(count, "i", simd=True) as i:
            yield i, where | {first: self.e.add(where[first], i)}

    def _at(self, where: CoordinateValues, k: Num) -> CoordinateValues:
        return where | {self.recurrence.along: self.e.add(self.low, k)}

    def _kept(self, *shape: int) -> list[SSAValue]:
        """Allocate the values of the last steps, per function: the last step first."""
        types = (self.old(n).memref.type for n in range(len(self.op.old_funcs)))
        return [self.e.alloca(shape, type.element_type, PRIVATE, "kept") for type in types]  # type: ignore[attr-defined]

    def _keep_old(self, kept: Sequence[SSAValue], where: CoordinateValues, back: int, place: Sequence[Num]) -> None:
        """Keep the old value at a place that the step `back + 1` before the first would have written."""
        e = self.e
        at = where | {self.recurrence.along: e.sub(self.low, back + 1)}
        for number, of in enumerate(kept):
            buffer = self.old(number)
            index = self._position(number, at)
            axis = buffer.axis(self.recurrence.dim)
            # there may be nothing so far back, which no step reads then
            index[axis] = e.clamp(index[axis], 0, e.sub(buffer.extent(self.recurrence.dim, e), 1))
            e.store(e.load(buffer.memref, index), of, place)

    def _steps(self, points: Sequence[CoordinateValues], kept: Sequence[SSAValue], lane: list[Num]) -> None:
        """Emit consecutive steps, after loads of all inputs."""
        e, depth = self.e, self.recurrence.depth
        body = SharedBody(self)
        old: list[dict[ReadOp, SSAValue]] = []
        standing: list[list[SSAValue | None]] = []
        for where in points:
            old.append({r: self._read_old(r, where) for r, back in self.recurrence.back.items() if back <= 0})
            standing.append([self._standing(number, where) for number in range(len(kept))])
            body.prepare(where, old[-1].get)
        last = [[e.load(of, [back, *lane]) for back in range(depth)] for of in kept]
        for where, loaded, stands in zip(points, old, standing, strict=True):

            def own(read: ReadOp, loaded: dict[ReadOp, SSAValue] = loaded) -> SSAValue:
                if read in loaded:
                    return loaded[read]
                return last[self.op.currents.index(read.source)][self.recurrence.back[read] - 1]  # type: ignore[arg-type]

            terms, counts = body.at(where, own)
            new = [self.left(number, stands[number], term, counts) for number, term in enumerate(terms)]
            self._store(where, new)
            for number, value in enumerate(new):
                last[number] = [value, *last[number][:-1]]
        for of, values in zip(kept, last, strict=True):
            for back, value in enumerate(values):
                e.store(value, of, [back, *lane])

    def _store(self, where: CoordinateValues, values: Sequence[SSAValue]) -> None:
        """Store the results of a step, or the values that a stage behind makes of them, where the call needs them."""
        e = self.e
        if not self.stores_out_of_place:
            for number, value in enumerate(values):
                e.store(value, self.old(number).memref, self._position(number, where))
            return
        ends, dim = Ends(self), self.recurrence.dim
        position = ends.position(where)
        with e.when(e.within(e.sub(position[dim], self.out.mins[dim]), self.out.extent(dim, e))):
            ends.store_at(position, values)

    def _others_of_all(self, where: CoordinateValues, rest: Num) -> None:
        """Store the results of the points that no step writes, of all lines of a thread."""
        e = self.e
        width = self.schedule.width
        with e.loop(e.min(rest, width) if width > 1 else 1, "i") as i:
            firsts = [line.coordinate for line in self.recurrence.lines[:1]]
            self._store_others(where | {first: e.add(where[first], i) for first in firsts})

    def _store_others(self, line: CoordinateValues) -> None:
        """Store the results of a line's points that no step writes: their old values."""
        e, along, dim = self.e, self.recurrence.along, self.recurrence.dim
        ends = Ends(self)
        first, last = (ends.position(line | {along: e.add(self.low, k)}) for k in (0, e.sub(e.max(self.steps, 0), 1)))
        if not self.recurrence.goes_up:
            first, last = last, first
        low = self.out.mins[dim]
        end = e.add(low, self.out.extent(dim, e))
        for begin, stop in ((low, e.min(first[dim], end)), (e.max(e.add(last[dim], 1), low), end)):
            with e.loop(e.max(e.sub(stop, begin), 0), "other") as i:
                position = [*first[:dim], e.add(begin, i), *first[dim + 1 :]]
                buffers = [self.old(number) for number in range(len(self.op.old_funcs))]
                inner = Ends(self)
                inner.store_at(position, [e.load(old.memref, old.index(position, e)) for old in buffers])

    def _standing(self, number: int, where: CoordinateValues) -> SSAValue | None:
        """Load the old value where a step writes, if needed."""
        if self.op.combiners[number] == SET and self.op.write_op.predicate is None:
            return None
        return self.e.load(self.old(number).memref, self._position(number, where))

    def _read_old(self, read: ReadOp, where: CoordinateValues) -> SSAValue:
        """Load a value of the update itself that no step has written yet."""
        buffer = self.old(self.op.currents.index(read.source))  # type: ignore[arg-type]
        return self.e.load(buffer.memref, buffer.index(self._indices(read, where), self.e))

    def _position(self, number: int, where: CoordinateValues) -> list[Num]:
        return self.old(number).index(self._indices(self.op.write_op, where), self.e)

    def _indices(self, op: ReadOp | WriteOp, where: CoordinateValues) -> list[Num]:
        operands = [where[v] if v in where else self.scalar(v) for v in op.indices]
        return [self.e.affine(x, operands) for x in op.map.data.results]
