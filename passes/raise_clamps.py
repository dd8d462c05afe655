"""`raise-clamps`: replace indices of `img.read` that are clamped to a box by reads through `repeat_edge`.

    %n = img.extent 0 of %in : !img.func<1xf32>
    %f = img.stage "f" (%x) -> f32 {
      ... %i = the index max(min(%x - 1, %n - 1), 0) by arith
      %v = img.read %in[%i] : !img.func<1xf32>
 =>
    %edge = img.boundary repeat_edge %in dims [0] in [%zero] by [%n] : !img.func<1xf32>
    %f = img.stage "f" (%x) -> f32 {
      %v = img.read %edge[%x - 1] : !img.func<1xf32>

Halide's users write edges in this form without BoundaryConditions. Tiles cannot follow a computed index, while interior
tiles omit a boundary. The ends must be computed from constants and sizes of inputs, and provably be in order. The
clamped value must be a coordinate, times a small factor, plus a small constant, which does not wrap, as no picture is
2^26 points wide in that dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import region_dce

from tilefuse.analysis.access import reads
from tilefuse.analysis.sizes import AnyInterval, AnySizes
from tilefuse.analysis.value_range import value_range
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import BoundaryOp, ExtentOp, InputOp, MinOp, PipelineOp, ReadOp, StageOp
from tilefuse.dialects.img.symbolic import Atom, Role, SizeValue, Symbol, is_sum, provably_le
from tilefuse.dialects.img.symbolic import Operation as NumberOperation

_LARGEST_FACTOR, _LARGEST_CONSTANT = 16, 1 << 24


@dataclass(frozen=True)
class RaiseClamps(ModulePass):
    """Replace clamped indices of reads by boundaries."""

    name = "raise-clamps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in op.body.block.ops:
            if not isinstance(pipeline, PipelineOp):
                continue
            # Grouped stages stay as they were grouped.
            stages = [stage for stage in pipeline.body.block.ops if isinstance(stage, StageOp)]
            raised = [_raise_read(read, stage, pipeline) for stage in stages for read in list(reads(stage))]
            if any(raised):
                region_dce(pipeline.body)  # what computed the clamps


def _raise_read(op: ReadOp, stage: StageOp, pipeline: PipelineOp) -> bool:
    """Replace a read by one through a boundary; return whether it was clamped."""
    if all(isinstance(v, BlockArgument) for v in op.indices):
        return False
    coordinates = list(stage.body.block.args)
    intervals: dict[int, AnyInterval] = {}
    plain: dict[int, AffineExpr] = {}
    for d, expr in enumerate(op.map.data.results):
        found = _clamped(op.indices[expr.position], coordinates) if isinstance(expr, AffineDimExpr) else None
        if found is not None and all(can_emit(n) for n in found[1]):
            plain[d], intervals[d] = found
    if not intervals:
        return False
    rewriter = PatternRewriter(op)
    source = _boundary(rewriter, stage, pipeline, op.source, intervals)
    # The values of the map, coordinates behind; what is read no more goes.
    values: list[SSAValue] = [*op.indices, *coordinates]
    shift = [AffineExpr.dimension(len(op.indices) + i) for i in range(len(coordinates))]
    results = [
        plain[d].replace_dims_and_symbols(shift, []) if d in plain else expr
        for d, expr in enumerate(op.map.data.results)
    ]
    used = sorted({dim for expr in results for dim in expr.used_dims()})
    renumbered = [AffineExpr.dimension(used.index(i) if i in used else 0) for i in range(len(values))]
    map = AffineMap(len(used), 0, tuple(e.replace_dims_and_symbols(renumbered, []) for e in results))
    rewriter.replace(op, ReadOp(source, [values[i] for i in used], map))
    return True


def _clamped(index: SSAValue, coordinates: Sequence[SSAValue]) -> tuple[AffineExpr, AnyInterval] | None:
    """Find the value that an index clamps, in terms of the coordinates, and the interval of the clamp."""
    value = _uncast(index)
    for outer, inner in ((arith.MaxSIOp, arith.MinSIOp), (arith.MinSIOp, arith.MaxSIOp)):
        if not isinstance(value.owner, outer):
            continue
        for a, end in _both_ways(value.owner):
            limited = _uncast(a)
            if not isinstance(limited.owner, inner):
                continue
            for b, other_end in _both_ways(limited.owner):
                expr = _affine(b, coordinates)
                ends = [known(end), known(other_end)]
                low, high = ends if outer is arith.MaxSIOp else ends[::-1]
                if expr is not None and low is not None and high is not None and provably_le(low, high):
                    extent = high - low + 1
                    # an extent beyond 64 bits is no operand of a boundary
                    return None if isinstance(extent, int) and extent >= 1 << 63 else (expr, (low, extent))
    return None


def _both_ways(op: Operation) -> tuple[tuple[SSAValue, SSAValue], tuple[SSAValue, SSAValue]]:
    a, b = op.operands
    return (a, b), (b, a)


def _uncast(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, arith.IndexCastOp) and _is_wide(value) and _is_wide(value.owner.input):
        value = value.owner.input
    return value


def _is_wide(value: SSAValue) -> bool:
    """Whether the type holds any coordinate."""
    return not isinstance(value.type, IntegerType) or value.type.width.data >= 32


def known(value: SSAValue) -> SizeValue | None:
    """Return a scalar that every call knows before any stage runs."""
    low, high = value_range(value, {}, AnySizes())
    return low if low == high else None


def _affine(value: SSAValue, coordinates: Sequence[SSAValue]) -> AffineExpr | None:
    """Return `factor * coordinate + constant` over the coordinates; None for any other value, or if it might wrap."""
    found = linear(value, coordinates)
    if found is None:
        return None
    dim, factor, constant = found
    return AffineExpr.dimension(dim) * factor + constant if factor != 1 else AffineExpr.dimension(dim) + constant


def linear(value: SSAValue, coordinates: Sequence[SSAValue]) -> tuple[int, int, int] | None:
    """Return (coordinate, factor, constant) of a value that is linear in one coordinate; else None."""
    value = _uncast(value)
    if value in coordinates:
        return coordinates.index(value), 1, 0
    op = value.owner
    if not isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp):
        return None
    for side, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        number = integer_constant(_uncast(other))
        inner = None if number is None else linear(side, coordinates)
        if number is None or inner is None:
            continue
        dim, factor, constant = inner
        match op:
            case arith.AddiOp():
                constant += number
            case arith.SubiOp():
                sign = 1 if side is op.lhs else -1
                factor, constant = sign * factor, sign * (constant - number)
            case arith.MuliOp():
                factor, constant = factor * number, constant * number
        if factor and abs(factor) <= _LARGEST_FACTOR and abs(constant) <= _LARGEST_CONSTANT:
            return dim, factor, constant
    return None


def _inputs(pipeline: PipelineOp) -> Mapping[str, InputOp]:
    return {op.sym_name.data: op for op in pipeline.body.block.ops if isinstance(op, InputOp)}


def can_emit(value: SizeValue) -> bool:
    """Whether a scalar is a sum of input sizes, of their quotients by constants, and a constant: a few ops."""
    if isinstance(value, int):
        return True
    return is_sum(value) and all(_is_emitted(atom) for atom, _ in value.clauses[0][0].terms)


def _is_emitted(atom: Atom) -> bool:
    if isinstance(atom, Symbol):
        return atom.role is Role.Input
    return atom.kind == "floordiv" and isinstance(atom.rhs, int) and atom.rhs > 0 and can_emit(atom.lhs)


class Scalars:
    """Emit scalars before `anchor`, a stage of `pipeline`, and reuse the scalars that are there already."""

    def __init__(self, rewriter: PatternRewriter, anchor: StageOp, pipeline: PipelineOp):
        self.rewriter, self.anchor, self.inputs = rewriter, anchor, _inputs(pipeline)

    def value(self, number: SizeValue) -> SSAValue:
        """Return a scalar for which `can_emit` holds, as an index."""
        if isinstance(number, int):
            return self._add(arith.ConstantOp(IntegerAttr(number, IndexType())))
        total: SSAValue | None = None
        the_sum = number.clauses[0][0]
        for atom, factor in the_sum.terms:
            part = self._size(atom) if isinstance(atom, Symbol) else self._quotient(atom)
            if factor != 1:
                part = self._add(arith.MuliOp(part, self.value(factor)))
            total = part if total is None else self._add(arith.AddiOp(total, part))
        assert total is not None
        return self._add(arith.AddiOp(total, self.value(the_sum.constant))) if the_sum.constant else total

    def _quotient(self, atom: NumberOperation) -> SSAValue:
        return self._add(arith.FloorDivSIOp(self.value(atom.lhs), self.value(atom.rhs)))

    def _size(self, symbol: Symbol) -> SSAValue:
        func, kind = self.inputs[symbol.name].func, ExtentOp if symbol.extent else MinOp
        for use in func.uses:
            op = use.operation
            if isinstance(op, kind) and op.dim.value.data == symbol.dim and op.is_before_in_block(self.anchor):
                return op.value
        return self._add(kind(func, symbol.dim))

    def _add(self, op: Operation) -> SSAValue:
        op.location = self.anchor.location
        self.rewriter.insert(op, InsertPoint.before(self.anchor))
        return op.results[0]


def _boundary(
    rewriter: PatternRewriter,
    stage: StageOp,
    pipeline: PipelineOp,
    source: SSAValue,
    intervals: Mapping[int, AnyInterval],
) -> SSAValue:
    """Continue `source` from these boxes by its edges; equal boxes share one function."""
    name = source.owner.sym_name.data if isinstance(source.owner, InputOp) else None
    sizes = AnySizes()
    own = isinstance(source.owner, InputOp) and all(
        interval == sizes.interval(source.owner, d) for d, interval in intervals.items()
    )
    for use in source.uses:
        op = use.operation
        if (
            isinstance(op, BoundaryOp)
            and op.kind.data is BoundaryKind.RepeatEdge
            and op.is_before_in_block(stage)
            and op.dimensions == tuple(intervals)
            and (not op.mins if own else known_box(op) == list(intervals.values()))
        ):
            return op.func
    scalars = Scalars(rewriter, stage, pipeline)
    mins = [] if own else [scalars.value(low) for low, _ in intervals.values()]
    extents = [] if own else [scalars.value(extent) for _, extent in intervals.values()]
    boundary = BoundaryOp(BoundaryKind.RepeatEdge, source, list(intervals), mins, extents)
    boundary.func.name_hint = name and f"{name}_clamped"
    boundary.location = stage.location
    rewriter.insert(boundary, InsertPoint.before(stage))
    return boundary.func


def known_box(op: BoundaryOp) -> list[tuple[SizeValue | None, SizeValue | None]]:
    """Return (min, extent) per dimension of a boundary's box, where calls know them before any stage runs."""
    return [(known(low), known(extent)) for low, extent in zip(op.mins, op.extents, strict=True)]
