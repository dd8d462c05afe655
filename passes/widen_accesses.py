"""`widen-accesses`: load and store several narrow pixels as one number in loops that compute in wider numbers.

    scf.for %x = %a to %b {                       scf.for %k = 0 to (%b - %a) / 2 {
      %p = memref.load %in[%x] : i8                 %w = (vector.load %in[%a + 2 * %k] : vector<2xi8> as i16)
      %v = arith.extui %p : i8 to i16       =>      %v = arith.andi %w, 255, of the next pixel arith.shrui %w, 8
      ...                                           ...
      memref.store %r, %out[%x] : i8                vector.store (%r | %r_1 << 8 as vector<2xi8>), %out[...]

Compilers vectorise such a loop by moving pixels between the halves of registers, on one port; wide numbers have their
pixels in the right lanes from the start. A pixel that two accesses read (one at x + 1, and one at x for the next pixel)
is extracted once. All accesses must have one width, all numbers another, at most four times as wide. Remaining pixels
have a loop of their own. For CPUs, which are little-endian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from tilefuse.dialects.constants import integer_constant
from tilefuse.passes.column_steps import step, terms_and_offset

MOST_LANES = 4
WIDEST_NUMBER = 32
"""Bits of a number; most machines compute little in vectors of wider ones."""
_EXTENSIONS = (arith.ExtUIOp, arith.ExtSIOp, arith.UIToFPOp, arith.SIToFPOp)


@dataclass(frozen=True)
class WidenAccesses(ModulePass):
    """Load and store several narrow pixels as one wide number, in loops that compute only in wide numbers."""

    name = "widen-accesses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [o for o in op.walk() if isinstance(o, scf.ForOp) and "kernel.simd" in o.attributes]:
            if (lanes := lanes_of(loop)) is not None:
                _Widened(loop, *lanes).emit()


def lanes_of(loop: scf.ForOp) -> tuple[int, IntegerType] | None:
    """Find how many pixels one number holds, and its type; None if the loop is to stay unchanged."""
    ops, x = list(loop.body.block.ops)[:-1], loop.body.block.args[0]
    if loop.results or integer_constant(loop.step) != 1 or not _is_plain(ops):
        return None
    narrow = {_width(_pixel(op)) for op in ops if _pixel(op) is not None and _pixels(op, x)}
    wide = {_width(value.type) for op in ops for value in op.results if _is_number(op, value.type, narrow)}
    if len(narrow) != 1 or len(wide) != 1 or None in narrow | wide:
        return None
    [pixel], [number] = narrow, wide
    assert pixel is not None
    assert number is not None
    if number > WIDEST_NUMBER or number % pixel or not 1 < number // pixel <= MOST_LANES:
        return None
    if not all(_is_widened(op, x) for op in ops) or _is_narrowed(ops, number // pixel):
        return None
    return number // pixel, IntegerType(number)


_KEPT_WIDE = (arith.MaxSIOp, arith.MaxUIOp, arith.MinSIOp, arith.MinUIOp, math.AbsIOp)


def _is_narrowed(ops: Sequence[Operation], lanes: int) -> bool:
    """Whether the compiler narrows the computation itself: GCC does so in 32-bit sums of bytes."""
    floats = any(isinstance(v.type, Float32Type) for op in ops for v in op.results)
    return lanes == MOST_LANES and not floats and not any(isinstance(op, _KEPT_WIDE) for op in ops)


def _is_plain(ops: Sequence[Operation]) -> bool:
    """Whether a loop loads, computes, and then stores."""
    stores = [isinstance(op, memref.StoreOp) for op in ops]
    first = stores.index(True) if True in stores else len(ops)
    return (
        any(stores)
        and not any(isinstance(op, memref.LoadOp) for op in ops[first:])
        and all(
            s or (not op.regions and (isinstance(op, memref.LoadOp | arith.ExtSIOp) or is_side_effect_free(op)))
            for op, s in zip(ops, stores, strict=True)
        )
    )


def _pixel(op: Operation) -> Attribute | None:
    """Return the type that an access loads or stores."""
    if isinstance(op, memref.LoadOp | memref.StoreOp):
        assert isinstance(op.memref.type, MemRefType)
        found: Attribute = op.memref.type.element_type
        return found
    return None


def _width(type: Attribute | None) -> int | None:
    """Return the bits of a number; None for any other type."""
    if isinstance(type, IntegerType):
        return int(type.width.data)
    return 32 if isinstance(type, Float32Type) else 64 if isinstance(type, Float64Type) else None


def _pixels(op: Operation, x: SSAValue) -> bool:
    """Whether an access moves with `x`."""
    assert isinstance(op, memref.LoadOp | memref.StoreOp)
    return any(step(index, x) != 0 for index in op.indices)


def _is_number(op: Operation, type: Attribute, narrow: set[int | None]) -> bool:
    """Whether a result is a computed number: no place, truth value, pixel or constant."""
    return not isinstance(type, IndexType) and type != i1 and not (
        isinstance(op, memref.LoadOp | arith.ConstantOp)
        or (isinstance(op, arith.TruncIOp) and _width(type) in narrow and _is_stored(op))
    )  # fmt: skip


def _is_stored(op: Operation) -> bool:
    return all(isinstance(use.operation, memref.StoreOp) and use.index == 0 for use in op.results[0].uses)


def _is_widened(op: Operation, x: SSAValue) -> bool:
    """Whether an operation has a form for several pixels."""
    if isinstance(op, memref.LoadOp):
        if not _pixels(op, x):
            return True
        return _is_side_by_side(op, x) and all(isinstance(u.operation, _EXTENSIONS) for u in op.res.uses)
    if isinstance(op, memref.StoreOp):
        return _is_side_by_side(op, x) and isinstance(op.value.owner, arith.TruncIOp)
    if isinstance(op, arith.IndexCastOp):
        return False  # a column as a number: lanes are numbered in its own width already
    return True


def _is_side_by_side(op: memref.LoadOp | memref.StoreOp, x: SSAValue) -> bool:
    type, steps = op.memref.type, [step(index, x) for index in op.indices]
    assert isinstance(type, MemRefType)
    strides = None if isinstance(type.layout, NoneAttr) else type.layout.get_strides()
    return bool(steps) and steps[-1] == 1 and not any(steps[:-1]) and (strides is None or strides[-1] == 1)


class _Widened:
    """Emit the loop of wide numbers before the loop of narrow pixels, which keeps the remainder."""

    def __init__(self, loop: scf.ForOp, lanes: int, number: IntegerType):
        self.loop, self.lanes, self.number = loop, lanes, number
        self.bits = number.width.data // lanes
        self.body = Block(arg_types=[IndexType()])
        self.words: dict[tuple[Any, ...], SSAValue] = {}
        """The numbers that are loaded, by where."""
        self.pixels: dict[tuple[Any, ...], SSAValue] = {}
        """The pixels that were taken out of them, by where and as what."""
        self.columns: dict[memref.LoadOp, tuple[frozenset[tuple[SSAValue, int]], int]] = {}
        """Terms and number of each load's column, as `terms_and_offset` returns them."""
        self.first: dict[SSAValue, SSAValue] = {}
        """Each value, as the first pixel has it."""

    def emit(self) -> None:
        """Emit both loops."""
        loop, outside = self.loop, self.loop.parent
        assert outside is not None
        zero, one, lanes = (arith.ConstantOp(IntegerAttr(n, IndexType())) for n in (0, 1, self.lanes))
        span = arith.SubiOp(loop.ub, loop.lb)
        some = arith.MaxSIOp(span, zero)
        rounds = arith.DivUIOp(some, lanes)
        # so that compilers see that it is short, and leave it alone
        rest = arith.SubiOp(arith.AddiOp(loop.lb, some), arith.RemUIOp(some, lanes))
        before = [zero, one, lanes, span, some, rounds, rest.lhs.owner, rest.rhs.owner, rest]
        self._body(lanes.result)
        wide = scf.ForOp(zero, rounds, one, [], self.body)
        wide.attributes["kernel.simd"] = loop.attributes.pop("kernel.simd")
        for op in (*before, wide):
            assert isinstance(op, Operation)
            op.location = loop.location
            outside.insert_op_before(op, loop)
        loop.operands[0] = rest.result

    def _body(self, lanes: SSAValue) -> None:
        k = self.body.args[0]
        k.name_hint = "k"
        first = self._add(arith.AddiOp(self.loop.lb, self._add(arith.MuliOp(k, lanes))))
        first.name_hint = self.loop.body.block.args[0].name_hint
        values: list[dict[SSAValue, SSAValue]] = []
        for lane in range(self.lanes):
            at = self._add(arith.AddiOp(first, self._index(lane))) if lane else first
            values.append(self._lane(lane, at))
        for op in self.loop.body.block.ops:
            if isinstance(op, memref.StoreOp):
                self._store(op, values)
        self.body.add_op(scf.YieldOp())

    def _add(self, op: Operation) -> SSAValue:
        op.location = self.loop.location
        self.body.add_op(op)
        return op.results[0]

    def _lane(self, lane: int, at: SSAValue) -> dict[SSAValue, SSAValue]:
        """Copy one pixel's operations except stores; return the copy of each value."""
        values: dict[SSAValue, SSAValue] = {(x := self.loop.body.block.args[0]): at}
        self.first = values if lane == 0 else self.first
        for op in list(self.loop.body.block.ops)[:-1]:
            if isinstance(op, memref.LoadOp) and _pixels(op, x):
                continue
            if (
                isinstance(op, _EXTENSIONS)
                and isinstance(load := op.operands[0].owner, memref.LoadOp)
                and _pixels(load, x)
            ):
                values[op.results[0]] = self._extended(op, load, lane)
            elif not isinstance(op, memref.StoreOp) and not (isinstance(op, arith.TruncIOp) and _is_stored(op)):
                copy = op.clone(values)
                self.body.add_op(copy)
                copy.results[0].name_hint = op.results[0].name_hint
                values[op.results[0]] = copy.results[0]
        return values

    def _index(self, number: int) -> SSAValue:
        return self._add(arith.ConstantOp(IntegerAttr(number, IndexType())))

    def _constant(self, number: int) -> SSAValue:
        return self._add(arith.ConstantOp(IntegerAttr(number, self.number)))

    def _extended(self, op: Operation, load: memref.LoadOp, lane: int) -> SSAValue:
        """Return the number that an operation makes of a pixel, which may be part of another access's word."""
        if load not in self.columns:
            self.columns[load] = terms_and_offset(load.indices[-1], self.loop.body.block)
        terms, column = self.columns[load]
        row, at = (load.memref, *load.indices[:-1], terms), column + lane
        made = (row, at, type(op), op.results[0].type)
        if made not in self.pixels:
            within = next((n for n in range(self.lanes) if (row, at - n) in self.words), lane)
            if (row, at - within) not in self.words:
                self.words[row, column] = self._word(load, [self.first.get(i, i) for i in load.indices])
            self.pixels[made] = self._pixel(op, self.words[row, at - within], within)
        return self.pixels[made]

    def _word(self, op: memref.LoadOp, indices: Sequence[SSAValue]) -> SSAValue:
        pixels = VectorType(IntegerType(self.bits), [self.lanes])
        loaded = self._add(vector.LoadOp(op.memref, indices, pixels))
        word = self._add(vector.BitcastOp(loaded, VectorType(self.number, [1])))
        return self._add(vector.ExtractOp(word, [0], self.number))

    def _pixel(self, extension: Operation, word: SSAValue, lane: int) -> SSAValue:
        """Extract one pixel of a word, converted as the operation converts it."""
        above = (self.lanes - 1 - lane) * self.bits
        if isinstance(extension, arith.ExtSIOp | arith.SIToFPOp):
            up = self._add(arith.ShLIOp(word, self._constant(above))) if above else word
            found = self._add(arith.ShRSIOp(up, self._constant(above + lane * self.bits)))
        else:
            found = self._add(arith.ShRUIOp(word, self._constant(lane * self.bits))) if lane else word
            found = self._add(arith.AndIOp(found, self._constant((1 << self.bits) - 1))) if above else found
        type = extension.results[0].type
        return self._add(arith.SIToFPOp(found, type)) if isinstance(type, Float32Type) else found

    def _store(self, op: memref.StoreOp, values: Sequence[dict[SSAValue, SSAValue]]) -> None:
        assert isinstance(op.value.owner, arith.TruncIOp)
        number, most = op.value.owner.input, (1 << self.bits) - 1
        joined: SSAValue | None = None
        for lane, found in enumerate(values):
            value = found.get(number, number)
            if lane < self.lanes - 1 and greatest_unsigned(value, self.number) > most:
                value = self._add(arith.AndIOp(value, self._constant(most)))
            if lane:
                value = self._add(arith.ShLIOp(value, self._constant(lane * self.bits)))
            joined = value if joined is None else self._add(arith.OrIOp(joined, value))
        assert joined is not None
        word = self._add(vector.BroadcastOp(joined, VectorType(self.number, [1])))
        pixels = self._add(vector.BitcastOp(word, VectorType(IntegerType(self.bits), [self.lanes])))
        store = vector.StoreOp(pixels, op.memref, [values[0].get(i, i) for i in op.indices])
        store.location = self.loop.location
        self.body.add_op(store)


