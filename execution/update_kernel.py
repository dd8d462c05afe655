"""What the kernels of updates have in common: arguments, scalars, and the body at a point of the domain."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import SET, GroupOp, ReadOp, UpdateOp, WriteOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.lowering.abi import kernel_args, kernel_name, memref_type, threads
from tilefuse.lowering.emit import INDEX, Emitter, Num
from tilefuse.lowering.reads import Buffer, Tile, read_global
from tilefuse.lowering.symbols import word


class UpdateKernel:
    """The kernel of a group that holds an update, while it is emitted."""

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

    @property
    def out(self) -> Buffer:
        """The box of the new functions, which all have one."""
        return self.tile.buffers[self.group.funcs[0]]

    def old(self, number: int) -> Buffer:
        """The memory of an old function, which the new one is written over."""
        return self.tile.buffers[self.op.olds[number]]

    def element(self, number: int) -> Attribute:
        """The type of pixels of a function."""
        type = self.op.olds[number].type
        assert isinstance(type, FuncType)
        return type.element

    def finished(self) -> func.FuncOp:
        """End the function; gives it."""
        self.e.effect(func.ReturnOp())
        kernel = func.FuncOp(kernel_name(self.group), (self.types, []), Region(self.block))
        kernel.attributes["kernel.threads"] = DenseArrayBase.from_list(i64, list(threads(self.group)))
        kernel.attributes["kernel.comment"] = StringAttr(f"{self.op.sym_name.data}: {self.group.schedule}")
        return kernel

    def blocks_of(self, counts: Sequence[Num], bx: Num, by: Num, bz: Num) -> list[Num]:
        """A block's number along each dimension, of `counts`: z counts all from the third on."""
        blocks = [bx, by]
        for n in counts[2:-1]:
            quotient = self.e.op(arith.DivUIOp(self.e.value(bz), self.e.value(n)))
            blocks.append(self.e.sub(bz, self.e.mul(quotient, n)))
            bz = quotient
        return [*blocks, bz]

    # --- the body

    def body(self) -> None:
        """Emit the body at a point."""
        for op in self.op.body.block.ops:
            if isinstance(op, WriteOp):
                with self.e.when(None if op.predicate is None else self.value(op.predicate)):
                    self._write(op)
            elif isinstance(op, ReadOp):
                self.values[op.value] = self._read(op)
            else:
                self._copy(op)

    def _copy(self, op: Operation) -> None:
        copy = op.clone({v: self.value(v) for v in op.operands})
        self.e.effect(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self.values[old] = new
            new.name_hint = old.name_hint

    def value(self, value: SSAValue) -> SSAValue:
        """What a value of the body, or a scalar, is in the kernel."""
        if value in self.where:
            return self.e.value(self.where[value])
        if value not in self.values:
            # a constant that stands between the stages
            assert isinstance(value.owner, arith.ConstantOp)
            self.values[value] = self.e.op(value.owner.clone())
        return self.values[value]

    def indices(self, op: ReadOp | WriteOp) -> list[Num]:
        """The coordinates that an op reads or writes at."""
        operands = [self.where[v] if v in self.where else self.value(v) for v in op.indices]
        return [self.e.affine(x, operands) for x in op.map.data.results]

    def _read(self, op: ReadOp) -> SSAValue:
        where = self.indices(op)
        if op.source in self.op.currents:
            buffer = self.old(self.op.currents.index(op.source))  # type: ignore[arg-type]
            return self.e.load(buffer.memref, buffer.index(where, self.e))
        return read_global(self.e, self.tile, op.source, where, None)

    def _write(self, op: WriteOp) -> None:
        """Write the values of all functions, when all are computed."""
        e = self.e
        where = self.indices(op)
        written: list[tuple[SSAValue, Buffer, list[Num]]] = []
        for number, (way, value) in enumerate(zip(self.op.combiners, op.values, strict=True)):
            buffer = self.old(number)
            index = buffer.index(where, e)
            new = self.value(value)
            if way != SET:
                new = e.op(combined(way, self.element(number), e.load(buffer.memref, index), new))
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
