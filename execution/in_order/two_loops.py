"""Data-dependent writes of a CPU's thread: a vectorised loop computes places and terms, a second one writes them.

Compilers cannot vectorise a loop that writes where data say. Planes whose writes go to corresponding places have them,
and the reads, in common.

    for x in the thread's points:  places[x], and terms[p][x] of each plane p
    for x in the thread's points:  f[places[x], p] = f[places[x], p] + terms[p][x] of each plane p
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from tilefuse.analysis.dependence import depending
from tilefuse.analysis.updates import UpdateFacts, WriteMap
from tilefuse.dialects.img.ops import ReadOp, UpdateOp
from tilefuse.lowering.emit import INDEX, PRIVATE, Num
from tilefuse.lowering.kept_terms import KeptTerms
from tilefuse.lowering.update_body import PointRow, UpdateBody, UpdateFunction

MOST_SHARING_PLANES = 32
"""Planes that share reads and places at most: the terms of all stay in the first cache."""


def can_split_writes(update: UpdateOp) -> bool:
    """Whether an update's loop may be split into terms and writes: all are at data-dependent places."""
    return UpdateFacts(update).write_map is WriteMap.Scattered and update.write_op.predicate is None


def planes_together(update: UpdateOp, extent: int) -> int:
    """Return the planes along the last of several pure coordinates that share reads and places; 1 for no sharing."""
    if len(update.pure) < 2 or not 1 < extent <= MOST_SHARING_PLANES or not can_split_writes(update):
        return 1
    plane, write = update.pure[-1], update.write_op
    moving = depending(update.body.block.ops, [plane])
    free = all(moving.isdisjoint(op.indices) for op in update.body.block.ops if isinstance(op, ReadOp))
    return extent if free and not any(v in moving and v is not plane for v in write.indices) else 1


class TwoLoops:
    """The arrays of a thread, and the loops at each step of the domain."""

    def __init__(self, function: UpdateFunction, points: int, planes: int):
        self.function, self.e, self.points, self.planes = function, function.e, points, planes
        op = function.op
        written = [d for d in range(op.rank) if d not in op.pure_dims]
        self.places = {d: self.e.alloca([points], i32, PRIVATE, "places") for d in written}
        """Per dimension that data decide: the coordinate of each point's write."""
        self.terms = KeptTerms(function, planes * points)

    def step(self, where: Mapping[SSAValue, Num], count: Num) -> None:
        """Emit a step of the domain for `count` points from `where` on, in all planes that the call needs."""
        if self.planes == 1:
            self._loops(where, count, PointRow(None))
            return
        e, out, plane, dim = self.e, self.function.out, self.function.op.pure[-1], self.function.op.pure_dims[-1]
        end = e.add(out.mins[dim], out.extent(dim, e))

        def all_planes() -> None:
            self._loops({**where, plane: 0}, count, PointRow(plane, self.planes))

        def one_by_one() -> None:
            with e.loop(e.min(end, e.add(where[plane], self.planes)), "plane", start=where[plane]) as at:
                self._loops({**where, plane: at}, count, PointRow(None))

        usual = e.both(e.compare("eq", where[plane], 0), e.compare("eq", end, self.planes))
        assert usual is not None, "the kernel has the box as arguments"
        e.choose(usual, all_planes, one_by_one)

    def _loops(self, where: Mapping[SSAValue, Num], count: Num, planes: PointRow) -> None:
        """Emit both loops for the points of some planes."""
        e, x = self.e, self.function.op.pure[0]
        with e.loop(count, "x", simd=True) as i:
            body = UpdateBody(self.function, {**where, x: e.add(where[x], i)}, planes)
            body.compute()
            position = body.position()
            for d, array in self.places.items():
                e.store(e.op(arith.IndexCastOp(e.value(position[d]), i32)), array, [i])
            for k in range(planes.count):
                self.terms.store(body, e.add(i, k * self.points), k)
        with e.loop(count, "x") as i:
            found = {d: e.op(arith.IndexCastOp(e.load(array, [i]), INDEX)) for d, array in self.places.items()}
            for k in range(planes.count):
                at = {**where, x: e.add(where[x], i)}
                if planes.along is not None:
                    at[planes.along] = k
                self._write(at, found, self.terms.load(at, e.add(i, k * self.points)))

    def _write(self, where: Mapping[SSAValue, Num], found: Mapping[int, SSAValue], terms: Sequence[SSAValue]) -> None:
        """Combine the terms of a point with the values at its place."""
        e, function, op = self.e, self.function, self.function.op
        of_pure = {d: where[c] for c, d in zip(op.pure, op.pure_dims, strict=True)}
        position = [found[d] if d in found else of_pure[d] for d in range(op.rank)]
        for number, term in enumerate(terms):
            memref, index = function.place(number, position)
            e.store(function.left(number, e.load(memref, index), term, None), memref, index)
