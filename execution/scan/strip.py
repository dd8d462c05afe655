"""Emission of several updates along the same lines on a CPU, such as a filter down all columns and up again.

    for each strip of lines side by side, one after the other in a block:
      the old values of the lines go into the strip, which is memory of the block's own
      for each update but the last one: its points in order, each of all lines of the strip
      the last update, a recurrence: its results are stored

So the functions in between never leave the cache. Results are those of the definition to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue

from tilefuse.analysis.index_sums import IndexSum
from tilefuse.analysis.recurrence import Recurrence, recurrence
from tilefuse.analysis.updates import UpdateFacts
from tilefuse.dialects.img.ops import GroupOp, UpdateOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.execution.scan.attribute import ScanSchedule
from tilefuse.execution.scan.emission import CoordinateValues, ScanKernel
from tilefuse.execution.scan.line_updates import places_along, run_of_places
from tilefuse.execution.scan.transposed import TransposedScan
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.update_body import UpdateBody, domain_loops
from tilefuse.lowering.update_ends import Ends
from tilefuse.lowering.workspaces import Call, Workspace


def strip_scan_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group with several updates, of which the last is a recurrence."""
    kernel = _TransposedStripScan if ScanSchedule.expect(group.schedule).stores_slices else _StripScan
    return kernel(group, strip_workspaces(group)).emit()


def strip_workspaces(group: GroupOp) -> Sequence[Workspace]:
    """Return the workspaces: the strips of all blocks, one per function, by block, point of a line, and line."""
    schedule, update = ScanSchedule.expect(group.schedule), group.update
    assert update is not None
    found = recurrence(UpdateFacts(update))
    assert isinstance(found, Recurrence)

    def points(call: Call) -> Sequence[int]:
        # all that the updates write and read is in the box of what they start from
        return (call.boxes[group.old_funcs[0]][found.dim][1],)

    shape = [schedule.workers, DYNAMIC_INDEX, schedule.width]
    types = [cast(FuncType, old.type).storage for old in group.old_funcs]
    return [Workspace(_strip_name(i), MemRefType(type, shape), points) for i, type in enumerate(types)]


def _strip_name(number: int) -> str:
    return f"strip{number}"


@dataclass
class _Strip(KernelBuffer):
    """The values of a function on the lines of a strip, whose first point and line are `mins`."""

    block: Num = 0
    dim: int = 0
    """The dimension along which lines go."""
    points: Num = 0
    """Number of points of a line."""

    def index(self, coordinates: Sequence[Num], e: Emitter) -> list[Num]:
        """Return the memref indices of a point."""
        place, line = (e.sub(coordinates[d], self.mins[d]) for d in (self.dim, 0))
        return [self.block, place, line]

    def axis(self, dim: int) -> int:
        """Return the axis of the memref along the lines."""
        assert dim == self.dim
        return 1

    def extent(self, dim: int, e: Emitter) -> Num:
        """Return the extent along the lines."""
        assert dim == self.dim
        return self.points


