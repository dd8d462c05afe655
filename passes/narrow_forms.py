"""Narrow forms of integers: the operations of an expression on fewer bits, where these give equal results.

Sums, products and bits have a narrow form for any operands, because their lowest bits depend on no others. Minima,
magnitudes, comparisons, right shifts and divisions have one if their operands fit the narrow type, as signed or as
unsigned numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1
from xdsl.ir import Block, Operation, SSAValue

from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import ReadOp

_WRAPPING = (arith.AddiOp, arith.SubiOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp)
"""Operations whose lowest bits depend on no others of their operands."""
_WRAPPING_16 = (arith.MuliOp,)
"""Operations like them that vectors have for 16 bits, not for 8."""
_UNSIGNED: dict[type[Operation], type[Operation]] = {
    arith.MinSIOp: arith.MinUIOp,
    arith.MaxSIOp: arith.MaxUIOp,
    arith.ShRSIOp: arith.ShRUIOp,
}
"""Unsigned forms of operations that read their operands as signed. Numbers that are extended with their signs have the
order of narrow ones, also as unsigned numbers."""
_EXTREMA = (arith.MinSIOp, arith.MinUIOp, arith.MaxSIOp, arith.MaxUIOp)


@dataclass
class NarrowForms:
    """Narrow forms of the values behind a truncation, which equal these in the lowest bits.

    `spans`: the (least, greatest) of each value, read as signed.
    """

    type: IntegerType
    spans: Mapping[SSAValue, tuple[int, int]]
    known: dict[SSAValue, bool] = field(default_factory=dict)
    made: dict[SSAValue, SSAValue] = field(default_factory=dict)

    @property
    def bits(self) -> int:
        """Bits of the narrow type."""
        return int(self.type.width.data)

    def has(self, value: SSAValue) -> bool:
        """Whether a value has a narrow form."""
        for v in _behind(value, self._inputs):
            self.known[v] = self._has(v)
        return self.known[value]

    def _inputs(self, value: SSAValue) -> Iterable[SSAValue]:
        """Return the operands of a value that need a narrow form, not decided yet."""
        op = value.owner
        if isinstance(op, Block | ReadOp | arith.ConstantOp | arith.ExtUIOp | arith.ExtSIOp):
            return []
        return [v for v in op.operands if v not in self.known and isinstance(v.type, IntegerType)]

    def _has(self, value: SSAValue) -> bool:
        op = value.owner
        if isinstance(op, Block | ReadOp):
            return False
        match op:
            case arith.ConstantOp():
                return isinstance(op.value, IntegerAttr)
            case arith.ExtUIOp() | arith.ExtSIOp():
                return 1 < width(op.input) <= self.bits
            case arith.CmpiOp():
                if not isinstance(op.lhs.type, IntegerType) or op.lhs.type == i1:
                    return False
                return self._reading(op.lhs, op.rhs) is not None and self._operands(op)
            case arith.SelectOp():
                return width(value) > 1 and self._operands(op)
        if value.type == i1:
            return isinstance(op, arith.AndIOp | arith.OrIOp | arith.XOrIOp) and self._operands(op)
        if isinstance(op, _WRAPPING) or (self.bits >= 16 and isinstance(op, _WRAPPING_16)):
            return self._operands(op)
        if isinstance(op, _EXTREMA):
            return self._reading(*op.operands) is not None and self._operands(op)
        if isinstance(op, math.AbsIOp):
            low, high = self.spans[op.operands[0]]
            return low > -(1 << (self.bits - 1)) and high < 1 << (self.bits - 1) and self._operands(op)
        return self.bits >= 16 and self._has_by_constant(op)

    def _has_by_constant(self, op: Operation) -> bool:
        """Whether a shift or a division by a constant has a narrow form."""
        by = integer_constant(op.operands[1]) if len(op.operands) == 2 else None
        if by is None or not self._operands(op):
            return False
        if isinstance(op, arith.ShLIOp):
            return 0 <= by < self.bits
        if isinstance(op, arith.ShRSIOp | arith.ShRUIOp):
            fits = self._reading(op.operands[0]) is not None and 0 <= by < self.bits
            return fits and (isinstance(op, arith.ShRSIOp) or self.spans[op.operands[0]][0] >= 0)
        unsigned = isinstance(op, arith.DivUIOp | arith.RemUIOp)
        return unsigned and 0 < by < 1 << self.bits and self._reading(op.operands[0]) == "unsigned"

    def _operands(self, op: Operation) -> bool:
        return all(self.known.get(v, False) for v in op.operands)

    def _reading(self, *values: SSAValue) -> str | None:
        """Return how all values fit the narrow type: as unsigned numbers, as signed ones, or not at all."""
        low, high = min(self.spans[v][0] for v in values), max(self.spans[v][1] for v in values)
        if low >= 0 and high < 1 << self.bits:
            return "unsigned"
        return "signed" if low >= -(1 << (self.bits - 1)) and high < 1 << (self.bits - 1) else None

    def emit(self, value: SSAValue) -> SSAValue:
        """Emit the narrow form of a value, beside the operation that computes it."""
        for v in _behind(value, lambda v: [o for o in self._narrowed(v) if o not in self.made]):
            if v not in self.made:
                self.made[v] = self._emit(v)
        return self.made[value]

    def _narrowed(self, value: SSAValue) -> Iterable[SSAValue]:
        op = value.owner
        return () if isinstance(op, Block | arith.ConstantOp | arith.ExtUIOp | arith.ExtSIOp) else op.operands

    def _emit(self, value: SSAValue) -> SSAValue:
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, arith.ExtUIOp | arith.ExtSIOp) and op.input.type == self.type:
            return op.input
        made = self._narrow_op(op)
        made.results[0].name_hint = value.name_hint
        insert_after(made, op)
        return made.results[0]

    def _narrow_op(self, op: Operation) -> Operation:
        operands = [self.made.get(v, v) for v in op.operands]
        match op:
            case arith.ConstantOp():
                assert isinstance(op.value, IntegerAttr)
                if op.result.type == i1:
                    return op.clone()
                number = op.value.value.data % (1 << self.bits)
                half = 1 << (self.bits - 1)
                return arith.ConstantOp(IntegerAttr((number + half) % (2 * half) - half, self.type))
            case arith.ExtUIOp() | arith.ExtSIOp():
                return type(op)(op.input, self.type)
            case arith.CmpiOp():
                name: str = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
                if self._reading(op.lhs, op.rhs) == "unsigned":
                    name = name.replace("s", "u", 1) if name.startswith("s") else name
                return arith.CmpiOp(operands[0], operands[1], name)
            case arith.SelectOp():
                return arith.SelectOp(*operands)
            case math.AbsIOp():
                return math.AbsIOp(operands[0])
        form: Any = type(op)
        if form in _UNSIGNED:
            read = op.operands if isinstance(op, _EXTREMA) else op.operands[:1]
            form = _UNSIGNED[form] if self._reading(*read) == "unsigned" else form
        return cast(Operation, form(*operands))


def width(value: SSAValue) -> int:
    """Return the bits of an integer."""
    assert isinstance(value.type, IntegerType)
    return int(value.type.width.data)


def insert_after(op: Operation, before: Operation) -> None:
    """Insert an operation behind another one, with its location."""
    assert before.parent is not None
    op.location = before.location
    before.parent.insert_op_after(op, before)


def _behind(value: SSAValue, inputs: Callable[[SSAValue], Iterable[SSAValue]]) -> Iterable[SSAValue]:
    """Yield a value and all that it is computed from, operands first. Bodies may be long, so nothing recurses."""
    stack, seen = [value], set()
    while stack:
        top = stack[-1]
        waiting = [] if top in seen else [v for v in inputs(top) if v not in seen]
        seen.add(top)
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        yield top
