"""The kernel of an update: a thread per pure point, which goes over the reduction domain in order.

It writes over the old functions, where they lie; the box of the new ones says over which pure points. Right for every
update, whatever it reads and writes: pure points never see one another.
"""

from __future__ import annotations

from contextlib import ExitStack

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import SET, GroupOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.execution.in_order.attribute import InOrderSchedule
from tilefuse.lowering.emit import Num
from tilefuse.lowering.reads import KernelBuffer
from tilefuse.lowering.update_body import UpdateBody, UpdateFunction, domain_loops, pure_point


def update_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group that holds an update."""
    function, schedule = UpdateFunction(group), InOrderSchedule.expect(group.schedule)
    where: dict[SSAValue, Num] = {}
    with ExitStack() as open_scopes:
        pure_point(function, schedule.tile_sizes, where, open_scopes)
        if domain_loops(function, where, open_scopes):
            if schedule.points > 1:
                _points_of_a_thread(function, schedule.points, where, open_scopes)
            body = UpdateBody(function, where)
            body.compute()
            with function.e.when(body.predicate()):
                _write(function, body)
    return function.finished()


def _points_of_a_thread(
    function: UpdateFunction, count: int, where: dict[SSAValue, Num], open_scopes: ExitStack
) -> None:
    """Open the loop over the points side by side, as far as the picture goes; `where` has the first."""
    e, x, d = function.e, function.op.pure[0], function.op.pure_dims[0]
    first = where[x]
    end = e.sub(e.add(function.out.mins[d], function.out.extent(d, e)), first)
    point = open_scopes.enter_context(e.loop(e.min(end, count), "x", simd=True))
    where[x] = e.add(first, point)


def _write(function: UpdateFunction, body: UpdateBody) -> None:
    """Write the values of all functions, when all are computed."""
    e, op = function.e, function.op
    where = body.position()
    written: list[tuple[SSAValue, KernelBuffer, list[Num]]] = []
    for number, (way, new) in enumerate(zip(op.combiners, body.terms(), strict=True)):
        buffer = function.old(number)
        index = buffer.index(where, e)
        if way != SET:
            type = op.olds[number].type
            assert isinstance(type, FuncType)
            new = e.op(combined(way, type.element, e.load(buffer.memref, index), new))
        written.append((new, buffer, index))
    for new, buffer, index in written:
        e.store(new, buffer.memref, index)
