"""Range analysis of integers in a stage, which bounds data-dependent reads.

Interval arithmetic over arith, also through floats (analysis/float_range.py) and integer stages. Values are read as
signed, whatever the op that made them: a `ui8` pixel is an i8 from -128 to 127 until `extui` makes it 0 to 255. A
value that may wrap has the whole range of its type. With the sizes of a call, the mins, extents and parameters in it
are known; symbols of 32 bits and more are taken not to wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import prod as math_prod
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType, Signedness
from xdsl.ir import Attribute, Operation, SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.analysis.float_range import float_range, rounded, truncated_range
from tilefuse.analysis.sizes import AnySpan, Sizes
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.float_ranges import ANY_FLOAT, FloatSpan
from tilefuse.dialects.img.integer_operations import INTEGER_OPERATIONS, Reading
from tilefuse.dialects.img.integer_ranges import as_unsigned
from tilefuse.dialects.img.ops import (
    ExtentOp,
    GroupOp,
    InputOp,
    MinOp,
    ParamOp,
    PrintOp,
    ReadOp,
    StageOp,
    UpdateOp,
)
from tilefuse.dialects.img.symbolic import SizeValue, greatest, least, provably_le

UNBOUNDED: tuple[int, int] = (-(2**31), 2**31 - 1)
"""The range of a 32-bit integer that nothing bounds; wider ranges count as unbounded too."""

_ROWS = {row.op: row for row in INTEGER_OPERATIONS}
_SLT = 2
"""The number of `slt` among the predicates of `arith.cmpi`."""


def is_unbounded(span: AnySpan) -> bool:
    """Whether a range leaves an index unbounded."""
    return provably_le(2**31 - 1, span[1] - span[0])


def value_range(value: SSAValue, known: Mapping[SSAValue, AnySpan], sizes: Sizes | None = None) -> AnySpan:
    """Compute the signed range of `value`, given the spans of `known` values."""
    return value_ranges([value], known, sizes)[value]


def value_ranges(
    values: Iterable[SSAValue], known: Mapping[SSAValue, AnySpan], sizes: Sizes | None = None
) -> dict[SSAValue, AnySpan]:
    """Compute the ranges of several values and of all values that they depend on. See `value_range`."""
    return _ranges(values, known, sizes, _stage_range)


StageRange = Callable[[ReadOp, Sizes | None], AnySpan | None]


def _ranges(
    values: Iterable[SSAValue], known: Mapping[SSAValue, AnySpan], sizes: Sizes | None, read: StageRange
) -> dict[SSAValue, AnySpan]:
    found = dict(known)
    # A stack of our own: bodies may be long, and a value is visited once however often it is used.
    stack = list(values)
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
            found[top] = _range(top, found.__getitem__, sizes, read)
        stack.pop()
    return found


def _range(value: SSAValue, of: Callable[[SSAValue], Any], sizes: Sizes | None, read: StageRange) -> AnySpan:
    """Compute the range of a value, of integers or floats, from the ranges of its operands."""
    op = value.owner
    if isinstance(value.type, AnyFloat):
        return cast(AnySpan, _float_range(op, value.type, of, sizes) if isinstance(op, Operation) else ANY_FLOAT)
    span: AnySpan | None = None
    if isinstance(op, ReadOp):
        span = read(op, sizes) if isinstance(value.type, IntegerType) else None
    elif isinstance(op, Operation):
        number = None if sizes is None else _given(op, sizes)
        span = (number, number) if number is not None else _op_range(op, value.type, of)
    return _type_range(value.type) if span is None else span


def _stage_range(read: ReadOp, sizes: Sizes | None) -> AnySpan | None:
    """Compute the range of an integer stage at any point, from its body, for any coordinates.

    What the body reads has the range of its type: following that, too, would go through whole pipelines of bytes.
    """
    func, boundaries = behind_boundaries(read.source)
    if isinstance(func.owner, GroupOp):
        func = func.owner.yield_op.values[func.owner.funcs.index(func)]
    if any(b.kind.data is BoundaryKind.ConstantExterior for b in boundaries):
        return None
    return _function_range(func, sizes)


def _function_range(func: SSAValue, sizes: Sizes | None) -> AnySpan | None:
    match func.owner:
        case StageOp() as stage:
            value = stage.yield_op.values[stage.funcs.index(func)]
        case UpdateOp() as update:
            return _joined_range(update, update.funcs.index(func), sizes)
        case _:
            return None
    coordinates: dict[SSAValue, AnySpan] = {arg: UNBOUNDED for arg in stage.body.block.args}
    return _ranges([value], coordinates, sizes, lambda *_: None)[value]


def _joined_range(update: UpdateOp, number: int, sizes: Sizes | None) -> AnySpan | None:
    """Compute the range of integers that an update combines over a domain of known size; None if it is unbounded."""
    way, extents = update.combiners[number], [integer_constant(d.extent) for d in update.domain]
    element = update.old_funcs[number].type.element  # type: ignore[attr-defined]
    signed = isinstance(element, IntegerType) and element.signedness.data is Signedness.SIGNED
    before = _function_range(update.old_funcs[number], sizes) if signed and way in ("add", "min", "max") else None
    known = [n for n in extents if n is not None]
    if before is None or len(known) < len(extents):
        return None
    spans: dict[SSAValue, AnySpan] = {c: UNBOUNDED for c in update.coordinates}
    for axis, extent in zip(update.domain, known, strict=True):
        low = integer_constant(axis.min)
        if low is not None:
            spans[axis.coordinate] = (low, low + extent - 1)
    term = update.write_op.values[number]
    span = _ranges([term], spans, sizes, lambda *_: None)[term]
    count = math_prod(max(0, n) for n in known)
    if way == "add":
        total = (before[0] + count * least(0, span[0]), before[1] + count * greatest(0, span[1]))
        return _fit(total, term.type)
    meets = count > 0 and update.write_op.predicate is None and update.rank == len(update.pure)
    pick, far = (least, 1) if way == "min" else (greatest, 0)
    ends = [pick(before[0], span[0]), pick(before[1], span[1])] if count else list(before)
    if not meets:
        ends[far] = before[far]
    return (ends[0], ends[1])


def _float_range(op: Operation, type: Attribute, of: Callable[[SSAValue], Any], sizes: Sizes | None) -> FloatSpan:
    match op:
        case ReadOp():
            return ANY_FLOAT
        case ParamOp():
            number = None if sizes is None else sizes.real(op)
            return ANY_FLOAT if number is None else (number, number)
        case PrintOp():
            return cast(FloatSpan, of(op.value))
        case arith.SIToFPOp() | arith.UIToFPOp():
            span: AnySpan | None = of(op.input)
            if isinstance(op, arith.UIToFPOp) and span is not None:
                span = as_unsigned(_width(op.input.type), span)
            if span is None or not (isinstance(span[0], int) and isinstance(span[1], int)):
                return ANY_FLOAT
            return rounded(Fraction(span[0]), Fraction(span[1]), type)
    return float_range(op, type, of)


def _given(op: Operation, sizes: Sizes) -> SizeValue | None:
    """Return the result of an operation whose value the call gives, read as signed; None if it does not."""
    match op:
        case MinOp() | ExtentOp():
            source = op.input.owner
            assert isinstance(source, InputOp)
            return sizes.interval(source, op.dim.value.data)[isinstance(op, ExtentOp)]
        case arith.ExtUIOp() if isinstance(op.input.owner, ParamOp):
            return sizes.param(op.input.owner) if _is_unsigned(op.input.owner) else None
        case ParamOp() if isinstance(op.value.type, IntegerType):
            number = sizes.param(op)
            half: int = 1 << (op.value.type.width.data - 1)
            if isinstance(number, int):
                return (number + half) % (2 * half) - half
            return None if _is_unsigned(op) and half < 2**31 else number
    return None


def _is_unsigned(op: ParamOp) -> bool:
    return isinstance(op.element, IntegerType) and op.element.signedness.data is not Signedness.SIGNED


def _type_range(type: Attribute) -> tuple[int, int]:
    if not isinstance(type, IntegerType):
        return UNBOUNDED
    half = 1 << (type.width.data - 1)
    return (-half, half - 1)


def _width(type: Attribute) -> int | None:
    """Return the bits of a type; an index has no fixed width."""
    return type.width.data if isinstance(type, IntegerType) else None


def _fit(span: AnySpan, type: Attribute) -> AnySpan | None:
    """Return `span` if `type` can hold its values; else the range of the type, as they wrap."""
    if isinstance(type, IndexType):
        return span
    low, high = _type_range(type)
    wide = high >= 2**31 - 1
    fits = [
        provably_le(a, b) or (wide and not (isinstance(a, int) and isinstance(b, int)))
        for a, b in ((low, span[0]), (span[1], high))
    ]
    return span if all(fits) else None


def _op_range(op: Operation, type: Attribute, of: Callable[[SSAValue], AnySpan]) -> AnySpan | None:
    """Compute the range of an operation's result; None if only the type bounds it."""
    match op:
        case arith.ConstantOp(value=IntegerAttr() as attr):
            low, high = _type_range(type)
            number = attr.value.data
            wraps = not isinstance(type, IndexType) and not low <= number <= high
            return None if wraps else (number, number)
        case PrintOp():
            return of(op.value)
        case arith.FPToSIOp():
            return truncated_range(cast(FloatSpan, of(op.input)), _type_range(type))
        case arith.FPToUIOp():
            if not isinstance(type, IntegerType):
                return None
            most = (1 << type.width.data) - 1
            return _fit(truncated_range(cast(FloatSpan, of(op.input)), (0, most)), type)
        case arith.SelectOp():
            if (divisor := _rounded_remainder(op, of)) is not None:
                return (0, divisor - 1)
            a, b = of(op.lhs), of(op.rhs)
            return (least(a[0], b[0]), greatest(a[1], b[1]))
    span = _span_of_row(op, of)
    return None if span is None else _fit(span, type)


