"""Stage values as linear combinations of reads: coefficients by offset, and kernels of rank 1."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from tilefuse.dialects.img.ops import ReadOp
from tilefuse.dialects.img.strict import is_strict

Constant = int | float
OffsetVector = tuple[int, ...]

_CASTS = (arith.ExtUIOp, arith.ExtSIOp, arith.ExtFOp, arith.SIToFPOp, arith.UIToFPOp)
_SUMS = (arith.AddiOp, arith.SubiOp, arith.AddfOp, arith.SubfOp)
_LINEAR = (*_SUMS, arith.NegfOp, arith.MuliOp, arith.MulfOp, arith.DivfOp, arith.ShLIOp)
_SAME = 4e-7
"""Largest distance, relative to the largest, of coefficients of floats from a product: they were rounded to f32."""


@dataclass(frozen=True)
class Taps:
    """Reads that differ only in their offsets: source, cast and scales."""

    source: SSAValue
    cast: type[Operation] | None
    """The casts from the read type to the sum's."""
    scales: tuple[int, ...]
    """The index in dimension d is `scales[d]` times coordinate d, plus the offset."""


@dataclass
class LinearForm:
    """A linear form: kernels over functions, values of other kinds, and a constant."""

    kernels: dict[Taps, dict[OffsetVector, Constant]] = field(default_factory=dict)
    reads: dict[Taps, int] = field(default_factory=dict)
    """Number of reads of the sum, those with coefficient 0 too."""
    others: dict[SSAValue, Constant] = field(default_factory=dict)
    constant: Constant = 0


def wrap(number: Constant, type: Attribute) -> Constant:
    """Wrap an integer to `type`, signed; floats stay unchanged."""
    if not isinstance(type, IntegerType):
        return number
    half: int = 1 << (type.width.data - 1)
    return ((int(number) + half) & (2 * half - 1)) - half


def is_ring(type: Attribute) -> bool:
    """Whether sums and products of `type` may be regrouped without changing a bit: true of integers, which wrap."""
    return isinstance(type, IntegerType) and type.width.data > 1


def linear_forms(block: Block, floats: bool) -> dict[SSAValue, LinearForm]:
    """Return the maximal sums of a stage's body, in order; with `floats`, sums of floats too."""
    ops = list(block.ops)
    parts = {op: found for op in ops if (found := _linear_operands(op)) is not None}
    roots: dict[SSAValue, None] = {}
    absorbed: set[Operation] = set()
    """Ops whose results are only terms of sums."""
    for op in reversed(ops):
        if op not in parts:
            continue
        type = op.results[0].type
        if not is_ring(type) and not (floats and isinstance(type, Float32Type | Float64Type)):
            continue
        users = [use.operation for use in op.results[0].uses]
        if all(isinstance(user, _SUMS) or user in absorbed for user in users):
            absorbed.add(op)
        elif isinstance(op, _SUMS):
            roots[op.results[0]] = None
    if not roots:
        return {}
    position: dict[Operation | Block, int] = {op: i for i, op in enumerate(ops)}
    axes: dict[SSAValue, int] = {value: d for d, value in enumerate(block.args)}
    return {root: _linear_form(root, roots, ops, parts, position, axes) for root in reversed(roots)}


def _linear_form(
    root: SSAValue,
    roots: Mapping[SSAValue, None],
    ops: Sequence[Operation],
    parts: Mapping[Operation, list[tuple[SSAValue, Constant]]],
    position: Mapping[Operation | Block, int],
    axes: Mapping[SSAValue, int],
) -> LinearForm:
    """Decompose `root` into a sum; other roots are kept as single terms."""
    form = LinearForm()
    # Later ops first: all that uses a value is seen before it.
    coefficients: dict[SSAValue, Constant] = {root: 1}
    queue = [-position[root.owner]]
    while queue:
        op = ops[-heapq.heappop(queue)]
        value = op.results[0]
        c = wrap(coefficients.pop(value), root.type)
        if op in parts and (value not in roots or value is root):
            for operand, factor in parts[op]:
                if operand.owner not in position:  # outside of the stage, as parameters are
                    form.others[operand] = form.others.get(operand, 0) + c * factor
                    continue
                if operand not in coefficients:
                    heapq.heappush(queue, -position[operand.owner])
                coefficients[operand] = coefficients.get(operand, 0) + c * factor
        elif (number := _constant(value)) is not None:
            form.constant = wrap(form.constant + c * number, root.type)
        elif (tap := _tap(value, axes)) is not None:
            form.reads[tap[0]] = form.reads.get(tap[0], 0) + 1
            kernel = form.kernels.setdefault(tap[0], {})
            kernel[tap[1]] = wrap(kernel.get(tap[1], 0) + c, root.type)
        else:
            form.others[value] = c
    kernels = ((t, {o: c for o, c in kernel.items() if c != 0}) for t, kernel in form.kernels.items())
    form.kernels = {t: kernel for t, kernel in kernels if kernel}
    form.others = {v: c for v, number in form.others.items() if (c := wrap(number, root.type)) != 0}
    return form


