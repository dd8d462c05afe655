"""Row processing on a CPU: a vectorised loop computes places and terms, a second one updates the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from tilefuse.dialects.img.types import storage_type
from tilefuse.execution.inside import EndPlaces, FreeReads, bounded_reads, reads_inside
from tilefuse.execution.scatter.table import TableWindow
from tilefuse.lowering.emit import INDEX, PRIVATE, Num
from tilefuse.lowering.update_body import UpdateBody, UpdateFunction


@dataclass(frozen=True)
class TwoPasses:
    """The table of a block's only thread, with rows of points that all count."""

    function: UpdateFunction
    box: TableWindow
    points: int
    """Largest number of points of a row."""
    copies: int
    """Copies of each element."""
    elements: Sequence[Attribute]
    join: Callable[[int, Num, SSAValue], None]
    """Join a value with an element of the table of a function."""

    def take(self, where: dict[SSAValue, Num], first: Num, count: Num) -> None:
        """Process the points from `first`."""
        e, op = self.function.e, self.function.op
        terms = op.write_op.values
        known = [isinstance(v.owner, arith.ConstantOp) for v in terms]
        places = e.alloca([self.points], i32, PRIVATE, "places")
        kept = [e.alloca([self.points], storage_type(t), PRIVATE, "terms") for t in self.elements]
        ends: dict[SSAValue, EndPlaces] = {coordinate: (n, n) for coordinate, n in where.items()}
        ends[op.domain[0].coordinate] = (first, e.sub(e.add(first, count), 1))
        reads = bounded_reads(op.body.block.ops, ends)
        inside = reads_inside(e, self.function.tile, reads, ends)

        def compute(free: FreeReads) -> None:
            with e.loop(count, "i", simd=True) as i:
                body = UpdateBody(self.function, {**where, op.domain[0].coordinate: e.add(first, i)}, free=free)
                body.compute()
                number = e.value(self.box.number(e, body.position()))
                e.store(e.op(arith.IndexCastOp(number, i32)), places, [i])
                for term, array, is_known in zip(body.terms(), kept, known, strict=True):
                    if not is_known:
                        e.store(term, array, [i])

        if inside is None:
            compute({})
        else:
            e.choose(inside, lambda: compute(reads), lambda: compute({}))
        with e.loop(count, "i") as i:
            number = e.op(arith.IndexCastOp(e.load(places, [i]), INDEX))
            copy = e.op(arith.AndIOp(e.value(i), e.value(self.copies - 1))) if self.copies > 1 else 0
            at = e.add(e.mul(number, self.copies), copy)
            body = UpdateBody(self.function, where)
            for n, (value, array, is_known) in enumerate(zip(terms, kept, known, strict=True)):
                self.join(n, at, body.value(value) if is_known else e.load(array, [i]))
