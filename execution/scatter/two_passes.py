"""Points of a row on a CPU: a loop of vectors computes where they go, and what; another joins that with a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from tilefuse.dialects.img.types import storage_type
from tilefuse.lowering.emit import INDEX, PRIVATE, Num
from tilefuse.lowering.update_body import UpdateBody

if TYPE_CHECKING:
    from tilefuse.execution.scatter.emission import ScatterKernel


def runs_in_two_passes(kernel: ScatterKernel) -> bool:
    """Whether a block is one thread with a table, and all points count."""
    one_thread = kernel.threads == 1 and kernel.points > 1
    return one_thread and kernel.window is not None and kernel.op.write_op.predicate is None


def take_in_two_passes(kernel: ScatterKernel, where: dict[SSAValue, Num], first: Num, count: Num) -> None:
    """Take `count` points, as many as the schedule has `points` at most, from `first` on."""
    e, op, box = kernel.e, kernel.op, kernel.window
    assert box is not None
    inner = op.domain[0].coordinate
    terms = op.write_op.values
    known = [isinstance(v.owner, arith.ConstantOp) for v in terms]
    places = e.alloca([kernel.points], i32, PRIVATE, "places")
    kept = [e.alloca([kernel.points], storage_type(t), PRIVATE, "terms") for t in kernel.elements]
    with e.loop(count, "i", simd=True) as i:
        body = UpdateBody(kernel.function, {**where, inner: e.add(first, i)})
        body.compute()
        number = e.value(box.number(e, body.position()))
        e.store(e.op(arith.IndexCastOp(number, i32)), places, [i])
        for term, array, is_known in zip(body.terms(), kept, known, strict=True):
            if not is_known:
                e.store(term, array, [i])
    with e.loop(count, "i") as i:
        number = e.op(arith.IndexCastOp(e.load(places, [i]), INDEX))
        copy = e.op(arith.AndIOp(e.value(i), e.value(kernel.copies - 1))) if kernel.copies > 1 else 0
        at = e.add(e.mul(number, kernel.copies), copy)
        body = UpdateBody(kernel.function, where)
        for n, (value, array, is_known) in enumerate(zip(terms, kept, known, strict=True)):
            kernel.join_in_table(n, at, body.value(value) if is_known else e.load(array, [i]))
