"""Row processing on a CPU: a vectorised loop computes places and terms, a second one updates the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from tilefuse.execution.inside import EndPlaces, FreeReads, bounded_reads, reads_inside
from tilefuse.execution.scatter.table import TableWindow
from tilefuse.lowering.emit import INDEX, PRIVATE, Num
from tilefuse.lowering.kept_terms import KeptTerms
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
    join: Callable[[int, Num, SSAValue], None]
    """Join a value with an element of the table of a function."""

    def take(self, where: dict[SSAValue, Num], first: Num, count: Num) -> None:
        """Process the points from `first`."""
        e, op = self.function.e, self.function.op
        places = e.alloca([self.points], i32, PRIVATE, "places")
        kept = KeptTerms(self.function, self.points)
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
                kept.store(body, i)

        if inside is None:
            compute({})
        else:
            e.choose(inside, lambda: compute(reads), lambda: compute({}))
        with e.loop(count, "i") as i:
            number = e.op(arith.IndexCastOp(e.load(places, [i]), INDEX))
            copy = e.op(arith.AndIOp(e.value(i), e.value(self.copies - 1))) if self.copies > 1 else 0
            at = e.add(e.mul(number, self.copies), copy)
            for n, term in enumerate(kept.load(where, i)):
                self.join(n, at, term)
