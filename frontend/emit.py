"""Emission of typed expressions as arith, math and img, one operation per node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, UnitAttr, f32, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from tilefuse.dialects.img import ops as img
from tilefuse.dialects.img.combiners import OperationOfTwo
from tilefuse.dialects.img.float_operations import FLOAT_OPERATIONS
from tilefuse.dialects.img.integer_operations import INTEGER_OPERATIONS, IntegerOperation, Reading
from tilefuse.dialects.img.strict import STRICT
from tilefuse.frontend.expr import COMPARISONS, Expr
from tilefuse.frontend.types import Float, Type

_FLOAT: dict[str, OperationOfTwo] = {
    "add": arith.AddfOp,
    "sub": arith.SubfOp,
    "mul": arith.MulfOp,
    "div": arith.DivfOp,
    "min": arith.MinnumfOp,
    "max": arith.MaxnumfOp,
}


def integer_builders(rows: Iterable[IntegerOperation]) -> dict[tuple[str, bool], Callable[..., Operation]]:
    """Map name and signedness of integer expressions to the constructors of their operations, from the table's rows."""
    found: dict[tuple[str, bool], Callable[..., Operation]] = {}
    named = [row for row in rows if row.name]
    for row in named:
        both = sum(other.name == row.name for other in named) == 1
        for signed in (True, False):
            if row.reading is Reading.OF_OP:
                constructor: Callable[..., Operation] = row.op
                found[row.name, signed] = partial(constructor, signed=signed)
            elif both or signed == (row.reading is Reading.SIGNED):
                found[row.name, signed] = row.op
    return found


_INTEGER = integer_builders(INTEGER_OPERATIONS)
_MATH: dict[str, Callable[..., Operation]] = {row.name: row.op for row in FLOAT_OPERATIONS if row.name}


class BodyEmitter:
    """Append operations to a block; equal constants are shared."""

    def __init__(self, block: Block):
        self.block = block
        self._constants: dict[tuple[Type, str], SSAValue] = {}

    def add(self, op: Operation) -> SSAValue:
        """Append `op`; return its first result."""
        self.block.add_op(op)
        return op.results[0]

    def constant(self, type: Type, value: float) -> SSAValue:
        """Return a constant of `type`."""
        # By text, so that 0.0 and -0.0 stay two and a NaN is found again.
        key = (type, repr(value))
        if key not in self._constants:
            if type.is_float():
                attribute: FloatAttr | IntegerAttr = FloatAttr(float(value), type.storage)  # type: ignore[call-overload]
            else:
                attribute = IntegerAttr(int(value), type.storage)  # type: ignore[call-overload]
            self._constants[key] = self.add(arith.ConstantOp(attribute))
        return self._constants[key]

    def node(self, e: Expr, args: Sequence[SSAValue]) -> SSAValue:
        """Emit one node (no leaf or call), given its operands; return its value."""
        type = e.args[0].type()
        match e.op:
            case "cast":
                return self.cast(args[0], type, e.type())
            case "select":
                return self.add(arith.SelectOp(*args))
            case "math":
                return self.add(_MATH[e.data](*args))
            case "abs" if type.is_float():
                return self.add(math.AbsFOp(args[0]))
            case "print":
                return self.add(img.PrintOp(args[0], args[1], args[2:], e.data))
            case "bits":
                return self.add(arith.BitcastOp(args[0], e.type().storage))
        if e.op in COMPARISONS:
            return self._compare(e.op, type, *args)
        if type.is_float():
            return self._float(e, *args)
        return self.add(_INTEGER[e.op, type.is_int()](*args))

    def _compare(self, op: str, type: Type, a: SSAValue, b: SSAValue) -> SSAValue:
        if type.is_float():
            return self.add(arith.CmpfOp(a, b, "une" if op == "ne" else f"o{op}"))
        sign = "" if op in ("eq", "ne") else "s" if type.is_int() else "u"
        return self.add(arith.CmpiOp(a, b, sign + op))

    def _float(self, e: Expr, a: SSAValue, b: SSAValue) -> SSAValue:
        strict = e.data is STRICT
        if e.op == "mod":
            # Halide's: a - b * floor(a / b)
            floor = self.add(math.FloorOp(self.add(arith.DivfOp(a, b))))
            return self._marked(arith.SubfOp(a, self._marked(arith.MulfOp(b, floor), strict)), strict)
        return self._marked(_FLOAT[e.op](a, b), strict and e.op in ("add", "sub", "mul"))

    def _marked(self, op: Operation, strict: bool) -> SSAValue:
        """Append a float operation; a strict one is marked, so that it is never contracted."""
        if strict:
            op.attributes[STRICT] = UnitAttr()
        return self.add(op)

    def cast(self, value: SSAValue, source: Type, target: Type) -> SSAValue:
        """Cast `value` from `source` to `target`: integers wrap, a bool is the lowest bit."""
        if source.storage == target.storage:
            return value
        if source.is_float() and target.is_float():
            return self._float_to_float(value, source, target)
        if source.is_float():
            wide = i64 if target.bits() == 64 else i32
            to_int = arith.FPToSIOp if target.is_int() else arith.FPToUIOp
            return self._resize(self.add(to_int(value, wide)), wide, target, target.is_int())
        if target.is_float():
            to_float = arith.SIToFPOp if source.is_int() else arith.UIToFPOp
            return self.add(to_float(value, target.storage))  # type: ignore[arg-type]
        assert isinstance(source.storage, IntegerType)
        return self._resize(value, source.storage, target, source.is_int())

    def _float_to_float(self, value: SSAValue, source: Type, target: Type) -> SSAValue:
        if source.bits() == target.bits():
            # Two formats of as many bits: neither holds the other.
            value, source = self.add(arith.ExtFOp(value, f32)), Float(32)
        op = arith.ExtFOp if target.bits() > source.bits() else arith.TruncFOp
        return self.add(op(value, target.storage))

    def _resize(self, value: SSAValue, width: IntegerType, target: Type, signed: bool) -> SSAValue:
        assert isinstance(target.storage, IntegerType)
        if target.bits() == width.width.data:
            return value
        if target.bits() < width.width.data:
            return self.add(arith.TruncIOp(value, target.storage))
        return self.add((arith.ExtSIOp if signed else arith.ExtUIOp)(value, target.storage))
