"""Copies of an update's body in a stage, point by point of its domain."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tilefuse.analysis.folding import folded
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import ReadOp, UpdateOp


class UnrolledBody:
    """Copy a body into `block`; values independent of the domain and of the functions are copied once."""

    def __init__(self, update: UpdateOp, block: Block, place: dict[SSAValue, SSAValue]):
        self.block = block
        self._shared = place
        self._at_point: dict[SSAValue, SSAValue] = {}
        self._numbers: dict[SSAValue, int] = {}
        self._constants: dict[Attribute, SSAValue] = {}
        self._changing: set[SSAValue] = {*(d.coordinate for d in update.domain), *update.currents}
        for op in update.body.block.ops:
            if not self._changing.isdisjoint(op.operands):
                self._changing.update(op.results)

    def begin(self, numbers: dict[SSAValue, int]) -> None:
        """Move to the point with these coordinates of the domain."""
        self._at_point = {}
        self._numbers = numbers

    def set(self, value: SSAValue, copy: SSAValue) -> None:
        """Map `value` to `copy`."""
        (self._at_point if value in self._changing else self._shared)[value] = copy

    def get(self, value: SSAValue) -> SSAValue:
        """Return the copy of a value of the body."""
        if value in self._numbers:
            return self._constant(IntegerAttr(self._numbers[value], IndexType()))
        return self._at_point.get(value) or self._shared.get(value, value)

    def number(self, value: SSAValue) -> int | None:
        """Return the integer value at this point, if it is known."""
        return self._numbers[value] if value in self._numbers else integer_constant(self.get(value))

    def append(self, op: Operation) -> None:
        """Copy an operation of the body unless it is there already."""
        if all(r in self._shared for r in op.results):
            return
        if isinstance(op, arith.SelectOp) and (chosen := self.number(op.cond)) is not None:
            self.set(op.result, self.get(op.lhs if chosen else op.rhs))
            return
        numbers = [] if isinstance(op, ReadOp) else [self.number(v) for v in op.operands]
        known = [n for n in numbers if n is not None]
        constant = folded(op, known) if numbers and len(known) == len(numbers) else None
        if constant is not None:
            self.set(op.results[0], self._constant(constant))
            return
        copy = self.read(op) if isinstance(op, ReadOp) else op.clone({v: self.get(v) for v in op.operands})
        copy.location = op.location
        self.block.add_op(copy)
        for new, old in zip(copy.results, op.results, strict=True):
            self.set(old, new)
            new.name_hint = old.name_hint

    def _constant(self, value: Attribute) -> SSAValue:
        if value not in self._constants:
            op = arith.ConstantOp(value)  # type: ignore[arg-type]
            self.block.add_op(op)
            self._constants[value] = op.result
        return self._constants[value]

    def read(self, read: ReadOp) -> ReadOp:
        """Copy a read, with domain coordinates and known computed indices as numbers in its map."""
        numbers = [self.number(v) for v in read.indices]
        kept = list(dict.fromkeys(v for v, number in zip(read.indices, numbers, strict=True) if number is None))
        dims = [
            AffineExpr.dimension(kept.index(v)) if number is None else AffineExpr.constant(number)
            for v, number in zip(read.indices, numbers, strict=True)
        ]
        results = tuple(x.replace_dims_and_symbols(dims, []) for x in read.map.data.results)
        return ReadOp(read.source, [self.get(v) for v in kept], AffineMap(len(kept), 0, results))
