"""Masks of a box: zero the points outside, by one mask for a lane's columns and one for a warp's rows.

Where zeros surround a stage, every point of a border tile is compared with the box and perhaps replaced:

    select(!border | x < width, ...) & (!border | y < height), value, 0)

A compiler computes these conditions once for all such stages, and has to keep or unpack one per point. Here a block
writes a word of all bits or none per column and per row to shared memory before its first barrier; behind it a point
takes one instruction, value & column & row.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i32
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tilefuse.dialects.warp import LoadOp, MapOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.execution.warp_tile.body import LanePoint
from tilefuse.execution.warp_tile.repeats import outside_key
from tilefuse.execution.warp_tile.schedule import is_tile_op
from tilefuse.lowering.emit import SHARED, Emitter, Num

_X, _Y = 0, 1
_Terms = tuple[list[SSAValue], list[SSAValue]]


@dataclass(frozen=True)
class _Mask:
    """One mask: conditions on a column or on a row."""

    axis: int
    layout: Layout
    terms: tuple[SSAValue, ...]

    @property
    def shape(self) -> list[int]:
        """Shape of the mask: columns of all lanes, or rows of each warp."""
        a = self.layout
        return [a.lanes[0] * a.vector] if self.axis == _X else [a.warps[0], a.height]


class Masks:
    """Masks of a body with barriers; `room`: bytes of shared memory that are left for them."""

    def __init__(self, ops: Sequence[Operation], room: int, e: Emitter):
        self.e, self.room = e, room
        self.border = next((op.border for op in ops if isinstance(op, LoadOp) and op.border is not None), None)
        self.written = self.ready = False
        """Whether the masks have been written, and a barrier has been passed since."""
        self.unneeded: set[Operation] = set()
        """Comparisons that nothing but masks is made of."""
        self._axes: dict[Hashable, _Mask] = {}
        self._of: dict[Operation, list[Hashable]] = {}
        self._memory: dict[Hashable, SSAValue] = {}
        function = e.block
        for op in _maps(ops) if self.border is not None else ():
            for select in op.body.block.ops:
                if isinstance(select, arith.SelectOp):
                    self._add(select, op, function)

    def _add(self, select: arith.SelectOp, op: MapOp, function: Block) -> None:
        terms = self._terms(select, op, function)
        if terms is None or op.layout.packed != 1 or op.layout.height > op.layout.lanes[0]:
            return
        keys: list[Hashable] = []
        for axis, of in enumerate(terms):
            if of:
                a = op.layout
                span = None if axis == _X else a.rows
                key: Hashable = (axis, span, a.origin, a.lanes, a.warps, tuple(_key(t, op.body.block) for t in of))
                self._axes.setdefault(key, _Mask(axis, op.layout, tuple(of)))
                keys.append(key)
        if sum(4 * math.prod(a.shape) for a in self._axes.values()) > self.room:
            for key in keys:
                if not any(key in other for other in self._of.values()):
                    del self._axes[key]
            return
        self._of[select] = keys

    def _terms(
        self, select: arith.SelectOp, op: MapOp, function: Block
    ) -> tuple[list[SSAValue], list[SSAValue]] | None:
        """Return the conditions on x and on y under which a select keeps its value; None for other selects."""
        if select.result.type not in (f32, i32) or not _is_zero(select.rhs):
            return None
        found: _Terms = ([], [])
        for term in _conjunction(select.cond):
            condition = self._in_border(term)
            axes = None if condition is None else _coordinates(condition, op.body.block, function)
            if condition is None or axes is None or len(axes) != 1:
                return None
            (axis,) = axes
            if axis not in (_X, _Y):
                return None
            found[axis].append(condition)
        return found

    def _in_border(self, term: SSAValue) -> SSAValue | None:
        """Return t of `not border or t`."""
        if isinstance(either := term.owner, arith.OrIOp):
            for a, b in (either.operands, reversed(either.operands)):
                if isinstance(no := a.owner, arith.XOrIOp) and self.border in no.operands:
                    (other,) = (v for v in no.operands if v is not self.border)
                    if isinstance(true := other.owner, arith.ConstantOp) and isinstance(true.value, IntegerAttr):
                        return b if int(true.value.value.data) & 1 else None
        return None

    # --- code

    def declare(self) -> None:
        """Declare shared memory for the masks."""
        for key, axis in self._axes.items():
            self._memory[key] = self.e.alloca(axis.shape, i32, SHARED, "inside_x" if axis.axis == _X else "inside_y")
        for body in {op.parent for op in self._of}:
            assert body is not None
            self.unneeded |= _feeding(body, set(self._of))

    def write(self, warp: Num, lane: Num) -> None:
        """Write the masks: the first warp writes the column mask, each warp its rows."""
        self.written = True
        if not self._axes:
            return
        e = self.e
        assert self.border is not None
        with e.when(self.border):
            for key, axis in self._axes.items():
                a = axis.layout
                if axis.axis == _X:
                    with e.when(e.compare("eq", warp, 0)), e.loop(a.vector, "v", unroll=True) as v:
                        where = LanePoint(warp, lane, v, 0)
                        e.store(self._word(axis, where), self._memory[key], [e.add(e.mul(lane, a.vector), v)])
                else:
                    with e.when(e.compare("slt", lane, a.height) if a.height < a.lanes[0] else None):
                        where = LanePoint(warp, 0, 0, e.add(lane, a.rows[0]))
                        e.store(self._word(axis, where), self._memory[key], [warp, lane])

    def _word(self, axis: _Mask, at: LanePoint) -> SSAValue:
        """Return a word of ones where the conditions hold at a point, else of zeros."""
        e = self.e
        inside: SSAValue | None = None
        for term in axis.terms:
            inside = e.both(inside, self._computed(term, axis, at))
        assert inside is not None
        return e.op(arith.ExtSIOp(inside, i32))

    def _computed(self, term: SSAValue, axis: _Mask, at: LanePoint) -> SSAValue:
        if isinstance(term, BlockArgument):
            map_block = term.block
            if isinstance(map_block.parent_op(), MapOp):
                return self.e.value(at.coordinates(axis.layout, self.e)[term.index])
            return term
        assert isinstance(term, OpResult)
        if not isinstance(term.op.parent_op(), MapOp):
            return term
        values = {v: self._computed(v, axis, at) for v in term.op.operands}
        return self.e.op(term.op.clone(values))

    def applied(self, op: Operation, value: SSAValue, at: LanePoint) -> SSAValue | None:
        """Return the masked value of a select at a point; None if it has no mask, or the masks are not written yet."""
        keys = self._of.get(op)
        if keys is None or not self.ready:
            return None
        e = self.e
        assert self.border is not None
        float = value.type == f32
        bits = e.op(arith.BitcastOp(value, i32)) if float else value
        for key in keys:
            a = self._axes[key].layout
            x = e.add(e.mul(at.lane, a.vector), at.column)
            index = [x] if self._axes[key].axis == _X else [at.warp, e.sub(at.row, a.rows[0])]
            bits = e.op(arith.AndIOp(bits, e.load(self._memory[key], index)))
        return e.select(self.border, e.op(arith.BitcastOp(bits, f32)) if float else bits, value)


def _maps(ops: Sequence[Operation]) -> Iterator[MapOp]:
    for op in ops:
        if isinstance(op, MapOp):
            yield op
        elif isinstance(op, scf.ForOp):
            yield from _maps([o for o in op.body.block.ops if is_tile_op(o)])


def _is_zero(value: SSAValue) -> bool:
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return False
    number = owner.value
    if isinstance(number, FloatAttr):
        return number.value.data == 0 and math.copysign(1, number.value.data) > 0
    return isinstance(number, IntegerAttr) and number.value.data == 0


def _conjunction(value: SSAValue) -> list[SSAValue]:
    if isinstance(value.owner, arith.AndIOp):
        return [t for v in value.owner.operands for t in _conjunction(v)]
    return [value]


def _coordinates(value: SSAValue, body: Block, function: Block) -> set[int] | None:
    """Return the coordinates of a body on which a value depends; None if it depends on tiles, or is in a loop."""
    if isinstance(value, BlockArgument):
        return {value.index} if value.block is body else set() if value.block is function else None
    assert isinstance(value, OpResult)
    if value.op.parent is function:
        return set()
    if value.op.parent is not body or value.op.dialect_name() != "arith":
        return None
    found: set[int] = set()
    for operand in value.op.operands:
        if (more := _coordinates(operand, body, function)) is None:
            return None
        found |= more
    return found


def _key(value: SSAValue, body: Block) -> Hashable:
    """Return a key of the value that a condition computes."""
    if isinstance(value, BlockArgument) and value.block is body:
        return value.index
    if isinstance(value, OpResult) and value.op.parent is body:
        properties = tuple(sorted(value.op.properties.items(), key=lambda item: item[0]))
        return (value.op.name, properties, value.type, tuple(_key(v, body) for v in value.op.operands))
    return outside_key(value)


def _feeding(body: Block, masked: set[Operation]) -> set[Operation]:
    """Return the operations of a body that only serve the conditions of some selects."""
    found: set[Operation] = set()
    for op in reversed(list(body.ops)):
        uses = [use for result in op.results for use in result.uses]
        if uses and all(u.operation in found or (u.operation in masked and u.index == 0) for u in uses):
            found.add(op)
    return found
