"""Analysis of a reduction's values as vectors along x, for register blocks on a CPU."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from tilefuse.analysis.access import behind_boundaries, coordinates, outer_reads
from tilefuse.analysis.dependence import depending, operations_behind
from tilefuse.analysis.strides import rows_are_contiguous
from tilefuse.dialects.img.elements import FLOATS
from tilefuse.dialects.img.ops import ReadOp, UpdateOp, WriteOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.execution.inside import follows

LEAST_OF_COLUMNS = 6
"""Reads and operations on numbers of a value from which on it is computed ahead for all steps, not in each of them."""
_LANE_BY_LANE = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.AddiOp, arith.SubiOp, arith.MuliOp)


@dataclass(frozen=True)
class VectorValues:
    """Values of an update's body, classified by the coordinates on which they depend, and the precomputed ones."""

    along_x: frozenset[SSAValue]
    """Values that differ from lane to lane."""
    by_row: frozenset[SSAValue]
    """Values that differ from row to row of a block."""
    packed: tuple[SSAValue, ...]
    """Values along x that all rows have in common, and that are used with others: they are copied side by side."""
    by_columns: tuple[SSAValue, ...]
    """Values that all columns have in common, and that take several operations: each row's are copied side by side."""
    of_steps: tuple[SSAValue, ...]
    """Values that these take, and that differ from step to step alone: they are copied once for all rows."""
    along_steps: frozenset[SSAValue]
    """Values behind those of rows that are vectors along the innermost dimension of the domain."""
    reads: tuple[ReadOp, ...]
    """Reads that are loaded as vectors."""

    @property
    def at_edges(self) -> dict[ReadOp, tuple[int, ...]]:
        """Reads that a boundary moves along x: vectors only where all their points are inside."""
        return {op: (0,) for op in self.reads if any(0 in b.dimensions for b in behind_boundaries(op.source)[1])}

    def shares(self, update: UpdateOp, dim: int | None) -> bool:
        """Whether all points along a pure coordinate share the packed values and the values of steps."""
        if dim is None:
            return False
        return _depending(update, update.pure[dim]).isdisjoint((*self.packed, *self.of_steps))


def vector_values(update: UpdateOp, rows_dim: int | None, pack: bool) -> VectorValues | str:
    """Analyse how an update runs on vectors along x; or explain in one sentence why it cannot.

    `rows_dim`: the pure coordinate along which a block has rows. `pack`: whether values are copied.
    """
    if any(way not in ("add", "mul") for way in update.combiners):
        return "only additions and multiplications are computed on vectors"
    if update.write_op.predicate is not None:
        return "its domain has a predicate"
    if any(not _is_plain(old.type.element) for old in update.old_funcs if isinstance(old.type, FuncType)):
        return "its elements cannot be elements of a vector"
    x = update.pure[0]
    row = update.pure[rows_dim] if rows_dim is not None else None
    along_x, by_row = _depending(update, x), _depending(update, row)
    contiguous = set(contiguous_reads(update, x, edges=True))
    shared = {v for v in along_x - by_row if isinstance(v.owner, Operation)} if pack else set()
    vectors = [op for op in _body(update) if any(r in along_x and r not in shared for r in op.results)]
    widths = {element_bytes(old.type.element) for old in update.old_funcs if isinstance(old.type, FuncType)}
    for op in vectors:
        if isinstance(op, ReadOp):
            if op not in contiguous or not _is_plain(op.value.type):
                return "its operands are not adjacent in memory along x"
        elif isinstance(op, arith.SelectOp) and op.cond not in along_x and _is_plain(op.results[0].type):
            continue  # all lanes choose alike
        elif not isinstance(op, _LANE_BY_LANE) or not _is_plain(op.results[0].type):
            return f"{op.name} is not computed on vectors"
    widths |= {element_bytes(v.type) for op in vectors for v in op.results}
    packed = [v for v in shared if any(u.operation in vectors or isinstance(u.operation, WriteOp) for u in v.uses)]
    widths |= {element_bytes(v.type) for v in packed}
    if len(widths) > 1 or not all(_is_plain(v.type) for v in packed):
        return "its vectors have elements of several widths"
    found = tuple(v for op in _body(update) for v in op.results if v in packed)
    by_columns = _by_columns(update, along_x, by_row) if pack else ()
    of_steps = _of_steps(update, by_row, by_columns)
    along_steps = _along_steps(update, by_columns, of_steps)
    loaded = tuple(op for op in vectors if isinstance(op, ReadOp))
    return VectorValues(along_x, by_row, found, by_columns, of_steps, along_steps, loaded)


def _by_columns(update: UpdateOp, along_x: frozenset[SSAValue], by_row: frozenset[SSAValue]) -> tuple[SSAValue, ...]:
    """Find the row values that are combined with vectors, and take several operations of their own."""
    meeting: dict[SSAValue, None] = {}
    for op in update.body.block.ops:
        if isinstance(op, WriteOp) or any(r in along_x for r in op.results):
            meeting |= dict.fromkeys(v for v in op.operands if v in by_row and v not in along_x)
    return tuple(v for v in meeting if _is_plain(v.type) and _numbers_taken(v) >= LEAST_OF_COLUMNS)


