"""`split-conversions`: compute columns by whole vectors, with conversions of narrow elements in loops of their own.

    scf.for %x = %a to %b {              scf.for %part = %a to %full step 32 {
      %p = memref.load %in[%x] : i8        scf.for %i = 0 to 32 { load, uitofp, store %wide[%i] } {kernel.convert}
      %f = arith.uitofp %p         =>      scf.for %i = 0 to 32 { compute, store %kept[%i] } {kernel.simd}
      ...                                  scf.for %i = 0 to 32 { load %kept[%i], casts, store } {kernel.convert}
      memref.store %q, %out[%x] : i8     }
    } {kernel.simd}                      the loop as it was, from %full to %b

Compilers compute as many vectors of floats as a vector of pixels has elements per float, four for bytes, at once: they
run out of registers, and GCC widens bytes in steps through 16 bits. A loop marked `kernel.convert` is printed as a
helper that converts one vector at a time; arrays of a vector's columns end up in registers. For CPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.dependence import is_defined_in, operations_behind
from tilefuse.lowering.printers.conversions import CONVERT, limits
from tilefuse.lowering.printers.floats import IN_RANGE
from tilefuse.passes.column_steps import step
from tilefuse.passes.row_parts import BLOCK_MEMORY, SIMD, number_width, places, stores_at_end, vector_loops, whole_array

WIDE_BITS = 32
"""Bits of a wide element."""
LEAST_VECTOR = 32
"""Bytes of a vector from which on it pays: compilers have the registers for smaller ones."""
FEW_OPERATIONS, FEW_CONVERSIONS = 40, 4
"""Operations and conversions of a loop over several vectors that become straight code."""
_WIDENING = (arith.UIToFPOp, arith.SIToFPOp, arith.ExtUIOp, arith.ExtSIOp)


@dataclass(frozen=True)
class _Conversion:
    """A load and its cast, or casts and their store."""

    access: memref.LoadOp | memref.StoreOp
    casts: tuple[Operation, ...]
    """Casts in order."""
    places: tuple[Operation, ...]
    """Operations of the loop that compute the place of the access."""

    @property
    def wide(self) -> SSAValue:
        """The wide value: the result of the cast of a load, or the operand of the first cast of a store."""
        return self.casts[0].results[0] if isinstance(self.access, memref.LoadOp) else self.casts[0].operands[0]


@dataclass(frozen=True)
class SplitConversions(ModulePass):
    """Give conversions between narrow and wide elements loops of their own, a vector at a time."""

    name = "split-conversions"

    vector_bytes: int = 32
    """Bytes of a vector register."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.vector_bytes < LEAST_VECTOR:
            return
        for loop, _ in vector_loops(op):
            if found := conversions_of(loop):
                _VectorLoop(loop, self._columns(loop, found)).emit(found)

    def _columns(self, loop: scf.ForOp, found: Sequence[_Conversion]) -> int:
        """Return the columns of a part: elements of a vector of wide numbers, or of narrow ones.

        Narrow ones are stored at once, in a loop so short that it becomes straight code; and where some are not
        converted compilers make vectors of them.
        """
        ops, converted = list(loop.body.block.ops), {value for c in found for value in _narrow_values(c)}
        if any(8 <= number_width(r.type) < WIDE_BITS and r not in converted for op in ops for r in op.results):
            return self.vector_bytes
        stores = any(isinstance(c.access, memref.StoreOp) for c in found)
        few = len(ops) <= FEW_OPERATIONS and len(found) <= FEW_CONVERSIONS
        bits = min(number_width(value.type) for value in converted) if stores and few else WIDE_BITS
        return self.vector_bytes * 8 // bits


def conversions_of(loop: scf.ForOp) -> list[_Conversion]:
    """Find the conversions of a loop that are to get loops of their own; none if it is to stay unchanged."""
    if not (stores := stores_at_end(loop)):
        return []
    loads = [op for op in loop.body.block.ops if isinstance(op, memref.LoadOp)]
    widened = [c for load in loads if (c := _widened(load, loop)) is not None]
    narrowed = [c for store in stores if (c := _narrowed(store, loop)) is not None]
    return [*widened, *narrowed]


def _widened(load: memref.LoadOp, loop: scf.ForOp) -> _Conversion | None:
    """Return the conversion of a load that is used by one cast to a wide element alone; None for other loads."""
    users = [use.operation for use in load.res.uses]
    if len(users) != 1 or not isinstance(cast := users[0], _WIDENING) or cast.parent is not loop.body.block:
        return None
    if number_width(cast.results[0].type) != WIDE_BITS or not 8 <= number_width(load.res.type) < WIDE_BITS:
        return None
    return _conversion(load, (cast,), loop)


