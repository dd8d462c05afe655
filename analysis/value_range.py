"""The range of an integer computed in a stage: what bounds a data-dependent read.

Interval arithmetic over arith; a value that may wrap has the whole range of its type.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, Signedness
from xdsl.ir import SSAValue

from tilefuse.analysis.index import Span
from tilefuse.dialects.img.ops import DivOp, ModOp, ReadOp
from tilefuse.dialects.img.types import FuncType

UNBOUNDED: Span = (-(2**31), 2**31 - 1)
"""The range of a 32-bit integer that nothing bounds; wider ranges count as unbounded too."""


def is_unbounded(span: Span) -> bool:
    """Whether a range says nothing about an index."""
    return span[1] - span[0] >= 2**31 - 1


def _type_range(type: object) -> Span:
    if isinstance(type, IntegerType):
        width = type.width.data
        if type.signedness.data == Signedness.UNSIGNED or width == 1:
            return (0, 2**width - 1)
        return (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    return UNBOUNDED


def _fit(span: Span, type: object) -> Span:
    if isinstance(type, IndexType):
        return span
    whole = _type_range(type)
    return span if whole[0] <= span[0] and span[1] <= whole[1] else whole


def value_range(value: SSAValue, known: Mapping[SSAValue, Span]) -> Span:
    """The values that `value` can take, as signed integers, while `known` values lie in their spans."""
    if value in known:
        return known[value]
    op = value.owner

    def of(v: SSAValue) -> Span:
        return value_range(v, known)

    match op:
        case arith.ConstantOp(value=IntegerAttr() as attr):
            return (attr.value.data, attr.value.data)
        case arith.IndexCastOp() | arith.ExtSIOp():
            return of(op.input)
        case arith.TruncIOp():
            return _fit(of(op.input), value.type)
        case arith.ExtUIOp():
            low, high = of(op.input)
            width = op.input.type.width.data  # type: ignore[attr-defined]
            return (low, high) if low >= 0 else (0, 2**width - 1)
        case arith.AddiOp():
            a, b = of(op.lhs), of(op.rhs)
            return _fit((a[0] + b[0], a[1] + b[1]), value.type)
        case arith.SubiOp():
            a, b = of(op.lhs), of(op.rhs)
            return _fit((a[0] - b[1], a[1] - b[0]), value.type)
        case arith.MuliOp():
            ends = [x * y for x in of(op.lhs) for y in of(op.rhs)]
            return _fit((min(ends), max(ends)), value.type)
        case arith.MinSIOp():
            a, b = of(op.lhs), of(op.rhs)
            return (min(a[0], b[0]), min(a[1], b[1]))
        case arith.MaxSIOp():
            a, b = of(op.lhs), of(op.rhs)
            return (max(a[0], b[0]), max(a[1], b[1]))
        case arith.MinUIOp() | arith.MaxUIOp() | arith.SelectOp():
            a, b = of(op.operands[-2]), of(op.operands[-1])
            if isinstance(op, arith.MinUIOp) and a[0] >= 0 and b[0] >= 0:
                return (min(a[0], b[0]), min(a[1], b[1]))
            return (min(a[0], b[0]), max(a[1], b[1]))
        case arith.AndIOp():
            highs = [s[1] for s in (of(op.lhs), of(op.rhs)) if s[0] >= 0]
            return (0, min(highs)) if highs else _type_range(value.type)
        case arith.FloorDivSIOp() | arith.DivUIOp() | arith.DivSIOp() | DivOp():
            a, b = of(op.lhs), of(op.rhs)
            if b[0] == b[1] and b[0] > 0 and (a[0] >= 0 or isinstance(op, arith.FloorDivSIOp | DivOp)):
                return (a[0] // b[0], a[1] // b[0])
            return _type_range(value.type)
        case arith.ShRUIOp() | arith.ShRSIOp():
            a, b = of(op.lhs), of(op.rhs)
            if b[0] == b[1] and 0 <= b[0] < 64 and (a[0] >= 0 or isinstance(op, arith.ShRSIOp)):
                return (a[0] >> b[0], a[1] >> b[0])
            return _type_range(value.type)
        case arith.RemUIOp() | arith.RemSIOp() | ModOp():
            a, b = of(op.lhs), of(op.rhs)
            if b[0] == b[1] and b[0] > 0 and (a[0] >= 0 or isinstance(op, ModOp)):
                return (0, b[0] - 1)
            return _type_range(value.type)
        case ReadOp():
            assert isinstance(op.source.type, FuncType)
            return _type_range(op.source.type.element)
    return _type_range(value.type)
