"""The range of an integer computed in a stage: what bounds a data-dependent read.

Interval arithmetic over arith. Values are read as signed, whatever the op that made them: a `ui8` pixel is an
i8 from -128 to 127 until `extui` makes it 0 to 255. A value that may wrap has the whole range of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from tilefuse.analysis.index import Span
from tilefuse.dialects.img.ops import DivOp, ModOp, ReadOp

UNBOUNDED: Span = (-(2**31), 2**31 - 1)
"""The range of a 32-bit integer that nothing bounds; wider ranges count as unbounded too."""


def is_unbounded(span: Span) -> bool:
    """Whether a range says nothing about an index."""
    return span[1] - span[0] >= 2**31 - 1


def value_range(value: SSAValue, known: Mapping[SSAValue, Span]) -> Span:
    """The values that `value` can take, as signed integers, while `known` values lie in their spans."""
    found = dict(known)
    # A stack of our own: bodies may be long, and a value is visited once however often it is used.
    stack = [value]
    while stack:
        top = stack[-1]
        op = top.owner
        waiting = []
        if top not in found and isinstance(op, Operation) and not isinstance(op, ReadOp):
            waiting = [v for v in op.operands if v not in found]
        if waiting:
            stack.extend(waiting)
            continue
        if top not in found:
            span = _op_range(op, top.type, found.__getitem__) if isinstance(op, Operation) else None
            found[top] = _type_range(top.type) if span is None else span
        stack.pop()
    return found[value]


def _type_range(type: Attribute) -> Span:
    if not isinstance(type, IntegerType):
        return UNBOUNDED
    half = 1 << (type.width.data - 1)
    return (-half, half - 1)


def _unsigned_limit(type: Attribute) -> int | None:
    """The number of values of a type; an index has no fixed width."""
    return 1 << type.width.data if isinstance(type, IntegerType) else None


def _fit(span: Span, type: Attribute) -> Span | None:
    """`span` if values of `type` hold it; else they wrap."""
    if isinstance(type, IndexType):
        return span
    low, high = _type_range(type)
    return span if low <= span[0] and span[1] <= high else None


def _as_unsigned(span: Span, type: Attribute) -> Span | None:
    """The same values read as unsigned."""
    if span[0] >= 0:
        return span
    limit = _unsigned_limit(type)
    if limit is None:
        return None
    return (span[0] + limit, span[1] + limit) if span[1] < 0 else (0, limit - 1)


def _op_range(op: Operation, type: Attribute, of: Callable[[SSAValue], Span]) -> Span | None:
    """The range of the result; None where nothing better than the type's is known."""
    match op:
        case arith.ConstantOp(value=IntegerAttr() as attr):
            low, high = _type_range(type)
            number = attr.value.data
            wraps = not isinstance(type, IndexType) and not low <= number <= high
            return None if wraps else (number, number)
        case arith.IndexCastOp() | arith.ExtSIOp() | arith.TruncIOp():
            return _fit(of(op.operands[0]), type)
        case arith.ExtUIOp():
            return _as_unsigned(of(op.input), op.input.type)
        case arith.AddiOp() | arith.SubiOp() | arith.MuliOp():
            return _fit(_ring(op, of(op.lhs), of(op.rhs)), type)
        case arith.SelectOp():
            a, b = of(op.lhs), of(op.rhs)
            return (min(a[0], b[0]), max(a[1], b[1]))
        case arith.MinSIOp():
            a, b = of(op.lhs), of(op.rhs)
            return (min(a[0], b[0]), min(a[1], b[1]))
        case arith.MaxSIOp():
            a, b = of(op.lhs), of(op.rhs)
            return (max(a[0], b[0]), max(a[1], b[1]))
        case arith.MinUIOp() | arith.MaxUIOp() | arith.AndIOp():
            return _unsigned_pick(op, of(op.lhs), of(op.rhs))
        case arith.ShRUIOp() | arith.ShRSIOp() | arith.DivUIOp() | arith.DivSIOp():
            return _quotient(op, of(op.lhs), of(op.rhs), type)
        case arith.FloorDivSIOp() | DivOp() | arith.RemUIOp() | arith.RemSIOp() | ModOp():
            return _quotient(op, of(op.lhs), of(op.rhs), type)
    return None


def _ring(op: Operation, a: Span, b: Span) -> Span:
    match op:
        case arith.AddiOp():
            return (a[0] + b[0], a[1] + b[1])
        case arith.SubiOp():
            return (a[0] - b[1], a[1] - b[0])
    ends = [x * y for x in a for y in b]
    return (min(ends), max(ends))


def _unsigned_pick(op: Operation, a: Span, b: Span) -> Span:
    """`minui`, `maxui`, `andi`: a number that is not negative bounds the smaller of two unsigned ones."""
    not_negative = [s for s in (a, b) if s[0] >= 0]
    low = 0
    if len(not_negative) == 2:
        if isinstance(op, arith.MaxUIOp):
            return (max(a[0], b[0]), max(a[1], b[1]))
        low = min(a[0], b[0]) if isinstance(op, arith.MinUIOp) else 0
    if not_negative and not isinstance(op, arith.MaxUIOp):
        return (low, min(s[1] for s in not_negative))
    if isinstance(op, arith.AndIOp):
        # Of two negative numbers the and is negative, and may be below both.
        bits = max(-a[0] - 1, -b[0] - 1, a[1], b[1]).bit_length()
        return (-(1 << bits), (1 << bits) - 1)
    return (min(a[0], b[0]), max(a[1], b[1]))


def _quotient(op: Operation, a: Span, b: Span, type: Attribute) -> Span | None:
    """Divisions, remainders and shifts by a constant that is not negative."""
    by = b[0]
    if b[0] != b[1] or by < 0:
        return None
    shift = isinstance(op, arith.ShRUIOp | arith.ShRSIOp)
    if not shift and by == 0:
        return None
    unsigned = isinstance(op, arith.ShRUIOp | arith.DivUIOp | arith.RemUIOp)
    if unsigned or (isinstance(op, DivOp | ModOp) and op.signed is None):
        positive = _as_unsigned(a, op.operands[0].type)
        if positive is None:
            return (0, by - 1) if isinstance(op, arith.RemUIOp) else None
        a = positive
    elif isinstance(op, arith.DivSIOp | arith.RemSIOp) and a[0] < 0:
        return None
    if isinstance(op, arith.RemUIOp | arith.RemSIOp | ModOp):
        return (0, by - 1)
    if shift:
        by = min(by, 64)
        return _fit((a[0] >> by, a[1] >> by), type)
    return _fit((a[0] // by, a[1] // by), type)
