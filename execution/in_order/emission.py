"""The kernel of an update: a thread per pure point, which goes over the reduction domain in order.

It writes over the old functions, where they lie; the box of the new ones says over which pure points. Right for every
update, whatever it reads and writes: pure points never see one another.
"""

from __future__ import annotations

from contextlib import ExitStack

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import SET, GroupOp, ReadOp, UpdateOp, WriteOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.execution.in_order.attribute import InOrderSchedule
from tilefuse.lowering.abi import kernel_args, kernel_name, memref_type, threads
from tilefuse.lowering.emit import INDEX, Emitter, Num
from tilefuse.lowering.reads import Buffer, Tile, read_global, scalar_index
from tilefuse.lowering.symbols import word


def update_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group that holds an update."""
    return _UpdateKernel(group).emit()


class _UpdateKernel:
    """The kernel while it is emitted."""

    def __init__(self, group: GroupOp):
        assert group.update is not None
        self.group = group
        self.op: UpdateOp = group.update
        self.types, hints = _signature(group)
        self.block = Block(arg_types=self.types)
        for value, hint in zip(self.block.args, hints, strict=True):
            value.name_hint = hint
        self.e = Emitter(self.block)
        buffers: dict[SSAValue, Buffer] = {}
        scalars: dict[SSAValue, SSAValue] = {}
        rest = iter(self.block.args)
        for arg in kernel_args(group):
            first = next(rest)
            if isinstance(type := arg.value.type, FuncType):
                buffers[arg.value] = Buffer(first, [next(rest) for _ in range(type.rank.data)])
            else:
                scalars[arg.value] = first
        self.tile = Tile([], self.e.true(), buffers, scalars)
        self.values: dict[SSAValue, SSAValue] = dict(scalars)
        """What the body's values are at the point that is emitted."""
        self.where: dict[SSAValue, Num] = {}
        """The coordinates."""

    def emit(self) -> func.FuncOp:
        """The whole function."""
        e, op = self.e, self.op
        with ExitStack() as open_scopes:
            self._pure_point(open_scopes)
            if self._domain(open_scopes):
                self._body()
        e.effect(func.ReturnOp())
        kernel = func.FuncOp(kernel_name(self.group), (self.types, []), Region(self.block))
        kernel.attributes["kernel.threads"] = DenseArrayBase.from_list(i64, list(threads(self.group)))
        kernel.attributes["kernel.comment"] = StringAttr(f"{op.sym_name.data}: {self.group.schedule}")
        return kernel

    def _pure_point(self, open_scopes: ExitStack) -> None:
        """Open the loops over blocks and threads; each has a pure point of its own, or none."""
        e, op = self.e, self.op
        sizes = InOrderSchedule.expect(self.group.schedule).tile_sizes
        # all results have one box
        out = self.tile.buffers[self.group.funcs[0]]
        dims = op.pure_dims
        extents = [out.extent(d, e) for d in dims]
        counts = [e.ceildiv(n, size, f"tiles_{letter(d)}") for n, size, d in zip(extents, sizes, dims, strict=True)]
        depth: Num = 1
        for n in counts[2:]:
            depth = e.mul(depth, n)
        loops = [(depth, "bz", "block_z"), (counts[1] if len(counts) > 1 else 1, "by", "block_y")]
        loops.append((counts[0] if counts else 1, "bx", "block_x"))
        bz, by, bx = (open_scopes.enter_context(e.loop(n, name, level=level)) for n, name, level in loops)
        lanes = zip(reversed(threads(self.group)), "zyx", strict=True)
        tz, ty, tx = (open_scopes.enter_context(e.loop(n, f"t{a}", level=f"thread_{a}")) for n, a in lanes)
        blocks: list[Num] = [bx, by]
        for n in counts[2:-1]:
            quotient = e.op(arith.DivUIOp(e.value(bz), e.value(n)))
            blocks.append(e.sub(bz, e.mul(quotient, n)))
            bz = quotient
        blocks.append(bz)
        inside: SSAValue | None = None
        lanes_of: list[Num] = [tx, ty, tz, *[0] * len(dims)]
        for number, coordinate in enumerate(op.pure):
            offset = e.add(e.mul(blocks[number], sizes[number]), lanes_of[number])
            self.where[coordinate] = e.add(out.mins[dims[number]], offset)
            inside = e.both(inside, e.compare("slt", offset, extents[number]))
        open_scopes.enter_context(e.when(inside))

    def _domain(self, open_scopes: ExitStack) -> bool:
        """Open the loops over the reduction domain, innermost last; False if it surely has no points."""
        e = self.e
        for dimension in reversed(self.op.domain):
            low, extent = (scalar_index(e, self.tile, v) for v in (dimension.min, dimension.extent))
            if isinstance(extent, int) and extent <= 0:
                return False
            name = dimension.coordinate.name_hint or "r"
            step = open_scopes.enter_context(e.loop(extent, word(name)))
            self.where[dimension.coordinate] = e.add(low, step)
        return True

    def _body(self) -> None:
        for op in self.op.body.block.ops:
            if isinstance(op, WriteOp):
                with self.e.when(None if op.predicate is None else self._value(op.predicate)):
                    self._write(op)
            elif isinstance(op, ReadOp):
                self.values[op.value] = self._read(op)
            else:
                self._copy(op)

    def _copy(self, op: Operation) -> None:
        copy = op.clone({v: self._value(v) for v in op.operands})
        self.e.effect(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self.values[old] = new
            new.name_hint = old.name_hint

    def _value(self, value: SSAValue) -> SSAValue:
        if value in self.where:
            return self.e.value(self.where[value])
        if value not in self.values:
            # a constant that stands between the stages
            assert isinstance(value.owner, arith.ConstantOp)
            self.values[value] = self.e.op(value.owner.clone())
        return self.values[value]

    def _indices(self, op: ReadOp | WriteOp) -> list[Num]:
        operands = [self.where[v] if v in self.where else self._value(v) for v in op.indices]
        return [self.e.affine(x, operands) for x in op.map.data.results]

    def _read(self, op: ReadOp) -> SSAValue:
        where = self._indices(op)
        if op.source in self.op.currents:
            buffer = self._old(self.op.currents.index(op.source))  # type: ignore[arg-type]
            return self.e.load(buffer.memref, buffer.index(where, self.e))
        return read_global(self.e, self.tile, op.source, where, None)

    def _old(self, number: int) -> Buffer:
        return self.tile.buffers[self.op.olds[number]]

    def _write(self, op: WriteOp) -> None:
        """Write the values of all functions, when all are computed."""
        e = self.e
        where = self._indices(op)
        written: list[tuple[SSAValue, Buffer, list[Num]]] = []
        for number, (way, value) in enumerate(zip(self.op.combiners, op.values, strict=True)):
            buffer = self._old(number)
            index = buffer.index(where, e)
            new = self._value(value)
            if way != SET:
                type = self.op.olds[number].type
                assert isinstance(type, FuncType)
                new = e.op(combined(way, type.element, e.load(buffer.memref, index), new))
            written.append((new, buffer, index))
        for new, buffer, index in written:
            e.store(new, buffer.memref, index)


def _signature(group: GroupOp) -> tuple[list[Attribute], list[str]]:
    """Types and names of the kernel's arguments."""
    types: list[Attribute] = []
    hints: list[str] = []
    for arg in kernel_args(group):
        name = getattr(arg.value.owner, "sym_name", None)
        hint = word(name.data if name is not None else (arg.value.name_hint or "value"))
        if not isinstance(type := arg.value.type, FuncType):
            types.append(type)
            hints.append(hint)
            continue
        hint = f"out_{hint}" if arg.kind == "output" else hint
        types += [memref_type(arg.value), *[INDEX] * type.rank.data]
        hints += [hint, *(f"{hint}_min_{letter(d)}" for d in range(type.rank.data))]
    return types, hints
