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
from tilefuse.lowering.reads import Buffer
from tilefuse.lowering.update_body import UpdateKernel, UpdatePoint


def update_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group that holds an update."""
    kernel = UpdateKernel(group)
    with ExitStack() as open_scopes:
        where, _ = kernel.pure_point(open_scopes, InOrderSchedule.expect(group.schedule).thread_counts)
        if kernel.domain(open_scopes, where):
            point = kernel.at(where)
            point.compute()
            write = kernel.op.write_op
            with kernel.e.when(None if write.predicate is None else point.value(write.predicate)):
                _write(kernel, point)
    return kernel.finish()


def _write(kernel: UpdateKernel, point: UpdatePoint) -> None:
    """Write the values of all functions, when all are computed."""
    e, op = kernel.e, kernel.op
    where = point.indices(op.write_op)
    written: list[tuple[SSAValue, Buffer, list[Num]]] = []
    for number, (way, value) in enumerate(zip(op.combiners, op.write_op.values, strict=True)):
        buffer = kernel.old(number)
        index = buffer.index(where, e)
        new = point.value(value)
        if way != SET:
            type = op.olds[number].type
            assert isinstance(type, FuncType)
            new = e.op(combined(way, type.element, e.load(buffer.memref, index), new))
        written.append((new, buffer, index))
    for new, buffer, index in written:
        e.store(new, buffer.memref, index)