def _of_steps(update: UpdateOp, by_row: frozenset[SSAValue], by_columns: tuple[SSAValue, ...]) -> tuple[SSAValue, ...]:
    """Find the operands of row values that all rows share in a step."""
    moving = depending(update.body.block.ops, [d.coordinate for d in update.domain])
    found: dict[SSAValue, None] = {}
    for op in (op for value in by_columns for op in taken(value)):
        if any(r in by_row for r in op.results):
            same = (v for v in op.operands if isinstance(v.owner, Operation) and v in moving and v not in by_row)
            found |= dict.fromkeys(v for v in same if _is_plain(v.type))
    return tuple(found)


def _along_steps(
    update: UpdateOp, by_columns: tuple[SSAValue, ...], of_steps: tuple[SSAValue, ...]
) -> frozenset[SSAValue]:
    """Find the row values computable by vectors along the domain's innermost dimension; none if one is not."""
    inner = update.domain[0].coordinate
    moving, wide = _depending(update, inner), set(contiguous_reads(update, inner))
    behind = {op for value in of_steps for op in taken(value)}
    ops = [op for value in by_columns for op in taken(value) if op not in behind]
    vectors = [op for op in ops if not moving.isdisjoint(op.results)]
    for op in vectors:
        is_known = isinstance(op, _LANE_BY_LANE) or (isinstance(op, ReadOp) and op in wide)
        if not is_known and not (isinstance(op, arith.SelectOp) and op.cond not in moving):
            return frozenset()
    widths = {element_bytes(v.type) for op in vectors for v in op.results if _is_plain(v.type)}
    if len(widths) > 1 or not all(_is_plain(v.type) for op in vectors for v in op.results):
        return frozenset()
    return frozenset({v for op in vectors for v in op.results} | set(of_steps))


def _numbers_taken(value: SSAValue) -> int:
    """Count the scalar reads and operations on which a value of the body depends."""
    return sum(1 for op in taken(value) if _is_plain(op.results[0].type))


def taken(value: SSAValue) -> list[Operation]:
    """Return the operations on which a value of the body depends, its own first."""
    return operations_behind([value], value.owner.parent if isinstance(value.owner, Operation) else None)


def contiguous_reads(update: UpdateOp, x: SSAValue, *, edges: bool = False) -> list[ReadOp]:
    """Find the reads whose points along x are contiguous, with no boundary in this dimension.

    `edges`: or with boundaries of which coordinates say whether a point lies inside.
    """
    along_x, found, known = _depending(update, x), [], coordinates(update)
    for op in outer_reads(update):
        if not op.map.data.results:
            continue
        base, boundaries = behind_boundaries(op.source)
        is_moved = any(0 in b.dimensions for b in boundaries)
        if (is_moved and not (edges and follows(op, 0, known))) or not rows_are_contiguous(base):
            continue
        of_x = [i for i, v in enumerate(op.indices) if v is x]
        computed = {i for i, v in enumerate(op.indices) if v in along_x and v is not x}
        first, *others = op.map.data.results
        still = all(not set(e.used_dims()) & {*of_x, *computed} for e in others)
        steps = [_step(first, i) for i in of_x]
        if still and not set(first.used_dims()) & computed and None not in steps and sum(map(_number, steps)) == 1:
            found.append(op)
    return found


def _number(step: int | None) -> int:
    return step or 0


def _step(expr: AffineExpr, dim: int) -> int | None:
    """Return the step of an index along one of its operands; None if the operand is divided."""
    if dim not in expr.used_dims():
        return 0
    if isinstance(expr, AffineDimExpr):
        return 1
    if not isinstance(expr, AffineBinaryOpExpr):
        return None
    a, b = _step(expr.lhs, dim), _step(expr.rhs, dim)
    if a is None or b is None:
        return None
    if expr.kind is AffineBinaryOpKind.Add:
        return a + b
    if expr.kind is AffineBinaryOpKind.Mul and isinstance(expr.rhs, AffineConstantExpr):
        return a * expr.rhs.value
    return None


def _body(update: UpdateOp) -> list[Operation]:
    return [op for op in update.body.block.ops if not isinstance(op, WriteOp)]


def _depending(update: UpdateOp, coordinate: SSAValue | None) -> frozenset[SSAValue]:
    """Return a coordinate, and the values of the body that depend on it."""
    assert coordinate is None or coordinate in coordinates(update)
    return frozenset(depending(update.body.block.ops, [coordinate] if coordinate is not None else []))


def _is_plain(element: Attribute) -> bool:
    """Whether vectors of an element type are computed directly."""
    if isinstance(element, IntegerType):
        return element != i1 and element.width.data >= 8
    return element in FLOATS and not FLOATS[element].is_narrow_float
