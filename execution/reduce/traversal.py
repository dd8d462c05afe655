"""Traversal of a warp's share of a reduction domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import reduce

from xdsl.dialects import arith, memref
from xdsl.ir import SSAValue

from tilefuse.dialects.img.ops import ReadOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.execution.reduce.attribute import ReduceSchedule
from tilefuse.execution.reduce.folding import RANK, Accumulators
from tilefuse.lowering.emit import Num
from tilefuse.lowering.symbols import identifier
from tilefuse.lowering.update_body import PointRow, UpdateBody, UpdateFunction, elements_per_access

ONE = PointRow(None)
Inside = Callable[[Num], SSAValue | None]


class Traversal:
    """Emit the sum of the terms of a warp's share of the domain."""

    def __init__(self, function: UpdateFunction, schedule: ReduceSchedule, wide: Sequence[ReadOp]):
        self.function, self.schedule, self.e = function, schedule, function.e
        self.wide = wide
        """The reads that vectors may load."""
        self.lows, self.extents = [], []
        for dimension in function.op.domain:
            self.lows.append(function.scalar(dimension.min))
            extent = function.scalar(dimension.extent)
            self.extents.append(self.e.max(extent, 0))

    @property
    def workers(self) -> int:
        """Number of warps that share the domain."""
        return self.schedule.team * self.schedule.split

    def aligned(self, first: Num) -> SSAValue | None:
        """Whether all vector loads are aligned if they begin at coordinate `first`; None if certainly."""
        result: SSAValue | None = None
        for read in self.wide:
            size = elements_per_access(read.source, self.schedule.vector_width)
            if size > 1:
                result = self.e.both(result, self._is_aligned(read, first, size))
        return result

    def _is_aligned(self, read: ReadOp, first: Num, count: int) -> SSAValue:
        e, buffer = self.e, self.function.tile.buffers[read.source]
        assert isinstance(read.source.type, FuncType)
        bytes = element_bytes(read.source.type.element)
        metadata = memref.ExtractStridedMetaDataOp(buffer.memref)
        pointer = e.op(memref.ExtractAlignedPointerAsIndexOp.get(buffer.memref))
        e.effect(metadata)
        index = e.affine(read.map.data.results[0], [first] * len(read.indices))
        low = e.value(e.add(pointer, e.mul(e.sub(index, buffer.mins[0]), bytes)))
        for n in list(metadata.strides)[:-1]:
            low = e.op(arith.OrIOp(low, e.value(e.mul(n, bytes))))
        return e.compare("eq", e.op(arith.AndIOp(low, e.value(count * bytes - 1))), 0)

    # --- lanes along the domain

    def along(self, pure: Mapping[SSAValue, Num], worker: Num, lane: Num, sums: Accumulators, wide: bool) -> None:
        """Traverse rows of the domain, a segment at a time, with adjacent lanes; `wide`: by vectors."""
        e, s = self.e, self.schedule
        segment = s.chunk * s.number("segment")
        extent, *others = self.extents
        segments = e.ceildiv(extent, segment)
        items: Num = reduce(e.mul, others, segments)
        with e.loop(items, "item", start=worker, step=self.workers) as item:
            row, number = (item, 0) if segments == 1 else self.e.div_rem(item, segments)
            where = {**pure, **self._outer(row, others)}
            first = e.mul(number, segment)
            end = e.min(e.add(first, segment), extent)
            chunks, _ = e.div_rem(e.sub(end, first), s.chunk)
            if not isinstance(chunks, int) or chunks > 0:
                with e.loop(chunks, "chunk") as chunk:
                    start = e.add(first, e.mul(chunk, s.chunk))
                    self._chunk(where, e.add(start, e.mul(lane, s.vector_width)), sums, wide)
            rest = e.add(e.add(first, e.mul(chunks, s.chunk)), lane)
            if not (isinstance(rest, int) and isinstance(end, int) and rest >= end):
                with e.loop(end, "rest", start=rest, step=s.lanes) as x:
                    self._point({**where, self.coordinate: e.add(self.lows[0], x)}, 0, sums)

    @property
    def coordinate(self) -> SSAValue:
        """Return the first coordinate of the domain."""
        return self.function.op.domain[0].coordinate

    def _outer(self, row: Num, extents: Sequence[Num]) -> dict[SSAValue, Num]:
        """Return the coordinates of a row of the domain."""
        found: dict[SSAValue, Num] = {}
        for number, dimension in enumerate(self.function.op.domain[1:], 1):
            place = row
            if number < len(extents):
                row, place = self.e.div_rem(row, extents[number - 1])
            found[dimension.coordinate] = self.e.add(self.lows[number], place)
        return found

    def _chunk(self, where: Mapping[SSAValue, Num], first: Num, sums: Accumulators, wide: bool) -> None:
        """Sum a lane's points in a chunk; all loads come first."""
        s, e = self.schedule, self.e
        if sums.as_loop:
            for i in range(s.number("unroll")):
                x = e.add(self.lows[0], e.add(first, i * s.vector_width))
                sums.each(lambda v, x=x: self._point({**where, self.coordinate: e.add(x, v)}, v, sums))  # type: ignore[misc]
            return
        row = PointRow(self.coordinate, s.vector_width, self.wide if wide else ())
        bodies = []
        for i in range(s.number("unroll")):
            x = e.add(self.lows[0], e.add(first, i * s.lanes * s.vector_width))
            bodies.append(UpdateBody(self.function, {**where, self.coordinate: x}, row))
            bodies[-1].compute()
        for body in bodies:
            for v in range(row.count):
                self._add(body, v, v, sums)

    def _point(self, where: Mapping[SSAValue, Num], number: Num, sums: Accumulators) -> None:
        body = UpdateBody(self.function, where, ONE)
        body.compute()
        self._add(body, 0, number, sums)

    def _add(self, body: UpdateBody, point: int, number: Num, sums: Accumulators) -> None:
        """Add point `point` of a body to sum `number`."""
        sums.add(number, body.terms(point), body.predicate(point), lambda: self._rank(body.where(point)))

    def _rank(self, where: Mapping[SSAValue, Num]) -> SSAValue:
        """Return the rank of a point in domain order."""
        e = self.e

        def wide(n: Num) -> SSAValue:
            return e.op(arith.IndexCastOp(e.value(n), RANK))

        rank: SSAValue | None = None
        for dimension, low, extent in reversed(
            list(zip(self.function.op.domain, self.lows, self.extents, strict=True))
        ):
            step = wide(e.sub(where[dimension.coordinate], low))
            rank = step if rank is None else e.op(arith.AddiOp(e.op(arith.MuliOp(rank, wide(extent))), step))
        assert rank is not None
        return rank

    # --- lanes along the pure points

    def across(
        self, pure: Mapping[SSAValue, Num], worker: Num, sums: Accumulators, wide: bool, inside: Inside | None
    ) -> None:
        """Traverse the domain point by point, each lane at its own pure points.

        `inside`: says whether a point is one, where not all are.
        """
        e = self.e
        own = self.function.op.pure[0]
        with ExitStack() as loops:
            where = dict(pure)
            *inner, last = enumerate(self.function.op.domain)
            for number, dimension in (last, *reversed(inner)):
                outermost = number == last[0]
                start, step = (worker, self.workers) if outermost else (0, 1)
                unroll = self.schedule.number("unroll") if number == 0 else 1
                name = identifier(dimension.coordinate.name_hint or "r")
                loop = e.loop(
                    self.extents[number], name, start=start, step=step, unroll=unroll if unroll > 1 else False
                )
                where[dimension.coordinate] = e.add(self.lows[number], loops.enter_context(loop))

            def point(v: Num) -> None:
                with e.when(inside(v) if inside is not None else None):
                    self._point({**where, own: e.add(where[own], v)}, v, sums)

            if inside is not None or sums.as_loop:
                sums.each(point, simd=inside is None)
                return
            body = UpdateBody(self.function, where, PointRow(own, sums.count, self.wide if wide else ()))
            body.compute()
            for v in range(sums.count):
                self._add(body, v, v, sums)