def _narrowed(store: memref.StoreOp, loop: scf.ForOp) -> _Conversion | None:
    """Return the conversion of a store of a truncated wide value of the loop; None for other stores.

    A float that is cast to an integer in range is converted with it; a cast that saturates is wide arithmetic.
    """
    truncation = store.value.owner
    if not isinstance(truncation, arith.TruncIOp) or truncation.parent is not loop.body.block:
        return None
    casts: tuple[Operation, ...] = (truncation,)
    cast = truncation.input.owner
    if isinstance(cast, arith.FPToSIOp) and cast.parent is loop.body.block and IN_RANGE in cast.attributes:
        casts = (*_limits(cast.input, store.value.type, loop), cast, truncation)
    value = casts[0].operands[0]
    if not is_defined_in(value, loop.body.block):
        return None
    if number_width(value.type) != WIDE_BITS or not 8 <= number_width(store.value.type) < WIDE_BITS:
        return None
    return _conversion(store, casts, loop)


def _limits(value: SSAValue, type: Attribute, loop: scf.ForOp) -> tuple[Operation, ...]:
    """Return the minimum and maximum that limit a float to an unsigned type before its cast; none if used elsewhere."""
    body, greatest = loop.body.block, value.owner
    least = greatest.lhs.owner if isinstance(greatest, arith.MaxnumfOp) else None
    if not isinstance(greatest, arith.MaxnumfOp) or not isinstance(least, arith.MinnumfOp):
        return ()
    ops = (least, greatest)
    inside = all(op.parent is body and len(list(op.result.uses)) == 1 for op in ops)
    return ops if inside and not any(is_defined_in(op.rhs, body) for op in ops) and limits(ops, type) else ()


def _conversion(
    access: memref.LoadOp | memref.StoreOp, casts: tuple[Operation, ...], loop: scf.ForOp
) -> _Conversion | None:
    """Return a conversion whose access has unit stride along the loop; None for other accesses."""
    x, type = loop.body.block.args[0], access.memref.type
    assert isinstance(type, MemRefType)
    strides = type.get_strides()
    steps = [step(index, x) for index in access.indices]
    if not steps or not strides or strides[-1] != 1 or steps[-1] != 1 or any(s != 0 for s in steps[:-1]):
        return None
    where = places(access, loop)
    return None if where is None else _Conversion(access, casts, tuple(where))


def _narrow_values(conversion: _Conversion) -> list[SSAValue]:
    """List the narrow values of a conversion: of its load, or of the casts before its store."""
    if isinstance(conversion.access, memref.LoadOp):
        return [conversion.access.res]
    return [r for op in conversion.casts for r in op.results if number_width(r.type) < WIDE_BITS]


