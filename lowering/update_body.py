"""An update inside a kernel: the kernel's arguments, and the values of the update's body at a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import GroupOp, ReadOp, UpdateOp, WriteOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.lowering.abi import kernel_args, kernel_name, memref_type, threads
from tilefuse.lowering.emit import INDEX, Emitter, Num
from tilefuse.lowering.reads import Buffer, Tile, read_global, scalar_index
from tilefuse.lowering.symbols import word
from tilefuse.lowering.workspaces import Workspace


class UpdateKernel:
    """The kernel of a group that holds an update, while it is emitted."""

    def __init__(self, group: GroupOp, workspaces: Sequence[Workspace] = ()):
        assert group.update is not None
        self.group = group
        self.op: UpdateOp = group.update
        types, hints = _signature(group)
        self.types = [*types, *(w.type for w in workspaces)]
        self.block = Block(arg_types=self.types)
        for value, hint in zip(self.block.args, [*hints, *(word(w.name) for w in workspaces)], strict=True):
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
        self.workspaces: list[SSAValue] = list(rest)
        self.tile = Tile([], self.e.true(), buffers, scalars)

    def old(self, number: int) -> Buffer:
        """Where function `number` lies, old values and new ones."""
        return self.tile.buffers[self.op.olds[number]]

    def pure_point(self, open_scopes: ExitStack, sizes: Sequence[int]) -> tuple[dict[SSAValue, Num], Num]:
        """Open the loops over blocks and threads: each thread has a pure point of its own, or none.

        `sizes`: threads of a block per pure coordinate. Returns the pure coordinates, and the number of the thread.
        """
        e, op = self.e, self.op
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
        where: dict[SSAValue, Num] = {}
        lanes_of: list[Num] = [tx, ty, tz, *[0] * len(dims)]
        for number, coordinate in enumerate(op.pure):
            offset = e.add(e.mul(blocks[number], sizes[number]), lanes_of[number])
            where[coordinate] = e.add(out.mins[dims[number]], offset)
            inside = e.both(inside, e.compare("slt", offset, extents[number]))
        open_scopes.enter_context(e.when(inside))
        width, height, _ = threads(self.group)
        return where, e.add(e.mul(e.add(e.mul(tz, height), ty), width), tx)

    def domain(self, open_scopes: ExitStack, where: dict[SSAValue, Num]) -> bool:
        """Open the loops over the reduction domain, innermost last, and add its coordinates to `where`.

        False, with none open, if it surely has no points.
        """
        e = self.e
        ranges = [tuple(scalar_index(e, self.tile, v) for v in (d.min, d.extent)) for d in self.op.domain]
        if any(isinstance(extent, int) and extent <= 0 for _, extent in ranges):
            return False
        for dimension, (low, extent) in reversed(list(zip(self.op.domain, ranges, strict=True))):
            name = dimension.coordinate.name_hint or "r"
            step = open_scopes.enter_context(e.loop(extent, word(name)))
            where[dimension.coordinate] = e.add(low, step)
        return True

    def at(self, where: Mapping[SSAValue, Num], loaded: Mapping[ReadOp, SSAValue] | None = None) -> UpdatePoint:
        """The body at a point of its coordinates; `loaded`: values of reads that are there already."""
        return UpdatePoint(self, where, loaded or {})

    def finish(self) -> func.FuncOp:
        """End the function, and give it its attributes."""
        self.e.effect(func.ReturnOp())
        kernel = func.FuncOp(kernel_name(self.group), (self.types, []), Region(self.block))
        kernel.attributes["kernel.threads"] = DenseArrayBase.from_list(i64, list(threads(self.group)))
        kernel.attributes["kernel.comment"] = StringAttr(f"{self.op.sym_name.data}: {self.group.schedule}")
        return kernel


class UpdatePoint:
    """The values of an update's body at one point, emitted where the kernel's emitter stands."""

    def __init__(self, kernel: UpdateKernel, where: Mapping[SSAValue, Num], loaded: Mapping[ReadOp, SSAValue]):
        self._kernel, self._loaded = kernel, loaded
        self.where = where
        """The coordinates."""
        self._values: dict[SSAValue, SSAValue] = dict(kernel.tile.scalars)

    def compute(self) -> None:
        """Emit all operations of the body but the write."""
        for op in self._kernel.op.body.block.ops:
            if isinstance(op, ReadOp):
                self._values[op.value] = self._loaded[op] if op in self._loaded else self._read(op)
            elif not isinstance(op, WriteOp):
                self._copy(op)

    def _copy(self, op: Operation) -> None:
        copy = op.clone({v: self.value(v) for v in op.operands})
        self._kernel.e.effect(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self._values[old] = new
            new.name_hint = old.name_hint

    def value(self, value: SSAValue) -> SSAValue:
        """A value of the body, or a scalar."""
        if value in self.where:
            return self._kernel.e.value(self.where[value])
        if value not in self._values:
            # a constant that stands between the stages
            assert isinstance(value.owner, arith.ConstantOp)
            self._values[value] = self._kernel.e.op(value.owner.clone())
        return self._values[value]

    def indices(self, op: ReadOp | WriteOp) -> list[Num]:
        """The position that a read or the write has, x first."""
        operands = [self.where[v] if v in self.where else self.value(v) for v in op.indices]
        return [self._kernel.e.affine(x, operands) for x in op.map.data.results]

    def _read(self, op: ReadOp) -> SSAValue:
        kernel, where = self._kernel, self.indices(op)
        if op.source in kernel.op.currents:
            buffer = kernel.old(kernel.op.currents.index(op.source))  # type: ignore[arg-type]
            return kernel.e.load(buffer.memref, buffer.index(where, kernel.e))
        return read_global(kernel.e, kernel.tile, op.source, where, None)


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
