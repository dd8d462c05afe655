"""Test whether points of an update read only inside all boundaries, for a version without border handling.

Few points of a picture lie at its edges, but each would choose between what it reads and what stands outside, and move
its indices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from tilefuse.analysis.access import behind_boundaries
from tilefuse.dialects.img.ops import ReadOp
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import TileContext, boundary_span

EndPlaces = tuple[Num, Num]
"""The first and the last of the places of a coordinate."""
FreeReads = Mapping[ReadOp, Collection[int]]
"""Reads, with the dimensions in which no boundary moves them."""


def bounded_reads(ops: Iterable[Operation], known: Collection[SSAValue]) -> FreeReads:
    """Find the reads through boundaries at places that follow from `known` coordinates."""
    reads = (op for op in ops if isinstance(op, ReadOp) and behind_boundaries(op.source)[1])
    return {op: range(len(op.map.data.results)) for op in reads if all(follows(op, d, known) for d in _bounded(op))}


def reads_inside(
    e: Emitter, tile: TileContext, reads: FreeReads, known: Mapping[SSAValue, EndPlaces]
) -> SSAValue | None:
    """Emit whether reads lie inside their boundaries' boxes in the given dimensions; None if there are no reads.

    Of places that lie constants apart the first and the last say it for all.
    """
    lows: dict[object, tuple[int, Num]] = {}
    highs: dict[object, tuple[int, Num, Num]] = {}
    for op, dimensions in reads.items():
        for boundary in behind_boundaries(op.source)[1]:
            for position, d in ((n, d) for n, d in enumerate(boundary.dimensions) if d in dimensions):
                first, extent = boundary_span(e, tile, boundary, position)
                low, high = (
                    e.sub(n, first) for n in _span(e, op.map.data.results[d], [known.get(v) for v in op.indices])
                )
                terms, constant = e.terms(low)
                key = frozenset(terms.items())
                lows[key] = min(lows.get(key, (constant, low)), (constant, low), key=lambda found: found[0])
                terms, constant = e.terms(high)
                of = (frozenset(terms.items()), extent)
                highs[of] = max(highs.get(of, (constant, high, extent)), (constant, high, extent), key=lambda f: f[0])
    inside: SSAValue | None = None
    for _, low in lows.values():
        inside = e.both(inside, e.compare("sge", low, 0))
    for _, high, extent in highs.values():
        inside = e.both(inside, e.compare("slt", high, extent))
    return inside


def _bounded(op: ReadOp) -> set[int]:
    return {d for boundary in behind_boundaries(op.source)[1] for d in boundary.dimensions}


def follows(op: ReadOp, dimension: int, known: Collection[SSAValue]) -> bool:
    """Whether the range of an index follows from the ranges of `known` coordinates."""
    expr = op.map.data.results[dimension]
    return all(op.indices[d] in known for d in expr.used_dims()) and _is_monotonic(expr)


def _is_monotonic(expr: AffineExpr) -> bool:
    """Whether an expression takes its extreme values where its operands do."""
    if not isinstance(expr, AffineBinaryOpExpr):
        return isinstance(expr, AffineConstantExpr | AffineDimExpr)
    kinds = (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul, AffineBinaryOpKind.FloorDiv)
    return expr.kind in kinds and _is_monotonic(expr.lhs) and _is_monotonic(expr.rhs)


def _span(e: Emitter, expr: AffineExpr, operands: list[EndPlaces | None]) -> EndPlaces:
    """Return the first and the last value of a monotonic expression."""
    if isinstance(expr, AffineConstantExpr):
        return expr.value, expr.value
    if isinstance(expr, AffineDimExpr):
        span = operands[expr.position]
        assert span is not None
        return span
    assert isinstance(expr, AffineBinaryOpExpr)
    (low, high), (other, most) = _span(e, expr.lhs, operands), _span(e, expr.rhs, operands)
    if expr.kind is AffineBinaryOpKind.Add:
        return e.add(low, other), e.add(high, most)
    if isinstance(low, int) and low == high and not isinstance(other, int):
        (low, high), (other, most) = (other, most), (low, high)
    assert isinstance(other, int)
    if expr.kind is AffineBinaryOpKind.Mul:
        ends = e.mul(low, other), e.mul(high, other)
        return ends if other >= 0 else ends[::-1]
    return e.floordiv(low, other), e.floordiv(high, other)
