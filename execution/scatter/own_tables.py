"""The kernel of a scatter whose threads have tables of their own: right for every combiner, as each goes in order.

thread t, with a pure point:
  its table takes what stands in memory, at all places that the domain may write for this point
  the points of the domain, in order, change the table
  the table goes back to memory
"""

from __future__ import annotations

from contextlib import ExitStack

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import SET, GroupOp
from tilefuse.dialects.img.types import FuncType, storage_type
from tilefuse.execution.scatter.attribute import ScatterSchedule
from tilefuse.execution.scatter.table import window
from tilefuse.lowering.emit import SHARED, Num
from tilefuse.lowering.update_body import UpdateBody, UpdateFunction, domain_loops, pure_point


def own_tables_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel."""
    function = UpdateFunction(group)
    e, op = function.e, function.op
    where: dict[SSAValue, Num] = {}
    schedule, box = ScatterSchedule.expect(group.schedule), window(op)
    assert box is not None
    count = schedule.threads_per_block
    elements = [old.type.element for old in op.olds if isinstance(old.type, FuncType)]
    with ExitStack() as of_point:
        thread = pure_point(function, schedule.thread_counts, where, of_point)
        tables = [e.alloca([box.size * count], storage_type(t), SHARED, "table") for t in elements]
        pure: dict[int, Num] = {dim: where[c] for c, dim in zip(op.pure, op.pure_dims, strict=True)}

        def place(number: Num) -> list[Num]:
            # elements of one number lie side by side: no two lanes meet at a bank
            return [e.add(e.mul(number, count), thread)]

        def memory(number: int, i: Num) -> tuple[SSAValue, list[Num]]:
            buffer = function.old(number)
            return buffer.memref, buffer.index(box.position(e, i, pure), e)

        with e.loop(box.size, "i") as i:
            for number, table in enumerate(tables):
                e.store(e.load(*memory(number, i)), table, place(i))
        with ExitStack() as of_domain:
            if domain_loops(function, where, of_domain):
                body = UpdateBody(function, where)
                body.compute()
                of_domain.enter_context(e.when(body.predicate()))
                at = place(box.number(e, body.position()))
                for table, way, element, new in zip(tables, op.combiners, elements, body.terms(), strict=True):
                    if way != SET:
                        new = e.op(combined(way, element, e.load(table, at), new))
                    e.store(new, table, at)
        with e.loop(box.size, "i") as i:
            for number, table in enumerate(tables):
                e.store(e.load(table, place(i)), *memory(number, i))
    return function.finished()
