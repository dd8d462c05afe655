"""Register blocks of vectors on a CPU: sums in registers, shared operands loaded once.

block of the picture, of `points` along x and `repeat` times `points` rows, in `planes` planes:
  its sums, in an array, take what stands in memory
  for the outer dimensions of the domain, and so many steps of the innermost one:
    the operands that all rows have in common are copied side by side; for all steps of the innermost dimensions
    together where these are few
    each block of `points` takes its sums into registers, goes over the steps in order, and puts them back
  the sums go back to memory

Where nothing is copied, a block of `points` goes over all of the domain before the next one. Either way a point goes
over the domain in order, so that its result is that of the definition to the bit. Where a boundary moves some points of
a block along x, they go one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.ops.update import DomainAxis
from tilefuse.dialects.img.types import FuncType, element_bytes, storage_type
from tilefuse.execution.gemm.attribute import GemmSchedule
from tilefuse.execution.gemm.block_step import NO_COPIES, NO_READS, Copies, Step
from tilefuse.execution.gemm.function import GemmFunction
from tilefuse.execution.gemm.vector_values import VectorValues, taken, vector_values
from tilefuse.execution.inside import EndPlaces, FreeReads, bounded_reads, reads_inside
from tilefuse.lowering.emit import PRIVATE, SHARED, Num
from tilefuse.lowering.shared_body import SharedBody
from tilefuse.lowering.symbols import identifier


@dataclass(frozen=True)
class _Pack:
    """The steps whose operands are packed together."""

    full: tuple[DomainAxis, ...]
    """Dimensions of the domain of which all steps are copied, innermost first."""
    cut: DomainAxis | None
    """The one behind them, of which some steps are."""
    steps: int
    rows: int
    """Steps in all."""


@dataclass(frozen=True)
class _Part:
    """A range of steps of a dimension of the domain."""

    dimension: DomainAxis
    first: Num
    steps: Num


LEAST_LANES = 4
"""Fewest lanes of a vector for functions with few points along x."""


def emit_register_blocks(gemm: GemmFunction, otherwise: Callable[[], None]) -> None:
    """Emit a block's points; `otherwise` if the functions are narrower than the narrowest vector.

    Channels of a picture are fewer than a block's points, as a rule, and no compiler knows how many.
    """
    e, extent, schedule = gemm.e, gemm.extents[0], gemm.schedule
    narrower = [w for w in (schedule.lanes, LEAST_LANES) if w < schedule.points[0]]
    widths = list(dict.fromkeys([schedule.points[0], *narrower]))
    values = vector_values(gemm.op, schedule.rows_dim, bool(schedule.pack))
    assert isinstance(values, VectorValues), values

    def blocks(width: int, rows: int) -> None:
        if values.at_edges:
            inside = reads_inside(gemm.e, gemm.tile, values.at_edges, _spans(gemm, width, rows))
            assert inside is not None
            e.choose(inside, lambda: parts(width, rows), otherwise)
        else:
            parts(width, rows)

    def parts(width: int, rows: int) -> None:
        lanes = min(width, schedule.lanes)
        own = e.min(schedule.points[0], e.sub(extent, gemm.firsts[0]))
        with e.loop(1 if width == schedule.points[0] else e.ceildiv(own, width), "part") as part:
            RegisterBlocks(gemm, width, lanes, rows, e.add(gemm.firsts[0], e.mul(part, width))).emit()

    def from_width(number: int) -> None:
        if number == len(widths):
            otherwise()
            return
        width = widths[number]
        e.choose(e.compare("sge", extent, width), lambda: blocks(width, schedule.rows), lambda: from_width(number + 1))

    def single_rows() -> None:
        e.choose(e.compare("sge", extent, schedule.lanes), lambda: blocks(schedule.lanes, 1), otherwise)

    if schedule.rows_dim is None or schedule.rows == 1:
        from_width(0)
    else:
        has_rows = e.compare("sge", gemm.extents[schedule.rows_dim], schedule.rows)
        e.choose(has_rows, lambda: from_width(0), single_rows)


def _spans(gemm: GemmFunction, width: int, rows: int) -> dict[SSAValue, EndPlaces]:
    """Return the first and the last place of each coordinate of a block for which all vectors and rows lie inside."""
    e, schedule, first, last = gemm.e, gemm.schedule, list(gemm.firsts), list(gemm.firsts)
    for d, size, at_least in (
        (0, schedule.points[0], width),
        (schedule.rows_dim, schedule.rows * schedule.repeat, rows),
        (schedule.planes_dim, schedule.planes, 1),
    ):
        if d is not None:
            first[d] = e.min(gemm.firsts[d], e.sub(gemm.extents[d], at_least))
            last[d] = e.sub(e.min(e.add(gemm.firsts[d], size), gemm.extents[d]), 1)
    ends = gemm.coordinates(first), gemm.coordinates(last)
    found: dict[SSAValue, EndPlaces] = {v: (n, ends[1][v]) for v, n in ends[0].items()}
    for dimension in gemm.op.domain:
        low = gemm.scalar(dimension.min)
        found[dimension.coordinate] = low, e.sub(e.add(low, gemm.scalar(dimension.extent)), 1)
    return found


def block_bytes(group: GroupOp) -> int:
    """Return the bytes of a block's sums and copies; 0 if its sums are not vectors."""
    schedule, update = GemmSchedule.expect(group.schedule), group.update
    assert update is not None
    if schedule.lanes == 1:
        return 0
    found = vector_values(update, schedule.rows_dim, bool(schedule.pack))
    assert isinstance(found, VectorValues), found
    of_sums = sum(element_bytes(old.type.element) for old in update.old_funcs if isinstance(old.type, FuncType))
    of_copies = sum(element_bytes(v.type) for v in found.packed)
    of_rows = schedule.rows * schedule.pack * sum(element_bytes(v.type) for v in found.by_columns)
    of_rows += schedule.pack * sum(element_bytes(v.type) for v in found.of_steps)
    rows = schedule.rows * schedule.repeat * schedule.planes
    return schedule.points[0] * (rows * of_sums + schedule.pack * of_copies) + of_rows


