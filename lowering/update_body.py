"""Kernels of updates: their arguments, and the body at points of the domain."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilefuse.analysis.access import behind_boundaries, coordinates, indices_of, outer_reads
from tilefuse.analysis.dependence import depending
from tilefuse.analysis.index import Index
from tilefuse.analysis.strides import rows_are_contiguous
from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import SET, GroupOp, ReadOp, UpdateOp, WriteOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.dialects.naming import value_name
from tilefuse.lowering.abi import kernel_args, kernel_name, memref_type, threads
from tilefuse.lowering.buffers import KernelBuffer, PermutedBuffer
from tilefuse.lowering.emit import INDEX, Emitter, Num
from tilefuse.lowering.reads import TileContext, read_global, scalar_index
from tilefuse.lowering.symbols import identifier
from tilefuse.lowering.workspaces import Workspace


class UpdateFunction:
    """An update's kernel during emission: its arguments, by the SSA values that they hold."""

    def __init__(self, group: GroupOp, workspaces: Sequence[Workspace] = ()):
        assert group.update is not None
        self.group = group
        self.op: UpdateOp = group.update
        self.prologue, self.epilogue, self.permutation = group.prologue, group.epilogue, group.permutation
        self._types, hints = _signature(group)
        self._types += [w.type for w in workspaces]
        hints += [w.name for w in workspaces]
        self._block = Block(arg_types=self._types)
        for value, hint in zip(self._block.args, hints, strict=True):
            value.name_hint = value_name(hint)
        self.e = Emitter(self._block)
        buffers: dict[SSAValue, KernelBuffer] = {}
        scalars: dict[SSAValue, SSAValue] = {}
        rest = iter(self._block.args)
        for arg in kernel_args(group):
            first = next(rest)
            if isinstance(arg.value.type, FuncType):
                buffers[arg.value] = KernelBuffer(first, [self.e.add(next(rest), plane) for plane in arg.planes])
            else:
                scalars[arg.value] = first
        self.tile = TileContext([], self.e.true(), buffers, scalars)
        self.workspaces = dict(zip((w.name for w in workspaces), rest, strict=True))
        """The kernel's last arguments, by name."""
        self.terms: list[SSAValue] = list(self.op.write_op.values)
        """Terms of a point of the domain, one per function: values of the body."""
        self.skipped: Collection[Operation] = ()
        """Ops of the body that no term needs."""

    @cached_property
    def out(self) -> KernelBuffer:
        """The box over which the update is computed; all results share it, and only its extents are used."""
        buffer = self.tile.buffers[self.group.funcs[0]]
        return PermutedBuffer(buffer.memref, [buffer.mins[d] for d in self.permutation], self.permutation)

    def old(self, number: int) -> KernelBuffer:
        """Return an updated function in memory, overwritten in place unless a stage is computed beside the update."""
        return self.tile.buffers[self.group.old_funcs[number]]

    @cached_property
    def targets(self) -> list[KernelBuffer]:
        """The buffers that results are stored to: of the update, or of the stage after it."""
        if self.group.fused_stages:
            return [self.tile.buffers[f] for f in self.group.funcs]
        return [self.old(number) for number in range(len(self.op.old_funcs))]

    def element(self, number: int) -> Attribute:
        """Return the element type of an updated function, with its sign."""
        type = self.op.old_funcs[number].type
        assert isinstance(type, FuncType)
        return type.element

    def left(self, number: int, before: SSAValue | None, term: SSAValue, counts: SSAValue | None) -> SSAValue:
        """Return the value that a write of a term leaves of a function, where `before` stands.

        `counts`: the predicate of the write, None for true. Without one, and without a combiner, `before` may be None.
        """
        value, way = term, self.op.combiners[number]
        if way != SET:
            assert before is not None
            value = self.e.op(combined(way, self.element(number), before, term))
        if counts is not None:
            assert before is not None
            value = self.e.select(counts, value, before)
        return value

    def place(self, number: int, where: Sequence[Num]) -> tuple[SSAValue, list[Num]]:
        """Return memory and index of an updated function at coordinates."""
        buffer = self.old(number)
        return buffer.memref, buffer.index(where, self.e)

    def scalar(self, value: SSAValue) -> Num:
        """Return a scalar of type index from between the stages."""
        return scalar_index(self.e, self.tile, value)

    def grid(self, counts: Sequence[Num], open_scopes: ExitStack) -> tuple[list[Num], list[Num]]:
        """Open the loops over blocks (`counts` per dimension) and threads.

        Gives the number of the block along each dimension, and that of the thread: along x, y and z, then 0 for the
        dimensions that have no threads. Blocks along z are those of all dimensions from the third on.
        """
        blocks = self.block_loops(counts, open_scopes)
        return blocks, self.thread_loops(len(counts), open_scopes)

    def block_loops(self, counts: Sequence[Num], open_scopes: ExitStack) -> list[Num]:
        """Open the loops over blocks, as `grid` does."""
        e = self.e
        depth: Num = 1
        for n in counts[2:]:
            depth = e.mul(depth, n)
        first, second = [*counts, 1, 1][:2]
        levels = [(depth, "bz", "block_z"), (second, "by", "block_y"), (first, "bx", "block_x")]
        bz, by, bx = (open_scopes.enter_context(e.loop(n, name, level=level)) for n, name, level in levels)
        blocks: list[Num] = [bx, by]
        for n in counts[2:-1]:
            quotient = e.op(arith.DivUIOp(e.value(bz), e.value(n)))
            blocks.append(e.sub(bz, e.mul(quotient, n)))
            bz = quotient
        blocks.append(bz)
        return blocks[: len(counts)]

    def thread_loops(self, rank: int, open_scopes: ExitStack) -> list[Num]:
        """Open the loops over threads, as `grid` does."""
        lanes = zip(reversed(threads(self.group)), "zyx", strict=True)
        tz, ty, tx = (open_scopes.enter_context(self.e.loop(n, f"t{a}", level=f"thread_{a}")) for n, a in lanes)
        return [tx, ty, tz, *[0] * rank]

    def finished(self) -> func.FuncOp:
        """Return the complete function, after its body is emitted."""
        self.e.effect(func.ReturnOp())
        kernel = func.FuncOp(kernel_name(self.group), (self._types, []), Region(self._block))
        kernel.attributes["kernel.threads"] = DenseArrayBase.from_list(i64, list(threads(self.group)))
        kernel.attributes["kernel.comment"] = StringAttr(f"{self.op.sym_name.data}: {self.group.schedule}")
        return kernel