class _StripScan(ScanKernel):
    block: Num = 0
    first: Num = 0
    """The first line of the strip along x."""

    @property
    def stores_out_of_place(self) -> bool:
        return self.op is self.group.update

    def _line(self, open_scopes: ExitStack) -> tuple[CoordinateValues, Num]:
        """Open the loops over blocks and their strips; return the first line of a strip, and its number of lines."""
        e, lines, schedule = self.e, self.recurrence.lines, self.schedule
        (low, high), _ = self._span_of_strip, self._overwritten  # outside of all loops
        extents = [self.out.extent(line.dim, e) for line in lines]
        counts = [e.ceildiv(n, size) for n, size in zip(extents, schedule.tile_sizes, strict=True)]
        total: Num = 1
        for n in counts:
            total = e.mul(total, n)
        each = e.ceildiv(total, schedule.workers)
        (self.block,) = self.block_loops([schedule.workers], open_scopes)
        first = e.mul(self.block, each)
        number = open_scopes.enter_context(e.loop(e.min(e.add(first, each), total), "strip", start=first))
        offsets: list[Num] = []
        for n, size in zip(counts[:-1], schedule.tile_sizes, strict=False):
            quotient = e.op(arith.DivUIOp(e.value(number), e.value(n)))
            offsets.append(e.mul(e.sub(number, e.mul(quotient, n)), size))
            number = quotient
        offsets.append(e.mul(number, schedule.tile_sizes[-1]))
        where = {
            line.coordinate: e.add(self.out.mins[line.dim], offset) for line, offset in zip(lines, offsets, strict=True)
        }
        self.first = where[lines[0].coordinate]
        self.points = e.add(e.sub(high, low), 1)
        return where, e.sub(extents[0], offsets[0])

    def old(self, number: int) -> KernelBuffer:
        mins: list[Num] = [0] * self.op.rank
        mins[0], mins[self.recurrence.dim] = self.first, self._span_of_strip[0]
        return _Strip(self.workspaces[_strip_name(number)], mins, self.block, self.recurrence.dim, self.points)

    @cached_property
    def targets(self) -> list[KernelBuffer]:
        if self.group.fused_stages:
            return [self.tile.buffers[f] for f in self.group.funcs]
        return [self.tile.buffers[old] for old in self.group.old_funcs]

    def _before(self, where: CoordinateValues, rest: Num) -> None:
        """Fill the strip with the initial values of the updates, and run all updates but the last."""
        e, count = self.e, self.e.min(rest, self.schedule.width)
        low, end = self._span_of_strip[0], e.add(self._span_of_strip[1], 1)
        unset = [(low, end)]
        if (spared := self._overwritten) is not None:
            unset = [(low, e.min(spared[0], end)), (e.max(e.add(spared[1], 1), low), end)]
        for start, stop in unset:
            with e.loop(e.sub(stop, start), "point") as point, self._lanes(where, count) as (_, line):
                position = self._on_line(line, e.add(start, point))
                for number, value in enumerate(self._initial(position)):
                    e.store(value, self.old(number).memref, self.old(number).index(position, e))
        for update in self.group.earlier_updates:
            found = recurrence(UpdateFacts(update))
            if isinstance(found, Recurrence):
                on_line = self._on_line(where, 0)
                firsts = {line.coordinate: on_line[line.dim] for line in found.lines}
                with self._instead(update, found):
                    if self.has_steps:
                        ScanKernel._lines_together(self, firsts, count)
            else:
                with self._instead(update):
                    self._take_points(where, count)

    def _initial(self, position: Sequence[Num]) -> list[SSAValue]:
        if self.prologue is not None:
            return Ends(self).start_at(position)
        buffers = (self.tile.buffers[old] for old in self.group.old_funcs)
        return [self.e.load(buffer.memref, buffer.index(position, self.e)) for buffer in buffers]

    def _on_line(self, line: CoordinateValues, place: Num) -> list[Num]:
        """Return a point of a line."""
        by_dim = {of.dim: line[of.coordinate] for of in self.recurrence.lines}
        return [place if d == self.recurrence.dim else by_dim[d] for d in range(self.op.rank)]

    @contextmanager
    def _instead(self, update: UpdateOp, found: Recurrence | None = None) -> Iterator[None]:
        """Emit another update inside, a recurrence if `found` is given, in place of the last one."""
        last = self.op, self.terms, self.recurrence, self.low, self.steps
        self.op, self.terms = update, list(update.write_op.values)
        if found is not None:
            self._of(update, found)
        yield
        self.op, self.terms, self.recurrence, self.low, self.steps = last

    def _store(self, where: CoordinateValues, values: Sequence[SSAValue]) -> None:
        if self.stores_out_of_place:
            super()._store(where, values)
        else:
            ScanKernel._store(self, where, values)

    def _prefetch(self, where: CoordinateValues) -> None:
        if self.stores_out_of_place:  # else it writes to the strip, which is in the cache
            super()._prefetch(where)

    def _take_points(self, where: CoordinateValues, count: Num) -> None:
        """Run the points of an update in order, each for all lines of the strip."""
        domain: CoordinateValues = {}
        with ExitStack() as loops:
            if not domain_loops(self, domain, loops):
                return
            _, line = loops.enter_context(self._lanes(where, count))
            on_line = self._on_line(line, 0)
            pure = {c: on_line[d] for c, d in zip(self.op.pure, self.op.pure_dims, strict=True)}
            body = UpdateBody(self, domain | pure)
            body.compute()
            body.write(body.predicate())

    @cached_property
    def _span_of_strip(self) -> tuple[Num, Num]:
        """Return the first and last place along the lines that is stored, or that an update touches."""
        e, dim = self.e, self.recurrence.dim
        low = self.out.mins[dim]
        high = e.sub(e.add(low, self.out.extent(dim, e)), 1)
        for update in self.group.updates:
            runs = self._runs(update)
            for first, last in [self._ends(update, place) for place in places_along(update, self.recurrence)]:
                low, high = e.min(low, self._if(runs, first, low)), e.max(high, self._if(runs, last, high))
        return low, high

    @cached_property
    def _overwritten(self) -> tuple[Num, Num] | None:
        """Return the first and last place that earlier updates set before anything reads them; None for none."""
        e, low = self.e, self._span_of_strip[0]
        found: tuple[Num, Num] | None = None
        for update in self.group.earlier_updates:
            run = run_of_places(update, self.recurrence)
            if run is None or (run.reads and found is None):
                break
            runs, (first, last) = self._runs(update), self._ends(update, run.places)
            if found is None:
                found = self._if(runs, first, low), self._if(runs, last, e.sub(low, 1))
                continue
            # what its first step reads is there, and so there is no gap
            reads = max(run.reads, 1)
            near, far = (e.sub(first, 1), e.sub(first, reads)) if run.goes_up else (e.add(last, 1), e.add(last, reads))
            least, most = (far, near) if run.goes_up else (near, far)
            is_there = e.both(e.compare("sge", least, found[0]), e.compare("sle", most, found[1]))
            runs = e.both(runs, is_there)
            found = e.min(found[0], self._if(runs, first, found[0])), e.max(found[1], self._if(runs, last, found[1]))
        return found

    def _runs(self, update: UpdateOp) -> SSAValue | None:
        """Return whether the domain of an update has points; None if it certainly has."""
        e, runs = self.e, None
        for axis in update.domain:
            runs = e.both(runs, e.compare("sgt", self.scalar(axis.extent), 0))
        return runs

    def _if(self, condition: SSAValue | None, a: Num, b: Num) -> Num:
        return a if condition is None else self.e.pick(condition, a, b)

    def _ends(self, update: UpdateOp, place: IndexSum) -> tuple[Num, Num]:
        """Return the least and the greatest value of an index."""
        e, spans = self.e, dict[SSAValue, tuple[Num, Num]]()
        for axis in update.domain:
            start, extent = self.scalar(axis.min), self.scalar(axis.extent)
            spans[axis.coordinate] = start, e.sub(e.add(start, extent), 1)
        low: Num = place.constant
        high: Num = place.constant
        for value, factor in place.terms.items():
            first, last = spans[value] if value in spans else [self.scalar(value)] * 2
            first, last = (first, last) if factor > 0 else (last, first)
            low, high = e.add(low, e.mul(first, factor)), e.add(high, e.mul(last, factor))
        return low, high


class _TransposedStripScan(_StripScan, TransposedScan):
    """Stores slices of the last update's results along rows."""
