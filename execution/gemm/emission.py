"""Emission of a reduction with a block of pure points per thread, whose sums stay in registers.

Each point goes over the domain in order, so that its result is that of the definition to the bit. A block of points
whose last would lie outside begins further inside, and leaves what its neighbour has to that one; where the functions
have fewer points than a block, threads take theirs one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import product

from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.gemm.function import GemmFunction
from tilefuse.execution.gemm.register_blocks import emit_register_blocks
from tilefuse.lowering.emit import Num
from tilefuse.lowering.shared_body import SharedBody
from tilefuse.lowering.symbols import identifier
from tilefuse.lowering.update_ends import Ends

_StepEmitter = Callable[[SharedBody, dict[SSAValue, Num]], None]
"""Emits the points of a thread at coordinates of the domain."""


def gemm_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group that holds a reduction."""
    return GemmKernel(group).emit()


class GemmKernel(GemmFunction):
    """A register-block kernel during emission."""

    def emit(self) -> func.FuncOp:
        """Emit the function of the kernel."""
        e, sizes = self.e, self.schedule.tile_sizes
        with ExitStack() as open_scopes:
            counts = [
                e.ceildiv(n, size, f"tiles_{letter(d)}")
                for n, size, d in zip(self.extents, sizes, self.dims, strict=True)
            ]
            blocks, lanes = self.grid(counts, open_scopes)
            self.lanes = lanes[: len(sizes)]
            self.firsts = [e.mul(b, size) for b, size in zip(blocks, sizes, strict=True)]
            full: SSAValue | None = None
            for n, size in zip(self.extents, sizes, strict=True):
                if size > 1 and self.schedule.lanes == 1:
                    full = e.both(full, e.compare("sge", n, size))
            if self.schedule.lanes > 1:
                # rows of vectors that are none are computed, and left
                emit_register_blocks(self, self._point_by_point)
            elif full is None:
                self._all_points()
            else:
                e.choose(full, self._all_points, self._point_by_point)
        found = self.finished()
        if self.schedule.is_dynamic:
            found.attributes["kernel.dynamic_schedule"] = UnitAttr()
        return found

    # --- blocks whose points all lie inside

    def _all_points(self) -> None:
        e, sizes = self.e, self.schedule.tile_sizes
        # the last block begins where all of it lies inside
        starts = [
            first if size == 1 else e.min(first, e.sub(n, size))
            for first, n, size in zip(self.firsts, self.extents, sizes, strict=True)
        ]
        if self.schedule.one_thread:
            self._rows(starts)
            return
        offsets = list(product(*(range(p) for p in reversed(self.schedule.points))))
        points = [self._place(starts, offset[::-1]) for offset in offsets]
        sums, ends = self.new_sums(len(points)), Ends(self)
        for p, at in enumerate(points):
            self.begin(sums, [p], at, ends)

        def step(body: SharedBody, domain: dict[SSAValue, Num]) -> None:
            for p, at in enumerate(points):
                self._add(body, sums, [p], self.coordinates(at) | domain)

        self._over_domain(step, self.schedule.unroll)
        for p, at in enumerate(points):
            with e.when(self._is_own(at, starts)):
                self.end(sums, [p], at)

    def _place(self, starts: Sequence[Num], offset: Sequence[int]) -> list[Num]:
        """Return the offset of a thread's point from the box's first."""
        e, schedule = self.e, self.schedule
        at = []
        for d, (start, lane, o) in enumerate(zip(starts, self.lanes, offset, strict=True)):
            if d == 0:
                at.append(e.add(e.add(start, lane), o * schedule.thread_counts[0]))
            else:
                at.append(e.add(e.add(start, e.mul(lane, schedule.points[d])), o))
        return at

    def _is_own(self, at: Sequence[Num], starts: Sequence[Num]) -> SSAValue | None:
        """Return the condition that no other block has the point, too."""
        own: SSAValue | None = None
        for place, first, start in zip(at, self.firsts, starts, strict=True):
            if start is not first:
                own = self.e.both(own, self.e.compare("sge", place, first))
        return own

    def _rows(self, starts: Sequence[Num]) -> None:
        """Emit the points of a one-thread block: a loop along x inside the steps."""
        e, (width, *others) = self.e, self.schedule.points
        rows = [offset[::-1] for offset in product(*(range(p) for p in reversed(others)))]
        sums = self.new_sums(len(rows), width)

        def at(row: Sequence[int], x: Num) -> list[Num]:
            place = self._place(starts, (0, *row))
            return [e.add(place[0], x), *place[1:]]

        for r, row in enumerate(rows):
            with e.loop(width, "i", simd=True) as x:
                self.begin(sums, [r, x], at(row, x))

        def step(body: SharedBody, domain: dict[SSAValue, Num]) -> None:
            with e.loop(width, "i", simd=True) as x:
                inner = SharedBody(self)
                for r, row in enumerate(rows):
                    self._add(inner, sums, [r, x], self.coordinates(at(row, x)) | domain)

        self._over_domain(step, 1)
        for r, row in enumerate(rows):
            with e.loop(width, "i") as x, e.when(self._is_own(at(row, x), starts)):
                self.end(sums, [r, x], at(row, x))

    # --- blocks of which some points may lie outside

    def _point_by_point(self) -> None:
        e, schedule = self.e, self.schedule
        with ExitStack() as open_scopes:
            at: list[Num] = []
            inside: SSAValue | None = None
            for d in reversed(range(len(self.dims))):
                count = schedule.tile_sizes[d] // schedule.thread_counts[d]
                o = open_scopes.enter_context(e.loop(count, f"p{letter(d)}"))
                if d == 0:
                    place = e.add(e.add(self.firsts[d], self.lanes[d]), e.mul(o, schedule.thread_counts[0]))
                else:
                    place = e.add(e.add(self.firsts[d], e.mul(self.lanes[d], count)), o)
                at.insert(0, place)
                inside = e.both(inside, e.compare("slt", place, self.extents[d]))
            open_scopes.enter_context(e.when(inside))
            sums = self.new_sums(1)
            self.begin(sums, [0], at)
            self._over_domain(lambda body, domain: self._add(body, sums, [0], self.coordinates(at) | domain), 1)
            self.end(sums, [0], at)

    def _add(
        self, body: SharedBody, sums: Sequence[SSAValue], place: Sequence[Num], where: dict[SSAValue, Num]
    ) -> None:
        e = self.e
        terms, counts = body.at(where)
        for number, (of, way, term) in enumerate(zip(sums, self.op.combiners, terms, strict=True)):
            old = e.load(of, place)
            new = e.op(combined(way, self.element(number), old, term))
            e.store(new if counts is None else e.select(counts, new, old), of, place)

    # --- the domain

    def _over_domain(self, step: _StepEmitter, unroll: int) -> None:
        """Emit `step(body, coordinates)` for all points of the domain, in order; `unroll` innermost ones."""
        e = self.e
        inner, *outer = self.op.domain
        with ExitStack() as open_scopes:
            domain: dict[SSAValue, Num] = {}
            for dimension in reversed(outer):
                low, extent = (self.scalar(v) for v in (dimension.min, dimension.extent))
                if isinstance(extent, int) and extent <= 0:
                    return
                k = open_scopes.enter_context(e.loop(extent, identifier(dimension.coordinate.name_hint or "r")))
                domain[dimension.coordinate] = e.add(low, k)
            low, extent = (self.scalar(v) for v in (inner.min, inner.extent))
            name = identifier(inner.coordinate.name_hint or "r")

            def steps(k: Num, count: int) -> None:
                body = SharedBody(self)
                for u in range(count):
                    step(body, domain | {inner.coordinate: e.add(e.add(low, k), u)})

            if isinstance(extent, int):
                full = max(extent, 0) // unroll * unroll
                rest = max(extent, 0) - full
                if full:
                    with e.loop(full, name, step=unroll) as k:
                        steps(k, unroll)
                if rest:
                    steps(full, rest)
                return
            count = e.max(extent, 0)
            last = e.sub(count, e.mod(count, unroll))
            with e.loop(last, name, step=unroll) as k:
                steps(k, unroll)
            if unroll > 1:
                with e.loop(count, name, start=last) as k:
                    steps(k, 1)