def _signature(group: GroupOp) -> tuple[list[Attribute], list[str]]:
    """Return types and names of the kernel's arguments."""
    types: list[Attribute] = []
    hints: list[str] = []
    for arg in kernel_args(group):
        name = getattr(arg.value.owner, "sym_name", None)
        hint = identifier(name.data if name is not None else (arg.value.name_hint or "value"))
        if not isinstance(type := arg.value.type, FuncType):
            types.append(type)
            hints.append(hint)
            continue
        hint = f"out_{hint}" if arg.kind == "output" else hint
        types += [memref_type(arg.value), *[INDEX] * type.rank.data]
        hints += [hint, *(f"{hint}_min_{letter(d)}" for d in range(type.rank.data))]
    return types, hints


def pure_point(
    function: UpdateFunction, sizes: Sequence[int], where: dict[SSAValue, Num], open_scopes: ExitStack, points: int = 1
) -> Num:
    """Open the loops over blocks and threads; each thread has one pure point, or none.

    `sizes`: threads of a block along each pure coordinate; `points` side by side along the last one are a thread's.
    Adds the first of these to `where`, and returns the thread's number.
    """
    e, op, out = function.e, function.op, function.out
    dims = op.pure_dims
    extents = [out.extent(d, e) for d in dims]
    extents[-1:] = [e.ceildiv(n, points) for n in extents[-1:]]
    counts = [e.ceildiv(n, size, f"tiles_{letter(d)}") for n, size, d in zip(extents, sizes, dims, strict=True)]
    blocks, lanes = function.grid(counts, open_scopes)
    inside: SSAValue | None = None
    for number, coordinate in enumerate(op.pure):
        offset = e.add(e.mul(blocks[number], sizes[number]), lanes[number])
        first = e.mul(offset, points) if number == len(op.pure) - 1 else offset
        where[coordinate] = e.add(out.mins[dims[number]], first)
        inside = e.both(inside, e.compare("slt", offset, extents[number]))
    open_scopes.enter_context(e.when(inside))
    width, height, _ = threads(function.group)
    tx, ty, tz = lanes[:3]
    return e.add(e.mul(e.add(e.mul(tz, height), ty), width), tx)


