"""Decomposition of update indices into sums of scaled coordinates and scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from tilefuse.dialects.img.ops import UpdateOp


@dataclass(frozen=True)
class IndexSum:
    """An index as a sum: values times constants, plus a constant."""

    terms: Mapping[SSAValue, int]
    constant: int


def index_sum(update: UpdateOp, expr: AffineExpr, operands: Sequence[SSAValue]) -> IndexSum | None:
    """Decompose an index into coordinates and scalars (from between the stages); None if it is no such sum."""
    terms: dict[SSAValue, int] = {}
    constant = 0
    todo = [(expr, 1)]
    while todo:
        part, factor = todo.pop()
        match part:
            case AffineConstantExpr(value):
                constant += factor * value
            case AffineDimExpr(position):
                operand = operands[position]
                if operand not in update.coordinates and operand.owner.parent_op() is update:
                    return None
                terms[operand] = terms.get(operand, 0) + factor
            case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, rhs):
                todo += [(lhs, factor), (rhs, factor)]
            case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, lhs, AffineConstantExpr(by)):
                todo.append((lhs, factor * by))
            case _:
                return None
    return IndexSum({v: n for v, n in terms.items() if n}, constant)