class RegisterBlocks:
    """The points of a block, computed by one thread."""

    def __init__(self, gemm: GemmFunction, width: int, lanes: int, rows: int, x_first: Num):
        self.gemm, self.e, self.op, self.schedule = gemm, gemm.e, gemm.op, gemm.schedule
        dim = self.schedule.rows_dim
        found = vector_values(self.op, dim, bool(self.schedule.pack))
        assert isinstance(found, VectorValues), found
        self.values = found
        self.width, self.rows, self.lanes = width, rows, lanes
        # the last block begins where all of its vectors lie inside
        self.x = self.e.min(x_first, self.e.sub(gemm.extents[0], width))
        self.not_own = self.e.sub(x_first, self.x)
        """Points along x that are the block's before it."""
        self.dim = dim
        self.row_count = self.schedule.rows * self.schedule.repeat
        """Rows of the block in a plane, those outside counted."""
        self.plane: Num = 0
        """The plane of the present rows, from the block's first."""
        self.sums: list[SSAValue] = []

    def emit(self) -> None:
        """Emit the kernel."""
        e, gemm = self.e, self.gemm
        blocks: Num = self.row_count // self.rows
        if self.dim is not None and self.row_count > self.rows:
            count = e.min(self.row_count, e.sub(gemm.extents[self.dim], gemm.firsts[self.dim]))
            blocks = e.ceildiv(count, self.rows, "blocks")
        shape = [self.schedule.planes * self.row_count, self.width]
        self.sums = [
            e.alloca(shape, storage_type(gemm.element(n)), SHARED, "sums") for n in range(len(self.op.old_funcs))
        ]
        with self._each_block(blocks) as block, e.loop(self.rows, "row") as row:
            with e.loop(self.width, "i", simd=True) as i:
                gemm.begin(self.sums, [self._row_of_sums(block, row), i], self.at(self.start(block), row, i))
        if self.schedule.pack and (self.values.packed or self.values.by_columns):
            self._in_packs(blocks)
        else:
            with self._each_block(blocks) as block:
                self._over(block, {}, NO_COPIES)
        with self._each_block(blocks) as block:
            start = self.start(block)
            with e.loop(self.rows, "row", start=self._rows_before(block, start)) as row:
                with e.loop(self.width, "i", start=self.not_own, simd=True) as i:
                    gemm.end(self.sums, [self._row_of_sums(block, row), i], self.at(start, row, i))

    @contextmanager
    def _each_block(self, blocks: Num) -> Iterator[Num]:
        """Open loops over planes, and over the blocks of points in each."""
        dim, count = self.schedule.planes_dim, self.schedule.planes
        planes: Num = count
        if dim is not None and count > 1:
            planes = self.e.min(count, self.e.sub(self.gemm.extents[dim], self.gemm.firsts[dim]))
        with self.e.loop(planes, "plane") as self.plane, self.e.loop(blocks, "block") as block:
            yield block
        self.plane = 0

    def _row_of_sums(self, block: Num, row: Num) -> Num:
        """Return the row of the sums of a block's row."""
        e = self.e
        return e.add(e.add(e.mul(self.plane, self.row_count), e.mul(block, self.rows)), row)

    def start(self, block: Num) -> Num:
        """Return the first row of a block, from the box's first: the last block is moved inwards."""
        if self.dim is None:
            return 0
        first = self._first(block)
        return first if self.rows == 1 else self.e.min(first, self.e.sub(self.gemm.extents[self.dim], self.rows))

    def _first(self, block: Num) -> Num:
        assert self.dim is not None
        return self.e.add(self.gemm.firsts[self.dim], self.e.mul(block, self.rows))

    def _rows_before(self, block: Num, start: Num) -> Num:
        """Return how many rows of a block also belong to the one before."""
        return 0 if self.dim is None else self.e.sub(self._first(block), start)

    def at(self, start: Num, row: Num, i: Num) -> list[Num]:
        """Return the coordinates of a point of the block that begins in row `start`, from the box's first."""
        at = list(self.gemm.firsts)
        at[0] = self.e.add(self.x, i)
        if self.dim is not None:
            at[self.dim] = self.e.add(start, row)
        if (dim := self.schedule.planes_dim) is not None:
            at[dim] = self.e.add(at[dim], self.plane)
        return at

    # --- the domain

    def _in_packs(self, blocks: Num) -> None:
        """Pack operands for several steps at once, and let all blocks use them."""
        e, pack = self.e, self._pack()
        arrays = (e.alloca([pack.rows, self.width], storage_type(v.type), SHARED, "copy") for v in self.values.packed)
        copies = dict(zip(self.values.packed, arrays, strict=True))
        of_rows = {
            v: e.alloca([self.rows, pack.rows], storage_type(v.type), SHARED, "side") for v in self.values.by_columns
        }
        of_steps = {v: e.alloca([pack.rows], storage_type(v.type), SHARED, "step") for v in self.values.of_steps}
        with ExitStack() as open_scopes:
            outer = [d for d in self.op.domain if d not in pack.full and d != pack.cut]
            if (domain := self._open(outer, open_scopes)) is None:
                return
            part: _Part | None = None
            if pack.cut is not None:
                low, extent = self._range(pack.cut)
                first = open_scopes.enter_context(e.loop(extent, "first", step=pack.steps))
                part = _Part(pack.cut, e.add(low, first), e.min(pack.steps, e.sub(extent, first)))
            of = Copies(copies, of_rows, of_steps, partial(self._row_of_copies, pack, part))
            dimensions = [*pack.full, *([] if pack.cut is None else [pack.cut])]
            if copies:
                with ExitStack() as steps:
                    inside = self._open(dimensions, steps, part)
                    assert inside is not None
                    with e.loop(self.width, "i", simd=True) as i:
                        self._copy(of, domain | inside, i)
            if of_steps:
                self._copy_steps(of, domain, dimensions, part)
            with self._each_block(blocks) as block:
                if of_rows:
                    self._copy_rows(of, self.start(block), domain, dimensions, part)
                self._over(block, domain, of, part)

    def _copy_steps(
        self, copies: Copies, domain: dict[SSAValue, Num], dimensions: Sequence[DomainAxis], part: _Part | None
    ) -> None:
        """Pack the values that all points of a block share, so that steps are adjacent."""
        with ExitStack() as scopes:
            inside = self._open(dimensions, scopes, part)
            assert inside is not None
            body, at = SharedBody(self.gemm), domain | inside
            where = {**self.gemm.coordinates(self.at(0, 0, 0)), **at}
            for value, array in copies.of_steps.items():
                self.e.store(body.value_at(value, where), array, [copies.row(at)])

    def _copy_rows(
        self, copies: Copies, start: Num, domain: dict[SSAValue, Num], dimensions: Sequence[DomainAxis],
        part: _Part | None,
    ) -> None:  # fmt: skip
        """Precompute the row values that all columns of a block share, by vectors along the domain."""
        inner, *outer = dimensions
        if self.values.along_steps and self._is_whole(inner):
            self._copy_rows_in_vectors(copies, start, domain, dimensions, part)
            return
        with ExitStack() as scopes:
            row = scopes.enter_context(self.e.loop(self.rows, "row"))
            outside = self._open(outer, scopes, part)
            assert outside is not None
            inside = self._open([inner], scopes, part, simd=True)
            assert inside is not None
            body, at = SharedBody(self.gemm), domain | outside | inside
            where = self.gemm.coordinates(self.at(start, row, 0)) | at
            given = {v: self.e.load(array, [copies.row(at)]) for v, array in copies.of_steps.items()}
            for value, array in copies.of_rows.items():
                self.e.store(body.value_at(value, where, given=given), array, [row, copies.row(at)])

    def _copy_rows_in_vectors(
        self, copies: Copies, start: Num, domain: dict[SSAValue, Num], dimensions: Sequence[DomainAxis],
        part: _Part | None,
    ) -> None:  # fmt: skip
        """Precompute rows by vectors, two rows at a time if even: adjacent windows share reads."""
        inner, *outer = dimensions
        count = 2 if self.rows % 2 == 0 else 1
        with ExitStack() as scopes:
            row = scopes.enter_context(self.e.loop(self.rows, "row", step=count))
            rows = [self.e.add(row, n) for n in range(count)]
            outside = self._open(outer, scopes, part)
            assert outside is not None
            at = domain | outside
            ends = [self.gemm.coordinates(self.at(start, r, 0)) for r in (rows[0], rows[-1])]
            known = {v: (n, ends[1][v]) for v, n in ends[0].items()} | {v: (n, n) for v, n in at.items()}
            before = {op for v in copies.of_steps for op in taken(v)}
            reads = bounded_reads((op for v in copies.of_rows for op in taken(v) if op not in before), known)
            emit = partial(self._copy_vectors, copies, start, rows, at, inner)
            inside = reads_inside(self.e, self.gemm.tile, reads, known)
            if inside is None:
                emit()
            else:
                self.e.choose(inside, lambda: emit(reads), emit)

    def _is_whole(self, dimension: DomainAxis) -> bool:
        """Whether a dimension of the domain has a multiple of the vector length of steps."""
        _, extent = self._range(dimension)
        return isinstance(extent, int) and 0 < extent <= self.schedule.pack and extent % self.schedule.lanes == 0

    def _copy_vectors(
        self, copies: Copies, start: Num, rows: Sequence[Num], domain: dict[SSAValue, Num], inner: DomainAxis,
        free: FreeReads = NO_READS,
    ) -> None:  # fmt: skip
        """Precompute some rows' values by vectors along the innermost dimension of the domain."""
        e, (low, extent), along = self.e, self._range(inner), self.values.along_steps
        with e.loop(extent, identifier(inner.coordinate.name_hint or "r"), step=self.schedule.lanes) as k:
            at = domain | {inner.coordinate: e.add(low, k)}
            step = Step(self, start, at, NO_COPIES, along, free)
            for value, array in copies.of_steps.items():
                step.know(value, self._vector_of(array, [copies.row(at)]))
            for row, (value, array) in product(rows, copies.of_rows.items()):
                e.effect(vector.StoreOp(step.vector(value, row, 0), array, [e.value(n) for n in (row, copies.row(at))]))

    def _vector_of(self, source: SSAValue, indices: Sequence[Num]) -> SSAValue:
        return self.load(source, indices, self.schedule.lanes)

    def _pack(self) -> _Pack:
        """Choose the steps to pack together: short innermost dimensions, and part of the next one."""
        full, rows, most = [], 1, self.schedule.pack
        for dimension in self.op.domain:
            _, extent = self._range(dimension)
            if isinstance(extent, int) and 0 <= extent * rows <= most:
                full.append(dimension)
                rows *= max(1, extent)
                continue
            steps = most // rows
            if steps == 1 and full:
                break
            if isinstance(extent, int):
                steps = -(-extent // -(-extent // steps))  # none is much shorter than the others
            return _Pack(tuple(full), dimension, steps, rows * steps)
        return _Pack(tuple(full), None, 1, rows)

    def _row_of_copies(self, pack: _Pack, part: _Part | None, at: Mapping[SSAValue, Num]) -> Num:
        """Return the row of the packed values for a point of the domain."""
        e, found, stride = self.e, 0, 1
        row: Num = found
        for dimension in pack.full:
            low, extent = self._range(dimension)
            assert isinstance(extent, int)
            row = e.add(row, e.mul(e.sub(at[dimension.coordinate], low), stride))
            stride *= extent
        if part is not None:
            row = e.add(row, e.mul(e.sub(at[part.dimension.coordinate], part.first), stride))
        return row

    def _range(self, dimension: DomainAxis) -> tuple[Num, Num]:
        """Return the first coordinate and the extent of a dimension of the domain."""
        return self.gemm.scalar(dimension.min), self.gemm.scalar(dimension.extent)

    def _open(
        self, dimensions: Sequence[DomainAxis], open_scopes: ExitStack, part: _Part | None = None, *, simd: bool = False
    ) -> dict[SSAValue, Num] | None:
        """Open loops over dimensions of the domain, the last outermost; None if one is known to be empty."""
        domain: dict[SSAValue, Num] = {}
        for dimension in reversed(dimensions):
            start, count = self._range(dimension)
            if part is not None and dimension == part.dimension:
                start, count = part.first, part.steps
            if isinstance(count, int) and count <= 0:
                return None
            name = identifier(dimension.coordinate.name_hint or "r")
            domain[dimension.coordinate] = self.e.add(
                start, open_scopes.enter_context(self.e.loop(count, name, simd=simd))
            )
        return domain

    def _copy(self, copies: Copies, domain: Mapping[SSAValue, Num], i: Num) -> None:
        """Pack the operands of a step, for a column."""
        body = SharedBody(self.gemm)
        where = {**self.gemm.coordinates(self.at(0, 0, i)), **domain}
        for value, array in copies.arrays.items():
            self.e.store(body.value_at(value, where), array, [copies.row(domain), i])

    def _over(
        self,
        block: Num,
        domain: dict[SSAValue, Num],
        copies: Copies,
        part: _Part | None = None,
    ) -> None:
        """Run a block of points over the domain, or over a range of one of its dimensions.

        Sums are an array of vectors with constant indices: registers. Each is used and set before the next, so that a
        compiler keeps few operands at a time.
        """
        e = self.e
        first = self._row_of_sums(block, 0)
        places = list(product(range(len(self.sums)), range(self.rows), range(0, self.width, self.lanes)))
        types = [VectorType(of.type.element_type, [self.lanes]) for of in self.sums]  # type: ignore[attr-defined]
        shape = [self.rows * self.width // self.lanes]
        registers = [e.alloca(shape, type, PRIVATE, "block_sums") for type in types]

        def number(row: int, column: int) -> int:
            return (row * self.width + column) // self.lanes

        for n, r, v in places:
            e.store(self.load(self.sums[n], [e.add(first, r), v]), registers[n], [number(r, v)])
        with ExitStack() as open_scopes:
            left = [d for d in self.op.domain if d.coordinate not in domain]
            if (inside := self._open(left, open_scopes, part)) is None:
                return
            where = domain | inside
            at = Step(self, self.start(block), where, copies, free=self.values.at_edges)
            for n, r, v in places:
                term = at.vector(self.op.write_op.values[n], r, v)
                old = e.load(registers[n], [number(r, v)])
                new = e.op(combined(self.op.combiners[n], self.gemm.element(n), old, term))
                e.store(new, registers[n], [number(r, v)])
        for n, r, v in places:
            target = [e.value(i) for i in (e.add(first, r), v)]
            e.effect(vector.StoreOp(e.load(registers[n], [number(r, v)]), self.sums[n], target))

    def load(self, source: SSAValue, indices: Sequence[Num], lanes: int | None = None) -> SSAValue:
        """Load a vector from an array."""
        type = VectorType(source.type.element_type, [lanes or self.lanes])  # type: ignore[attr-defined]
        return self.e.op(vector.LoadOp(source, [self.e.value(i) for i in indices], type))
