"""Emission of a recurrence on a CPU whose lines are stored along rows, as in a filter with transposed output.

    for each slice of the steps, from a multiple of its size along a row of the output to the next:
      for each step: the results of all lines of the thread, side by side, go into an array
      for each line: its results in the slice, side by side in a row of the output

So each line of the cache is written once, and as a whole. Results are those of the definition to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tilefuse.analysis.recurrence import Recurrence
from tilefuse.dialects.img.ops import GroupOp, UpdateOp
from tilefuse.dialects.img.types import element_bytes, storage_type
from tilefuse.execution.scan.attribute import ScanSchedule
from tilefuse.execution.scan.emission import CoordinateValues, ScanKernel
from tilefuse.execution.scan.staged import is_transposed
from tilefuse.lowering.emit import PRIVATE, Num
from tilefuse.lowering.symbols import identifier
from tilefuse.lowering.update_ends import Ends
from tilefuse.lowering.workspaces import Workspace


def transposed_scan_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group whose schedule has a slice of several lines of a thread."""
    return TransposedScan(group).emit()


def is_stored_along_rows(found: Recurrence, permutation: Sequence[int]) -> bool:
    """Whether lines that are adjacent when computed are rows of the stored functions."""
    return bool(found.lines) and found.lines[0].dim == 0 and is_transposed(found, permutation)


def transposed_scan_bytes(update: UpdateOp, schedule: ScanSchedule) -> int:
    """Return the bytes of a thread's arrays."""
    each = (element_bytes(old.type.element) for old in update.old_funcs)  # type: ignore[attr-defined]
    return prod(_shape(schedule)) * sum(each)


def _shape(schedule: ScanSchedule) -> tuple[int, int]:
    """Return the extents of an array, with a row pitch that avoids cache-set conflicts of columns."""
    return schedule.slice, schedule.width + 1


class TransposedScan(ScanKernel):
    """The kernel while it is emitted."""

    def __init__(self, group: GroupOp, workspaces: Sequence[Workspace] = ()):
        super().__init__(group, workspaces)
        self.results: list[SSAValue] = []
        """Results of a slice, per function: by their order along a row of the output, and by line."""
        self.row_and_line: tuple[Num, Num] = (0, 0)
        """Where those of the present step of a line go."""

    def _lines_together(self, where: CoordinateValues, rest: Num) -> None:
        types = [storage_type(self.element(number)) for number in range(len(self.op.old_funcs))]
        self.results = [self.e.alloca(_shape(self.schedule), type, PRIVATE, "results") for type in types]
        kept, count = self._kept_of_lanes(where, rest)
        self._slices(where, count, kept)

    def _slices(self, where: CoordinateValues, count: Num, kept: Sequence[SSAValue]) -> None:
        """Take all steps of `count` lines, a slice after the other."""
        e, size, dim, goes_up = self.e, self.schedule.slice, self.recurrence.dim, self.recurrence.goes_up
        first = e.sub(Ends(self).position(self._at(where, 0))[dim], self.out.mins[dim])
        place = e.mod(first, size)
        before = place if goes_up else e.sub(size - 1, place)
        steps = e.max(self.steps, 0)
        with e.loop(e.ceildiv(e.add(steps, before), size), "slice") as number:
            start = e.sub(e.mul(number, size), before)
            last = e.add(start, size - 1)
            begin, end = e.max(start, 0), e.min(e.add(last, 1), steps)
            with e.loop(end, identifier(self.recurrence.along.name_hint or "r"), start=begin) as k:
                row = e.sub(k, start) if goes_up else e.sub(last, k)
                with self._lanes(where, count) as (i, line):
                    self.row_and_line = (row, i)
                    self._steps([self._at(line, k)], kept, [i])
            if goes_up:
                self._store_slice(where, count, e.add(first, start), (e.sub(begin, start), e.sub(end, start)))
            else:
                rows = e.sub(e.add(last, 1), end), e.sub(e.add(last, 1), begin)
                self._store_slice(where, count, e.sub(first, last), rows)

    def _store(self, where: CoordinateValues, values: Sequence[SSAValue]) -> None:
        """Put the results of a step into the arrays."""
        for value, array in zip(values, self.results, strict=True):
            self.e.store(value, array, self.row_and_line)

    def _store_slice(self, where: CoordinateValues, count: Num, start: Num, rows: tuple[Num, Num]) -> None:
        """Store the rows of the arrays that the call needs; `start`: of row 0, from the output's first point on."""
        e, dim, first = self.e, self.recurrence.dim, self.recurrence.lines[0].coordinate
        low = e.max(rows[0], e.sub(0, start))
        high = e.min(rows[1], e.sub(self.out.extent(dim, e), start))
        ahead = self.schedule.prefetch * self.schedule.slice * (1 if self.recurrence.goes_up else -1)
        with e.loop(count, "i") as i:
            line = self._at(where | {first: e.add(where[first], i)}, 0)

            def position(ends: Ends, row: Num, line: CoordinateValues = line) -> list[Num]:
                point = ends.position(line)
                point[dim] = e.add(e.add(start, row), self.out.mins[dim])
                return point

            if ahead:
                ends = Ends(self)
                ends.prefetch_at(position(ends, ahead), self.schedule.slice)
            with e.loop(high, "row", start=low, simd=True) as row:
                ends = Ends(self)
                ends.store_at(position(ends, row), [e.load(array, [row, i]) for array in self.results])
