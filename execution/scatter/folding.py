"""Emission of a deterministic scatter: the bits of its results do not vary, as float sums need.

    thread t of block b:
      its own copy of the table takes the values of its points, which are the same in each call
      the block joins the copies of each element, in an order that depends on the element, and leaves it in a workspace
      the last block to come that far joins what all blocks have left, block 0 first, and that with memory

No two threads write at one place, so elements may be of any size, and combiners what they like.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from xdsl.dialects import arith, func, gpu
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, i32
from xdsl.ir import SSAValue

from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.memref_atomics import AtomicRMWOp
from tilefuse.dialects.nvvm import MemoryBarrierOp, MemScope
from tilefuse.execution.scatter.attribute import ScatterSchedule
from tilefuse.execution.scatter.emission import ScatterKernel
from tilefuse.execution.scatter.table import TableWindow, window
from tilefuse.lowering.emit import PRIVATE, SHARED, Num
from tilefuse.lowering.workspaces import Call, Workspace

POINT_TICKETS = "tickets"
"""The workspace that counts the blocks of each pure point that are done."""


def table_name(number: int) -> str:
    """Return the name of the workspace with the tables of all blocks, for function `number`."""
    return f"tables{number}"


def fold_workspaces(group: GroupOp) -> Sequence[Workspace]:
    """Return the workspaces: the tables of all blocks, and tickets."""
    schedule, update = ScatterSchedule.expect(group.schedule), group.update
    assert update is not None
    box = window(update)
    assert box is not None

    def points(call: Call) -> Sequence[int]:
        extents = call.boxes[group.funcs[0]]
        return (math.prod(extents[d][1] for d in update.pure_dims),)

    types = [old.type.storage for old in update.old_funcs if isinstance(old.type, FuncType)]
    shapes = [MemRefType(t, [DYNAMIC_INDEX, schedule.number("split"), box.size]) for t in types]
    tables = [Workspace(table_name(i), shape, points) for i, shape in enumerate(shapes)]
    return (*tables, Workspace(POINT_TICKETS, MemRefType(i32, [DYNAMIC_INDEX]), points, clear=0))


def folding_kernel(group: GroupOp, aligned: Collection[SSAValue]) -> func.FuncOp:
    """Emit the kernel; `aligned`: the functions with vector-aligned rows."""
    return _Folding(group, aligned, fold_workspaces(group)).emit()


class _Folding(ScatterKernel):
    def join_in_table(self, number: int, at: Num, value: SSAValue) -> None:
        """Combine a value with the thread's own element, without atomics."""
        e, table = self.e, self.tables[number]
        old = e.load(table, [at])
        e.store(e.op(combined(self.op.combiners[number], self.elements[number], old, value)), table, [at])

    def add_to_memory(self, box: TableWindow) -> None:
        """Combine the copies in the block, then, in the last block, the results of all blocks."""
        e, last = self.e, self.e.alloca([1], i32, SHARED, "last")
        tickets = self.function.workspaces[POINT_TICKETS]
        with self.thread() as thread:
            with e.loop(box.size, "i", start=thread, step=self.threads) as i:
                for number in range(len(self.tables)):
                    self._leave(number, i)
            e.effect(MemoryBarrierOp(MemScope.Gpu))
        e.effect(gpu.BarrierOp())
        with self.thread() as thread, e.when(e.compare("eq", thread, 0)):
            one = e.op(arith.ConstantOp(IntegerAttr(1, i32)))
            e.store(e.op(AtomicRMWOp("addi", one, tickets, [e.value(self.point)])), last, [0])
        e.effect(gpu.BarrierOp())
        with self.thread() as thread:
            most = e.op(arith.ConstantOp(IntegerAttr(self.blocks - 1, i32)))
            with e.when(e.op(arith.CmpiOp(e.load(last, [0]), most, "eq"))):
                e.effect(MemoryBarrierOp(MemScope.Gpu))
                with e.loop(box.size, "i", start=thread, step=self.threads) as i:
                    self._take_all(box, i)

    def _sum(self, number: int) -> SSAValue:
        """Declare a thread's sum with the neutral value."""
        e, element = self.e, self.elements[number]
        nothing = self.nothing(self.op.combiners[number], element)
        found = e.alloca([1], nothing.type, PRIVATE, "sum")
        e.store(nothing, found, [0])
        return found

    def _add(self, number: int, total: SSAValue, value: SSAValue) -> None:
        e = self.e
        joined = combined(self.op.combiners[number], self.elements[number], e.load(total, [0]), value)
        e.store(e.op(joined), total, [0])

    def _leave(self, number: int, i: Num) -> None:
        """Combine the copies of an element, and store the result for the last block."""
        e, total, first = self.e, self._sum(number), self.e.mul(i, self.copies)
        with e.loop(self.copies, "c") as c:
            # of neighbouring threads each begins with another copy: they lie in different banks
            turned = e.op(arith.AndIOp(e.value(e.add(i, c)), e.value(self.copies - 1)))
            self._add(number, total, e.load(self.tables[number], [e.add(first, turned)]))
        target = self.function.workspaces[table_name(number)]
        e.store(e.load(total, [0]), target, [self.point, self.part, i])

    def _take_all(self, box: TableWindow, i: Num) -> None:
        """Combine an element of all blocks, and the result with memory."""
        e = self.e
        pure = {dim: self.pure[c] for c, dim in zip(self.op.pure, self.op.pure_dims, strict=True)}
        position = box.position(e, i, pure)
        for number, (way, element) in enumerate(zip(self.op.combiners, self.elements, strict=True)):
            total, left = self._sum(number), self.function.workspaces[table_name(number)]
            with e.loop(self.blocks, "b") as b:
                self._add(number, total, e.load(left, [self.point, b, i]))
            buffer = self.function.old(number)
            with e.when(box.in_memory(e, position, buffer)):
                index = buffer.index(position, e)
                new = combined(way, element, e.load(buffer.memref, index), e.load(total, [0]))
                e.store(e.op(new), buffer.memref, index)
