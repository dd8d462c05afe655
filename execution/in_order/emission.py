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
    function = UpdateFunction(group)
    where: dict[SSAValue, Num] = {}
    with ExitStack() as open_scopes:
        pure_point(function, InOrderSchedule.expect(group.schedule).tile_sizes, where, open_scopes)
        if domain_loops(function, where, open_scopes):
            body = UpdateBody(function, where)
            body.compute()
            with function.e.when(body.predicate()):
                _write(function, body)
    return function.finished()


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