def domain_loops(function: UpdateFunction, where: dict[SSAValue, Num], open_scopes: ExitStack) -> bool:
    """Open the loops over the reduction domain, innermost last; False if the domain is certainly empty.

    Adds its coordinates to `where`.
    """
    e = function.e
    for dimension in reversed(function.op.domain):
        low, extent = (function.scalar(v) for v in (dimension.min, dimension.extent))
        if isinstance(extent, int) and extent <= 0:
            return False
        name = dimension.coordinate.name_hint or "r"
        step = open_scopes.enter_context(e.loop(extent, identifier(name)))
        where[dimension.coordinate] = e.add(low, step)
    return True


@dataclass(frozen=True)
class PointRow:
    """Consecutive points along one coordinate."""

    along: SSAValue | None
    """The coordinate; None for a single point."""
    count: int = 1
    wide: Collection[ReadOp] = ()
    """The reads of which all points are loaded at once, by accesses of at most 16 bytes: they lie so."""
    inside: Collection[ReadOp] = ()
    """The reads of which all points lie in one row, and inside of what is there: loaded one by one."""
    last: Num | None = None
    """The last coordinate that there is, if there may be less than `count`: the points beyond are that once more."""


class UpdateBody:
    """The body of an update at given coordinates; emits the computation of the terms."""

    def __init__(
        self,
        function: UpdateFunction,
        where: Mapping[SSAValue, Num],
        row: PointRow = PointRow(None),
        free: Mapping[ReadOp, Collection[int]] | None = None,
    ):
        """Prepare the body at `where`; `free`: reads, with the dimensions in which no boundary moves them."""
        self.function, self.e, self.op = function, function.e, function.op
        self.row, self.free = row, free or {}
        self._where = [
            {c: self._along(n, i) if c is row.along else n for c, n in where.items()} for i in range(row.count)
        ]
        """The coordinates of each point."""
        self._values: list[dict[SSAValue, SSAValue]] = [{} for _ in range(row.count)]
        self._moving = depending(self.op.body.block.ops, [row.along] if row.along is not None else [])
        """Coordinates and values that differ from point to point."""

    def _along(self, first: Num, number: int) -> Num:
        """Return the coordinate of a point of the row."""
        at = self.e.add(first, number)
        return at if self.row.last is None or not number else self.e.min(at, self.row.last)

    def compute(self) -> None:
        """Emit all operations before the write."""
        for op in self.op.body.block.ops:
            if isinstance(op, WriteOp):
                return
            if op in self.function.skipped:
                continue
            moves = not self._moving.isdisjoint(op.operands)
            if isinstance(op, ReadOp) and moves and (op in self.row.wide or op in self.row.inside):
                for values, value in zip(self._values, self._load(op), strict=True):
                    values[op.value] = value
                continue
            for point in range(self.row.count if moves else 1):
                self._emit(op, point)
            for point in range(1, 1 if moves else self.row.count):
                self._values[point].update({r: self._values[0][r] for r in op.results})

    def predicate(self, point: int = 0) -> SSAValue | None:
        """Return the condition under which a point is written; None for always."""
        condition = self.op.write_op.predicate
        return None if condition is None else self.value(condition, point)

    def terms(self, point: int = 0) -> list[SSAValue]:
        """Return the terms of a point, one per function."""
        return [self.value(v, point) for v in self.function.terms]

    def where(self, point: int = 0) -> Mapping[SSAValue, Num]:
        """Return the coordinates of a point."""
        return self._where[point]

    def position(self, point: int = 0) -> list[Num]:
        """Compute the position of the write."""
        return self._indices(self.op.write_op, point)

    def write(self, counts: SSAValue | None = None) -> None:
        """Write the values of all functions at a single point, after all are computed.

        `counts`: the predicate, for which old values are loaded, and stored again where it is false; None for true.
        """
        e, function, where = self.e, self.function, self.position()
        written: list[tuple[SSAValue, SSAValue, list[Num]]] = []
        for number, term in enumerate(self.terms()):
            memref, index = function.place(number, where)
            reads = self.op.combiners[number] != SET or counts is not None
            new = function.left(number, e.load(memref, index) if reads else None, term, counts)
            written.append((new, memref, index))
        for new, memref, index in written:
            e.store(new, memref, index)

    def value(self, value: SSAValue, point: int = 0) -> SSAValue:
        """Return a value of the body at a point."""
        where, values = self._where[point], self._values[point]
        if value in where:
            return self.e.value(where[value])
        if value in self.function.tile.scalars:
            return self.function.tile.scalars[value]
        if value not in values:
            # a constant that stands between the stages, or one of the body that only the position needs
            assert isinstance(value.owner, arith.ConstantOp)
            values[value] = self.e.op(value.owner.clone())
        return values[value]

    def _emit(self, op: Operation, point: int) -> None:
        if isinstance(op, ReadOp):
            self._values[point][op.value] = self._read(op, point)
            return
        copy = op.clone({v: self.value(v, point) for v in op.operands})
        self.e.effect(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self._values[point][old] = new
            new.name_hint = old.name_hint

    def _indices(self, op: ReadOp | WriteOp, point: int) -> list[Num]:
        where = self._where[point]
        operands = [where[v] if v in where else self.value(v, point) for v in op.indices]
        return [self.e.affine(x, operands) for x in op.map.data.results]

    def _read(self, op: ReadOp, point: int) -> SSAValue:
        where = self._indices(op, point)
        if op.source in self.op.currents:
            return self.e.load(*self.function.place(self.op.currents.index(op.source), where))  # type: ignore[arg-type]
        # every point of the domain is one that the call has needed
        return read_global(self.e, self.function.tile, op.source, where, None, self.free.get(op, ()), needed=True)

    def _load(self, op: ReadOp) -> list[SSAValue]:
        """Load a read at all points, by vectors where they are contiguous."""
        buffer = self.function.tile.buffers[op.source]
        width = elements_per_access(op.source, self.row.count) if op in self.row.wide else 1
        found: list[SSAValue] = []
        for first in range(0, self.row.count, width):
            index = buffer.index(self._indices(op, first), self.e)
            found += self.e.load_vector(buffer.memref, index, width)
        return found


def elements_per_access(function: SSAValue, count: int) -> int:
    """Return how many of `count` points, a power of two, one access of at most 16 bytes holds."""
    assert isinstance(function.type, FuncType)
    return max(1, min(count, 16 // element_bytes(function.type.element)))


def wide_reads(op: UpdateOp, along: SSAValue) -> list[ReadOp]:
    """Return the reads whose neighbours along a coordinate are contiguous in memory, with no boundary between."""
    of = coordinates(op)
    found = []
    for read in outer_reads(op):
        if not read.map.data.results:
            continue
        base, boundaries = behind_boundaries(read.source)
        first, *others = indices_of(read, of)
        moves = isinstance(first, Index) and first.var == of[along] and (first.num, first.den) == (1, 1)
        still = all(isinstance(i, Index) and i.var != of[along] for i in others)
        is_plain = not boundaries and rows_are_contiguous(base) and read.value.type != i1
        if moves and still and is_plain:
            found.append(read)
    return found