def _constant(value: SSAValue) -> Constant | None:
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr | FloatAttr):
        number: Constant = op.value.value.data
        return number
    return None


def _linear_operands(op: Operation) -> list[tuple[SSAValue, Constant]] | None:
    """Return the operands in which `op` is linear, with their factors; None if it is not linear."""
    if not isinstance(op, _LINEAR) or is_strict(op):
        return None
    match op:
        case arith.AddiOp() | arith.AddfOp():
            return [(op.lhs, 1), (op.rhs, 1)]
        case arith.SubiOp() | arith.SubfOp():
            return [(op.lhs, 1), (op.rhs, -1)]
        case arith.NegfOp():
            return [(op.operand, -1)]
        case arith.MuliOp() | arith.MulfOp():
            for factor, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                if (number := _constant(factor)) is not None:
                    return [(other, number)]
        case arith.DivfOp():
            if number := _constant(op.rhs):
                return [(op.lhs, 1 / number)]
        case arith.ShLIOp():
            number = _constant(op.rhs)
            if (
                isinstance(number, int)
                and isinstance(op.lhs.type, IntegerType)
                and 0 <= number < op.lhs.type.width.data
            ):
                return [(op.lhs, 1 << number)]
    return None


def _tap(value: SSAValue, axes: Mapping[SSAValue, int]) -> tuple[Taps, OffsetVector] | None:
    op = value.owner
    cast: type[Operation] | None = None
    if isinstance(op, _CASTS):
        cast, op = type(op), op.input.owner
    if not isinstance(op, ReadOp):
        return None
    scales, offset = [], []
    for d, expr in enumerate(op.map.data.results):
        if (found := _scale_and_offset(expr)) is None:
            return None
        dim, scale, constant = found
        if axes.get(op.indices[dim]) != d:
            return None
        scales.append(scale)
        offset.append(constant)
    return Taps(op.source, cast, tuple(scales)), tuple(offset)


def _scale_and_offset(expr: AffineExpr) -> tuple[int, int, int] | None:
    """Return (dim, a, b) of `a * dim + b`, a positive."""
    match expr:
        case AffineDimExpr(position):
            return position, 1, 0
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, AffineDimExpr(position), AffineConstantExpr(scale)) if (
            scale > 0
        ):
            return position, scale, 0
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, AffineConstantExpr(constant)):
            found = _scale_and_offset(lhs)
            return None if found is None else (found[0], found[1], found[2] + constant)
    return None


@dataclass(frozen=True)
class Factors:
    """A kernel as a product of two: `along` one dimension and `across` the others."""

    dim: int
    along: dict[int, Constant]
    across: dict[OffsetVector, Constant]
    """Coefficients by offset, which is 0 in `dim`."""


def factors(kernel: Mapping[OffsetVector, Constant], dim: int) -> Factors | None:
    """Factor the kernel into a product along `dim` and across it; None if its rank is greater than 1.

    Integers are factored exactly, and without regard to wrapping around; floats within their rounding.
    """
    along = sorted({o[dim] for o in kernel})
    across = sorted({_without(o, dim) for o in kernel})
    if len(kernel) != len(along) * len(across):
        return None  # with rank 1, the points that are not 0 are a grid

    def at(i: int, rest: OffsetVector) -> Constant:
        return kernel[(*rest[:dim], i, *rest[dim + 1 :])]

    # The column with the largest element, divided by what its elements share.
    first = max(across, key=lambda rest: max(abs(at(i, rest)) for i in along))
    column = [at(i, first) for i in along]
    if all(isinstance(c, int) for c in kernel.values()):
        shared: Constant = gcd(*column)  # type: ignore[arg-type]
        shared = -shared if column[0] < 0 else shared
        u = {i: c // shared for i, c in zip(along, column, strict=True)}
        v = {rest: at(along[0], rest) // u[along[0]] for rest in across}
        exact = all(at(i, rest) == u[i] * v[rest] for i in along for rest in across)
        return Factors(dim, u, v) if exact else None
    shared = min(column, key=abs)  # so that binomials, and boxes, become small integers times one factor
    u = {i: c / shared for i, c in zip(along, column, strict=True)}
    largest = max(along, key=lambda i: abs(u[i]))
    v = {rest: at(largest, rest) / u[largest] for rest in across}
    bound = _SAME * max(map(abs, kernel.values()))
    near = all(abs(at(i, rest) - u[i] * v[rest]) <= bound for i in along for rest in across)
    return Factors(dim, u, v) if near else None


def _without(offset: OffsetVector, dim: int) -> OffsetVector:
    return (*offset[:dim], 0, *offset[dim + 1 :])