def _span_of_row(op: Operation, of: Callable[[SSAValue], AnySpan]) -> AnySpan | None:
    """Compute the range of an operation's exact result, which may wrap in its type, by its row of the table."""
    row = _ROWS.get(op.__class__)
    if row is None or row.span is None:
        return None
    width = _width(op.operands[0].type)
    spans: list[AnySpan | None] = [of(v) for v in op.operands]
    if row.reading is Reading.OF_OP and op.signed is None:  # type: ignore[attr-defined]
        spans = [None if span is None else as_unsigned(width, span) for span in spans]
    return None if None in spans else row.span(width, *spans)


def _rounded_remainder(op: arith.SelectOp, of: Callable[[SSAValue], AnySpan]) -> int | None:
    """Return the constant c of the `select` that expands `img.mod` by c: `r < 0 ? r + c : r` of a remainder r."""
    r, shifted, less = op.rhs, op.lhs.owner, op.cond.owner
    if not isinstance(r.owner, arith.RemSIOp) or not isinstance(shifted, arith.AddiOp):
        return None
    if not isinstance(less, arith.CmpiOp) or (less.lhs, of(less.rhs), less.predicate.value.data) != (r, (0, 0), _SLT):
        return None
    divisor = r.owner.rhs
    low, high = of(divisor)
    same = (shifted.lhs, shifted.rhs) == (r, divisor)
    return low if same and low == high and isinstance(low, int) and low > 0 else None
