"""Emission of a scatter with a table per thread: valid for every combiner, as each thread goes in order.

thread t, with a pure point, or some side by side, each with a table:
  the table takes what stands in memory, or what the stage beside the update says, at all places that the domain may
  write for this point
  the points of the domain, in order, change the table
  the table goes back to memory; around it, what the stage says
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import cast

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tilefuse.analysis.access import reads
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import SET, GroupOp, StageOp
from tilefuse.dialects.img.types import FuncType, storage_type
from tilefuse.execution.scatter.attribute import ScatterSchedule
from tilefuse.execution.scatter.table import window
from tilefuse.lowering.emit import SHARED, Num
from tilefuse.lowering.update_body import PointRow, UpdateBody, UpdateFunction, domain_loops, pure_point
from tilefuse.lowering.update_ends import Ends


def thread_tables_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel."""
    return _ThreadTables(group).emit()


class _ThreadTables:
    """The kernel during emission."""

    def __init__(self, group: GroupOp):
        self.function = UpdateFunction(group)
        self.e, self.op = self.function.e, self.function.op
        schedule, box = ScatterSchedule.expect(group.schedule), window(self.op)
        assert box is not None
        self.box, self.points = box, schedule.number("points")
        self.thread_counts, self.threads = schedule.thread_counts, schedule.threads_per_block
        self.elements = [old.type.element for old in self.op.old_funcs if isinstance(old.type, FuncType)]
        self.tables: list[SSAValue] = []
        self.thread: Num = 0
        self.where: dict[SSAValue, Num] = {}
        """The first pure point of the thread."""

    def emit(self) -> func.FuncOp:
        """Emit the function of the kernel."""
        e = self.e
        with ExitStack() as of_point:
            self.thread = pure_point(self.function, self.thread_counts, self.where, of_point, self.points)
            count = self.box.size * self.threads * self.points
            self.tables = [e.alloca([count], storage_type(t), SHARED, "table") for t in self.elements]
            with e.loop(self.box.size, "i") as i:
                self._each_point(lambda k, pure: self._start(k, i, pure))
            self._accumulate()
            if self.function.prologue is None:
                with e.loop(self.box.size, "i") as i:
                    self._each_point(lambda k, pure: self._give_back(k, i, pure))
            else:
                self._each_point(self._store_all)
        return self.function.finished()

    def _row(self) -> PointRow:
        """Find the pure points of the thread, adjacent along the last coordinate."""
        if self.points == 1:
            return PointRow(None)
        dim, out = self.op.pure_dims[-1], self.function.out
        last = self.e.sub(self.e.add(out.mins[dim], out.extent(dim, self.e)), 1)
        return PointRow(self.op.pure[-1], self.points, last=last)

    def _each_point(self, what: Callable[[int, dict[int, Num]], None]) -> None:
        """Emit code for each pure point, given its number and its coordinates per dimension."""
        points = UpdateBody(self.function, self.where, self._row())
        for k in range(self.points):
            at = points.where(k)
            what(k, {dim: at[c] for c, dim in zip(self.op.pure, self.op.pure_dims, strict=True)})

    def _place(self, number: Num, k: int) -> list[Num]:
        """Return the index of an element in a table: lanes are interleaved, so that banks do not conflict."""
        e = self.e
        return [e.add(e.mul(e.add(e.mul(number, self.points), k), self.threads), self.thread)]

    def _start(self, k: int, i: Num, pure: dict[int, Num]) -> None:
        """Initialise an element of a table."""
        position, ends = self.box.position(self.e, i, pure), Ends(self.function)
        loads = ends.prologue is None or any(reads(cast(StageOp, ends.prologue.of)))
        with self.e.when(self._in_memory(position) if loads else None):
            for table, value in zip(self.tables, ends.start_at(position), strict=True):
                self.e.store(value, table, self._place(i, k))

    def _accumulate(self) -> None:
        """Apply the points of the domain, in order, to the tables."""
        e, op = self.e, self.op
        with ExitStack() as of_domain:
            where = dict(self.where)
            if not domain_loops(self.function, where, of_domain):
                return
            body = UpdateBody(self.function, where, self._row())
            body.compute()
            for k in range(self.points):
                with e.when(body.predicate(k)):
                    at = self._place(self.box.number(e, body.position(k)), k)
                    for table, way, element, new in zip(
                        self.tables, op.combiners, self.elements, body.terms(k), strict=True
                    ):
                        if way != SET:
                            new = e.op(combined(way, element, e.load(table, at), new))
                        e.store(new, table, at)

    def _give_back(self, k: int, i: Num, pure: dict[int, Num]) -> None:
        """Store an element of each table in memory, unless it lies outside the array."""
        position = self.box.position(self.e, i, pure)
        with self.e.when(self._in_memory(position)):
            self._to_memory(k, i, position)

    def _in_memory(self, position: Sequence[Num]) -> SSAValue | None:
        return self.box.in_memory(self.e, position, self.function.targets[0])

    def _to_memory(self, k: int, i: Num, position: Sequence[Num]) -> None:
        """Store an element of each table at its place in memory."""
        for table, target in zip(self.tables, self.function.targets, strict=True):
            self.e.store(self.e.load(table, self._place(i, k)), target.memref, target.index(position, self.e))

    def _store_all(self, k: int, pure: dict[int, Num]) -> None:
        """Store the result at a pure point: the table's elements, and the old values around them."""
        e, out, box = self.e, self.function.out, self.box
        with ExitStack() as scopes:
            position = dict(pure)
            for d in reversed(box.dims):
                position[d] = e.add(out.mins[d], scopes.enter_context(e.loop(out.extent(d, e), "i")))
            at = [position[d] for d in range(len(position))]
            inside: SSAValue | None = None
            for d, low, extent in zip(box.dims, box.mins, box.extents, strict=True):
                inside = e.both(inside, e.within(e.sub(at[d], low), extent))
            assert inside is not None

            def around() -> None:
                for target, value in zip(self.function.targets, Ends(self.function).start_at(at), strict=True):
                    e.store(value, target.memref, target.index(at, e))

            e.choose(inside, lambda: self._to_memory(k, box.number(e, at), at), around)
