"""Builder of kernel-level IR: folds constants, shares index arithmetic, opens and closes loops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects import arith, memref, scf, ub, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from tilefuse.dialects.naming import value_name

INDEX = IndexType()
Num = int | SSAValue
"""An index: known now, or known when the kernel runs."""
SHARED, PRIVATE = 3, 5
"""Memory spaces of kernel-level memrefs: of a block, and of a thread."""


# --- the most frequent operations: `create` takes a third of the time of their own constructors, which check operands

_NO_OVERFLOW = {"overflowFlags": arith.IntegerOverflowAttr("none")}


def _binary_op(kind: type[Operation], x: SSAValue, y: SSAValue) -> Operation:
    overflows = issubclass(kind, arith.SignlessIntegerBinaryOperationWithOverflow)
    return kind.create(operands=(x, y), result_types=(x.type,), properties=_NO_OVERFLOW if overflows else {})


def _comparison(predicate: str, x: SSAValue, y: SSAValue) -> Operation:
    return arith.CmpiOp.create(operands=(x, y), result_types=(i1,), properties={"predicate": _predicate(predicate)})


@functools.cache
def _index(n: int) -> IntegerAttr[IndexType]:
    return IntegerAttr(n, INDEX)


@functools.cache
def _position(n: int) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, [n])


@functools.cache
def _predicate(name: str) -> IntegerAttr:
    return IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index(name), i64)


def _index_constant(n: int) -> Operation:
    return arith.ConstantOp.create(result_types=(INDEX,), properties={"value": _index(n)})


class Emitter:
    """Append ops at the end of the current block; index arithmetic on Python ints is folded."""

    def __init__(self, block: Block):
        self.block = block
        # One memo per open block: a value stays usable in the blocks nested in its own.
        self._scopes: list[dict[object, Any]] = [{}]
        # Sums remember their terms, so that differences of coordinates fold: (x + 1) - x is 1.
        self._linear: dict[SSAValue, tuple[dict[SSAValue, int], int]] = {}

    # --- plain ops

    def op(self, op: Operation, hint: str | None = None) -> SSAValue:
        """Append an op with one result; return the result."""
        self.block.add_op(op)
        result = op.results[0]
        if hint is not None and SSAValue.is_valid_name(hint):
            result.name_hint = value_name(hint)
        return result

    def extract(self, row: SSAValue, position: int, element: Attribute) -> SSAValue:
        """Extract one element of a vector."""
        properties = {"static_position": _position(position)}
        return self.op(vector.ExtractOp.create(operands=(row,), result_types=(element,), properties=properties))

    def insert(self, value: SSAValue, row: SSAValue, position: int) -> SSAValue:
        """Return a vector with one element replaced."""
        properties = {"static_position": _position(position)}
        return self.op(vector.InsertOp.create(operands=(value, row), result_types=(row.type,), properties=properties))

    def effect(self, op: Operation) -> None:
        """Append an op without a result."""
        self.block.add_op(op)

    def _memo(self, key: object, make: type | object, hint: str | None = None) -> SSAValue:
        for scope in reversed(self._scopes):
            if (known := scope.get(key)) is not None:
                return known  # type: ignore[no-any-return]
        value = self.op(make(), hint)  # type: ignore[operator]
        self._scopes[-1][key] = value
        return value

    # --- index arithmetic

    def value(self, n: Num) -> SSAValue:
        """Return an SSA value for `n`."""
        if isinstance(n, int):
            return self._memo(("const", n), lambda: _index_constant(n))
        return n

    def true(self) -> SSAValue:
        """Return the constant true."""
        return self._memo("true", lambda: arith.ConstantOp(IntegerAttr(1, i1)))

    def false(self) -> SSAValue:
        """Return the constant false."""
        return self._memo("false", lambda: arith.ConstantOp(IntegerAttr(0, i1)))

    def _binary(self, kind: type[Operation], a: Num, b: Num, hint: str | None = None) -> SSAValue:
        x, y = self.value(a), self.value(b)
        return self._memo((kind, x, y), lambda: _binary_op(kind, x, y), hint)

    def terms(self, a: Num) -> tuple[dict[SSAValue, int], int]:
        """Decompose an index into a sum: the multiplicity of each value, and a constant."""
        if isinstance(a, int):
            return {}, a
        return self._linear.get(a, ({a: 1}, 0))

    def _sum(self, a: Num, b: Num, sign: int, hint: str | None) -> Num:
        if isinstance(b, int) and b == 0:
            return a
        if isinstance(a, int) and a == 0 and sign > 0:
            return b
        key = (sign, a, b)
        for scope in reversed(self._scopes):
            if (known := scope.get(key)) is not None:
                return known  # type: ignore[no-any-return]
        result = self._scopes[-1][key] = self._new_sum(a, b, sign, hint)
        return result

    def _new_sum(self, a: Num, b: Num, sign: int, hint: str | None) -> Num:
        (ta, ca), (tb, cb) = self.terms(a), self.terms(b)
        terms = dict(ta)
        for value, n in tb.items():
            terms[value] = terms.get(value, 0) + sign * n
            if not terms[value]:
                del terms[value]
        constant = ca + sign * cb
        if not terms:
            return constant
        if len(terms) == 1:
            ((value, n),) = terms.items()
            if n == 1 and constant == 0:
                return value
            if n == 1:
                result = (
                    self._binary(arith.SubiOp, value, -constant, hint)
                    if constant < 0
                    else self._binary(arith.AddiOp, value, constant, hint)
                )
                self._linear[result] = (terms, constant)
                return result
            if n == -1:
                result = self._binary(arith.SubiOp, constant, value, hint)
                self._linear[result] = (terms, constant)
                return result
        if isinstance(b, int):
            result = self._binary(arith.SubiOp if sign * b < 0 else arith.AddiOp, a, abs(b), hint)
        else:
            result = self._binary(arith.AddiOp if sign > 0 else arith.SubiOp, a, b, hint)
        self._linear[result] = (terms, constant)
        return result

    def add(self, a: Num, b: Num, hint: str | None = None) -> Num:
        """Emit a + b."""
        return self._sum(a, b, 1, hint)

    def sub(self, a: Num, b: Num, hint: str | None = None) -> Num:
        """Emit a - b."""
        return self._sum(a, b, -1, hint)

    def mul(self, a: Num, b: Num, hint: str | None = None) -> Num:
        """Emit a * b."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if isinstance(a, int):
            a, b = b, a
        if b == 1:
            return a
        if b == 0:
            return 0
        return self._binary(arith.MuliOp, a, b, hint)

    def floordiv(self, a: Num, d: int, hint: str | None = None) -> Num:
        """Emit floor(a / d), d positive."""
        if isinstance(a, int):
            return a // d
        return a if d == 1 else self._binary(arith.FloorDivSIOp, a, d, hint)

    def mod(self, a: Num, d: int, hint: str | None = None) -> Num:
        """Emit a - floor(a / d) * d, d positive."""
        if isinstance(a, int):
            return a % d
        return self.sub(a, self.mul(self.floordiv(a, d), d), hint)

    def div_rem(self, a: Num, d: Num) -> tuple[Num, Num]:
        """Emit (a / d, a % d) of a non-negative a, d positive."""
        if not isinstance(d, int):
            quotient = self.op(arith.DivUIOp(self.value(a), self.value(d)))
            return quotient, self.sub(a, self.mul(quotient, d))
        if isinstance(a, int):
            return divmod(a, d)
        if d == 1:
            return a, 0
        return self._binary(arith.DivUIOp, a, d), self._binary(arith.RemUIOp, a, d)

    def ceildiv(self, a: Num, d: int, hint: str | None = None) -> Num:
        """Emit ceil(a / d) of a non-negative a, d positive."""
        if d == 1:
            return a
        up = self.add(a, d - 1)
        return up // d if isinstance(up, int) else self._binary(arith.DivUIOp, up, d, hint)

    def min(self, a: Num, b: Num) -> Num:
        """Emit the signed minimum."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self._binary(arith.MinSIOp, a, b)

    def max(self, a: Num, b: Num) -> Num:
        """Emit the signed maximum."""
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return self._binary(arith.MaxSIOp, a, b)

    def clamp(self, a: Num, low: Num, high: Num) -> Num:
        """Clamp a to low..high."""
        return self.max(self.min(a, high), low)

    def compare(self, predicate: str, a: Num, b: Num) -> SSAValue:
        """Emit a comparison (i1); the predicate is spelt as in arith.cmpi: slt, sle, sge, eq ..."""
        x, y = self.value(a), self.value(b)
        return self._memo(("cmp", predicate, x, y), lambda: _comparison(predicate, x, y))

    def within(self, a: Num, count: Num) -> SSAValue:
        """Emit 0 <= a < count for a non-negative count: one unsigned comparison."""
        return self.compare("ult", a, count)

    def both(self, a: SSAValue | None, b: SSAValue | None) -> SSAValue | None:
        """Emit a and b; None stands for true."""
        if a is None or b is None or a is b:
            return a if b is None else b
        return self._memo(("and", a, b), lambda: arith.AndIOp(a, b))

    def either(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Emit a or b."""
        return self._memo(("or", a, b), lambda: arith.OrIOp(a, b))

    def negate(self, a: SSAValue) -> SSAValue:
        """Emit not a."""
        true = self.true()
        return self._memo(("not", a), lambda: arith.XOrIOp(a, true))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """Emit a where condition holds, else b."""
        return self._memo(("select", condition, a, b), lambda: arith.SelectOp(condition, a, b))

    def pick(self, condition: SSAValue, a: Num, b: Num) -> Num:
        """Emit `select` on indices."""
        return a if a is b or a == b else self.select(condition, self.value(a), self.value(b))

    def affine(self, expr: AffineExpr, operands: Sequence[Num]) -> Num:
        """Emit `expr` with operands[i] for dimension i."""
        match expr:
            case AffineConstantExpr(value):
                return value
            case AffineDimExpr(position):
                return operands[position]
            case AffineBinaryOpExpr(kind, lhs, rhs):
                a, b = self.affine(lhs, operands), self.affine(rhs, operands)
                match kind:
                    case AffineBinaryOpKind.Add:
                        return self.add(a, b)
                    case AffineBinaryOpKind.Mul:
                        return self.mul(a, b)
                assert isinstance(b, int)
                match kind:
                    case AffineBinaryOpKind.FloorDiv:
                        return self.floordiv(a, b)
                    case AffineBinaryOpKind.CeilDiv:
                        return self.floordiv(self.add(a, b - 1), b)
                    case AffineBinaryOpKind.Mod:
                        return self.mod(a, b)
        raise AssertionError(f"no symbols in img accesses: {expr}")

    # --- memory

    def alloca(self, shape: Sequence[int], element: Attribute, space: int, hint: str) -> SSAValue:
        """Allocate memory of constant shape: space 3 is shared by the block, 5 private to a thread."""
        op = memref.AllocaOp.get(element, shape=list(shape), memory_space=IntegerAttr(space, 64))
        return self.op(op, hint)

    def load(self, source: SSAValue, indices: Sequence[Num], hint: str | None = None) -> SSAValue:
        """Emit memref.load."""
        type = source.type
        assert isinstance(type, MemRefType)
        operands = (source, *(self.value(i) for i in indices))
        return self.op(memref.LoadOp.create(operands=operands, result_types=(type.element_type,)), hint)

    def store(self, value: SSAValue, target: SSAValue, indices: Sequence[Num]) -> None:
        """Emit memref.store."""
        self.effect(memref.StoreOp.create(operands=(value, target, *(self.value(i) for i in indices))))

    def load_vector(self, source: SSAValue, indices: Sequence[Num], count: int) -> list[SSAValue]:
        """Load `count` neighbours along the last axis by one vector.load, as scalars; a single one by memref.load."""
        if count == 1:
            return [self.load(source, indices)]
        type = source.type
        assert isinstance(type, MemRefType)
        element = type.element_type
        loaded = self.op(vector.LoadOp(source, [self.value(i) for i in indices], VectorType(element, [count])))
        return [self.op(vector.ExtractOp(loaded, [v], element)) for v in range(count)]

    def store_vector(self, values: Sequence[SSAValue], target: SSAValue, indices: Sequence[Num]) -> None:
        """Store neighbours along the last axis by one vector.store; a single one by memref.store."""
        if len(values) == 1:
            self.store(values[0], target, indices)
            return
        packed = self.op(ub.PoisonOp(VectorType(values[0].type, [len(values)])))
        for v, value in enumerate(values):
            packed = self.op(vector.InsertOp(value, packed, [v]))
        self.effect(vector.StoreOp(packed, target, [self.value(i) for i in indices]))

    def dim(self, source: SSAValue, axis: int, hint: str | None = None) -> Num:
        """Return the extent of an axis."""
        type = source.type
        assert isinstance(type, MemRefType)
        if (size := type.get_shape()[axis]) >= 0:
            return size
        index = self.value(axis)
        return self._memo(("dim", source, axis), lambda: memref.DimOp(source, index), hint)

    # --- control flow

    @contextmanager
    def nested(self, block: Block) -> Iterator[None]:
        """Append to `block`, which will be nested in the current one."""
        outer, self.block = self.block, block
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()
            self.block = outer

    # many parameters: the operands and attributes of one operation, by keyword
    @contextmanager
    def loop(
        self,
        stop: Num,
        name: str,
        *,
        start: Num = 0,
        step: Num = 1,
        level: str | None = None,
        unroll: bool | int = False,
        simd: bool = False,
    ) -> Iterator[Num]:
        """Emit an scf.for around the operations emitted inside; a loop of one iteration is omitted.

        `unroll`: True for all rounds, or how many of them.
        """
        if isinstance(stop, int) and isinstance(start, int) and isinstance(step, int) and stop - start <= step:
            assert stop > start, "an empty loop"
            yield start
            return
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = value_name(name)
        op = scf.ForOp(self.value(start), self.value(stop), self.value(step), [], block)
        if level is not None:
            op.attributes["kernel.level"] = StringAttr(level)
        if unroll:
            op.attributes["kernel.unroll"] = UnitAttr() if unroll is True else IntegerAttr(unroll, i64)
        if simd:
            op.attributes["kernel.simd"] = UnitAttr()
        self.block.add_op(op)
        with self.nested(block):
            yield block.args[0]
            block.add_op(scf.YieldOp())

    @contextmanager
    def when(self, condition: SSAValue | None) -> Iterator[None]:
        """Emit an scf.if without else around the operations emitted inside; None stands for true."""
        if condition is None:
            yield
            return
        block = Block()
        self.block.add_op(scf.IfOp(condition, [], Region(block)))
        with self.nested(block):
            yield
            block.add_op(scf.YieldOp())

    @contextmanager
    def repeat_while(self, condition: Callable[[], SSAValue]) -> Iterator[None]:
        """Emit an scf.while around the operations emitted inside, which run before each test of `condition`."""
        before, after = Block(), Block([scf.YieldOp()])
        self.block.add_op(scf.WhileOp([], [], Region(before), Region(after)))
        with self.nested(before):
            yield
            before.add_op(scf.ConditionOp(condition()))

    def choose(self, condition: SSAValue, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """Emit an scf.if whose branches are emitted by the two functions."""
        blocks = (Block(), Block())
        self.block.add_op(scf.IfOp(condition, [], Region(blocks[0]), Region(blocks[1])))
        for block, emit in zip(blocks, (then, otherwise), strict=True):
            with self.nested(block):
                emit()
                block.add_op(scf.YieldOp())