def greatest_unsigned(value: SSAValue, type: IntegerType, known: dict[SSAValue, int] | None = None) -> int:
    """Return an upper bound of an unsigned number, from its operations. `known` caches bounds of values."""
    known = {} if known is None else known
    if value not in known:
        known[value] = _greatest_of(value, type, known)
    return known[value]


def _greatest_of(value: SSAValue, type: IntegerType, known: dict[SSAValue, int]) -> int:
    top, op = (1 << type.width.data) - 1, value.owner
    if (number := integer_constant(value)) is not None:
        return number & top
    if isinstance(op, arith.ExtUIOp) and isinstance(op.input.type, IntegerType):
        return int((1 << op.input.type.width.data) - 1)
    if isinstance(op, Block) or len(op.operands) != 2:
        return top
    a, b = op.operands
    by = integer_constant(b)
    if isinstance(op, arith.AndIOp | arith.MinUIOp):
        return min(greatest_unsigned(a, type, known), greatest_unsigned(b, type, known))
    if isinstance(op, arith.AddiOp | arith.MuliOp):
        x, y = greatest_unsigned(a, type, known), greatest_unsigned(b, type, known)
        found = x + y if isinstance(op, arith.AddiOp) else x * y
        return found if found <= top else top
    if isinstance(op, arith.ShRUIOp) and by is not None and 0 <= by < type.width.data:
        return greatest_unsigned(a, type, known) >> by
    if isinstance(op, arith.DivUIOp) and by is not None and by > 0:
        return greatest_unsigned(a, type, known) // by
    return top
