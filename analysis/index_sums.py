"""Indices of updates as sums: coordinates and scalars times constants, and a constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from tilefuse.dialects.img.ops import UpdateOp


@dataclass(frozen=True)
class IndexSum:
    """An index: values times constants, and a constant."""

    terms: Mapping[SSAValue, int]
    constant: int


def index_sum(update: UpdateOp, expr: AffineExpr, operands: Sequence[SSAValue]) -> IndexSum | None:
    """An index as a sum of coordinates, and of scalars that stand between the stages; None of any other."""
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