class _VectorLoop:
    """Emit the loop over whole vectors in front of a loop, which is left the columns of the last vector."""

    def __init__(self, loop: scf.ForOp, lanes: int):
        outside = loop.parent
        assert outside is not None
        self.loop, self.lanes, self.outside = loop, lanes, outside
        self.body = Block(arg_types=[IndexType()])
        self.start: SSAValue = self.body.args[0]
        self.start.name_hint = "part"

    def emit(self, conversions: Sequence[_Conversion]) -> None:
        """Emit the loop over parts: conversions of loads, the computation, and conversions for stores."""
        loop = self.loop
        zero, lanes = self._before(_number(0)), self._before(_number(self.lanes))
        columns = self._before(arith.MaxSIOp(self._before(arith.SubiOp(loop.ub, loop.lb)), zero))
        left = self._before(arith.RemUIOp(columns, lanes))
        full = self._before(arith.SubiOp(self._before(arith.AddiOp(loop.lb, columns)), left))
        self._before(scf.ForOp(loop.lb, full, lanes, [], self.body))
        self.zero, self.one, self.count = (self._add(_number(n)) for n in (0, 1, self.lanes))
        arrays = [(c, self._array(c)) for c in conversions]
        loads = [(c, array) for c, array in arrays if isinstance(c.access, memref.LoadOp)]
        stores = [(c, array) for c, array in arrays if isinstance(c.access, memref.StoreOp)]
        for c, array in loads:
            self._widen(c, array)
        self._compute({c.wide: array for c, array in loads}, {c.access: (c.wide, array) for c, array in stores})
        for c, array in stores:
            self._narrow(c, array)
        self._add(scf.YieldOp())
        loop.operands[0] = full
        del loop.attributes[SIMD]  # fewer columns than a vector has

    def _array(self, conversion: _Conversion) -> SSAValue:
        """Allocate the wide elements of a part."""
        verb = "wide" if isinstance(conversion.access, memref.LoadOp) else "kept"
        array = memref.AllocaOp.get(conversion.wide.type, shape=[self.lanes], memory_space=BLOCK_MEMORY)
        array.memref.name_hint = f"{verb}_{whole_array(conversion.access.memref).name_hint or 'row'}"
        return self._add(array)

    def _widen(self, conversion: _Conversion, array: SSAValue) -> None:
        access = conversion.access
        at = self._place(conversion)

        def convert(i: SSAValue, add: Callable[[Operation], SSAValue]) -> None:
            value = add(memref.LoadOp.get(access.memref, [*at[:-1], add(arith.AddiOp(at[-1], i))]))
            add(memref.StoreOp.get(self._cast(conversion, value, add), array, [i]))

        self._loop(convert, CONVERT)

    def _narrow(self, conversion: _Conversion, array: SSAValue) -> None:
        access = conversion.access
        at = self._place(conversion)

        def convert(i: SSAValue, add: Callable[[Operation], SSAValue]) -> None:
            value = self._cast(conversion, add(memref.LoadOp.get(array, [i])), add)
            add(memref.StoreOp.get(value, access.memref, [*at[:-1], add(arith.AddiOp(at[-1], i))]))

        self._loop(convert, CONVERT)

    @staticmethod
    def _cast(conversion: _Conversion, value: SSAValue, add: Callable[[Operation], SSAValue]) -> SSAValue:
        for op in conversion.casts:
            value = add(op.clone({op.operands[0]: value}))
        return value

    def _place(self, conversion: _Conversion) -> list[SSAValue]:
        """Compute the indices of an access at the first column of a part."""
        values: dict[SSAValue, SSAValue] = {self.loop.body.block.args[0]: self.start}
        for op in conversion.places:
            self._add(op.clone(values))
        return [values.get(index, index) for index in conversion.access.indices]

    def _compute(
        self, loaded: Mapping[SSAValue, SSAValue], stored: Mapping[Operation, tuple[SSAValue, SSAValue]]
    ) -> None:
        """Emit the loop that computes on wide elements, without the conversions and the operations for them alone.

        `loaded`: arrays by the values that they have; `stored`: values and their arrays by the stores of these.
        """
        block = self.loop.body.block
        x, others = block.args[0], [op for op in block.ops if isinstance(op, memref.StoreOp) and op not in stored]
        results = [*(value for store in others for value in store.operands), *(value for value, _ in stored.values())]
        needed = {*others, *operations_behind(results, block, loaded)}

        def compute(i: SSAValue, add: Callable[[Operation], SSAValue]) -> None:
            column = add(arith.AddiOp(self.start, i))
            column.name_hint = x.name_hint
            values: dict[SSAValue, SSAValue] = {x: column}
            for op in block.ops:
                if op.results and op.results[0] in loaded:
                    values[op.results[0]] = add(memref.LoadOp.get(loaded[op.results[0]], [i]))
                elif op in stored:
                    value, array = stored[op]
                    add(memref.StoreOp.get(values[value], array, [i]))
                elif op in needed:
                    add(op.clone(values))

        self._loop(compute, SIMD)

    def _loop(self, emit: Callable[[SSAValue, Callable[[Operation], SSAValue]], None], attribute: str) -> None:
        """Emit a loop over the columns of a part."""
        body = Block(arg_types=[IndexType()])
        body.args[0].name_hint = "i"

        def add(op: Operation) -> SSAValue:
            op.location = self.loop.location
            body.add_op(op)
            return op.results[0] if op.results else body.args[0]

        emit(body.args[0], add)
        body.add_op(scf.YieldOp())
        loop = scf.ForOp(self.zero, self.count, self.one, [], body)
        loop.attributes[attribute] = UnitAttr()
        self._add(loop)

    def _before(self, op: Operation) -> SSAValue:
        op.location = self.loop.location
        self.outside.insert_op_before(op, self.loop)
        return op.results[0] if op.results else self.start

    def _add(self, op: Operation) -> SSAValue:
        op.location = self.loop.location
        self.body.add_op(op)
        return op.results[0] if op.results else self.start


def _number(number: int) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(number, IndexType()))
