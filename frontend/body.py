"""Lowering of the expressions of one Func, or of the scalars between the stages, to a block."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, i32
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tilefuse.dialects.img import ops as img
from tilefuse.frontend.emit import BodyEmitter
from tilefuse.frontend.expr import Expr
from tilefuse.frontend.index_form import Linear, Quotient, index_forms
from tilefuse.frontend.inputs import Param
from tilefuse.frontend.sources import Source
from tilefuse.frontend.walk import postorder

INDEX = IndexType()


def coordinate_key(e: Expr) -> Hashable:
    """Return the key of a Var or RVar: all Vars of one name are one coordinate."""
    return e.data if e.op == "var" else (id(e.data[0]), e.data[1])


class Scope(Protocol):
    """Values available to a body: functions, Params, and sizes of images."""

    def function(self, source: Source, index: int) -> SSAValue: ...

    def param(self, param: Param) -> SSAValue: ...

    def box(self, e: Expr) -> SSAValue: ...


class BodyBuilder:
    """Compute values in `block`. Each node is computed once, however often it is used."""

    def __init__(self, block: Block, scope: Scope, coordinates: Mapping[Hashable, SSAValue] | None = None):
        self._emit = BodyEmitter(block)
        self._scope = scope
        self._coordinates = coordinates or {}
        self._values: dict[int, SSAValue] = {}
        self._forms: dict[int, list[Linear]] = {}
        self._indices: dict[int, SSAValue] = {}
        self._numbers: dict[object, SSAValue] = {}

    def values(self, exprs: Sequence[Expr]) -> list[SSAValue]:
        """Return the values of expressions, in arith's signless types."""
        for e in postorder(exprs, self._children):
            if id(e) not in self._values:
                self._values[id(e)] = self._value(e)
        return [self._values[id(e)] for e in exprs]

    def index(self, e: Expr) -> SSAValue:
        """Return the value of an int32 expression as an `index` computed by arith."""
        return self._index_sum(index_forms([e])[0])

    def _children(self, e: Expr) -> Sequence[Expr]:
        if e.op == "require":  # requirements are checked by themselves
            return e.args[:1]
        if e.op != "call":
            return e.args
        forms = index_forms(e.args)
        self._forms[id(e)] = forms
        return [leaf for form in forms for leaf in form.leaves() if not self._is_index(leaf)]

    @staticmethod
    def _is_index(e: Expr) -> bool:
        return e.op in ("var", "rvar", "image_min", "image_extent")

    def _value(self, e: Expr) -> SSAValue:
        if e.op == "const":
            return self._emit.constant(e.type(), e.data)
        if e.op == "undef":
            return self._emit.constant(e.type(), 0)
        if e.op == "require":
            return self._values[id(e.args[0])]
        if e.op == "param":
            return self._scope.param(e.data)
        if self._is_index(e):
            key = coordinate_key(e) if e.op in ("var", "rvar") else (e.op, e.data)
            if key not in self._numbers:
                self._numbers[key] = self._emit.add(arith.IndexCastOp(self._index_leaf(e), i32))
            return self._numbers[key]
        if e.op == "call":
            return self._read(e)
        return self._emit.node(e, [self._values[id(a)] for a in e.args])

    def _read(self, e: Expr) -> SSAValue:
        source, value_index = e.data
        map, indices = self._access(self._forms.pop(id(e)))
        return self._emit.add(img.ReadOp(self._scope.function(source, value_index), indices, map))

    def position(self, args: Sequence[Expr]) -> tuple[AffineMap, list[SSAValue]]:
        """Return the position of a write: the map of the access, and its operands."""
        return self._access(index_forms(args))

    def _access(self, forms: Sequence[Linear]) -> tuple[AffineMap, list[SSAValue]]:
        positions: dict[SSAValue, int] = {}

        def dimension(leaf: Expr) -> AffineExpr:
            value = self._index_leaf(leaf)
            return AffineExpr.dimension(positions.setdefault(value, len(positions)))

        results = tuple(form.affine(dimension) for form in forms)
        return AffineMap(len(positions), 0, results), list(positions)

    def _index_leaf(self, e: Expr) -> SSAValue:
        if e.op in ("var", "rvar"):
            return self._coordinates[coordinate_key(e)]
        if e.op in ("image_min", "image_extent"):
            return self._scope.box(e)
        if id(e) not in self._indices:
            self._indices[id(e)] = self._emit.add(arith.IndexCastOp(self.values([e])[0], INDEX))
        return self._indices[id(e)]

    def _index_constant(self, value: int) -> SSAValue:
        return self._emit.add(arith.ConstantOp(IntegerAttr(value, INDEX)))

    def _index_sum(self, form: Linear) -> SSAValue:
        total: SSAValue | None = None
        for leaf, coefficient in form.terms.values():
            part = self._index_quotient(leaf) if isinstance(leaf, Quotient) else self._index_leaf(leaf)
            if coefficient != 1:
                part = self._emit.add(arith.MuliOp(part, self._index_constant(coefficient)))
            total = part if total is None else self._emit.add(arith.AddiOp(total, part))
        if total is None:
            return self._index_constant(form.constant)
        if form.constant:
            total = self._emit.add(arith.AddiOp(total, self._index_constant(form.constant)))
        return total

    def _index_quotient(self, quotient: Quotient) -> SSAValue:
        value = self._index_sum(quotient.form)
        divisor = self._index_constant(quotient.divisor)
        floor = self._emit.add(arith.FloorDivSIOp(value, divisor))
        if not quotient.remainder:
            return floor
        return self._emit.add(arith.SubiOp(value, self._emit.add(arith.MuliOp(floor, divisor))))
