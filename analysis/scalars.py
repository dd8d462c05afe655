"""Evaluation of the scalars between the stages, to numbers of a call or to symbols: boundary boxes, update domains."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.sizes import AnySpan, Sizes
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import BoundaryOp, DivOp, ExtentOp, InputOp, MinOp, ModOp, ParamOp, UpdateOp
from tilefuse.dialects.img.symbolic import SizeValue, greatest, least, provably_le


def eval_index(value: SSAValue, sizes: Sizes) -> SizeValue:
    """Evaluate a scalar of type index (or the integer that it is cast from) between the stages, read as signed.

    Numbers of a call wrap as their types do; PipelineError for an index beyond 64 bits.
    """
    number = _computed(value, sizes)
    if not isinstance(number, int):
        return number
    width = value.type.width.data if isinstance(value.type, IntegerType) else 64
    half = 1 << (width - 1)
    if -half <= number < half:
        return number
    if isinstance(value.type, IndexType):
        raise PipelineError(
            f"{number} in the box of a boundary or the domain of an update exceeds the 64 bits of an index",
            value.owner if isinstance(value.owner, Operation) else None,
        )
    return (number + half) % (2 * half) - half


def _unsigned(value: SSAValue, sizes: Sizes) -> SizeValue:
    """Evaluate an index as `eval_index` does, and read its bits as an unsigned number."""
    number = eval_index(value, sizes)
    if isinstance(number, int) and isinstance(value.type, IntegerType):
        return int(number % (1 << value.type.width.data))
    return number


def _computed(value: SSAValue, sizes: Sizes) -> SizeValue:
    op = value.owner
    match op:
        case MinOp() | ExtentOp():
            source = op.input.owner
            assert isinstance(source, InputOp)
            return sizes.interval(source, op.dim.value.data)[isinstance(op, ExtentOp)]
        case ParamOp():
            number = sizes.param(op)
            assert number is not None
            return number
        case arith.ConstantOp(value=IntegerAttr() as attr):
            return int(attr.value.data)
        case arith.IndexCastOp() | arith.ExtSIOp() | arith.TruncIOp():
            return eval_index(op.operands[0], sizes)
        case arith.ExtUIOp():
            return _unsigned(op.input, sizes)
    if isinstance(op, Operation) and len(op.operands) == 2:
        read = _unsigned if _reads_unsigned(op) else eval_index
        a, b = (read(v, sizes) for v in op.operands)
        match op:
            case arith.AddiOp():
                return a + b
            case arith.SubiOp():
                return a - b
            case arith.MuliOp():
                return a * b
            case arith.MinSIOp() | arith.MinUIOp():
                return least(a, b)
            case arith.MaxSIOp() | arith.MaxUIOp():
                return greatest(a, b)
            case arith.FloorDivSIOp() | arith.DivUIOp():
                return a // b if b != 0 else 0
            case arith.DivSIOp() | DivOp() | ModOp():
                return _divided(op, a, b)
    raise PipelineError(
        "the box of a boundary, or the domain of an update, must be computed from sizes, params and constants by "
        "+ - * / min max",
        op if isinstance(op, Operation) else None,
    )


def _reads_unsigned(op: Operation) -> bool:
    if isinstance(op, DivOp | ModOp):
        return op.signed is None
    return isinstance(op, arith.MinUIOp | arith.MaxUIOp | arith.DivUIOp)


def _divided(op: Operation, a: SizeValue, b: SizeValue) -> SizeValue:
    """Evaluate divisions that depend on the divisor's sign: truncating, or with a non-negative remainder."""
    if b == 0:
        return 0
    negative = provably_le(b, 0)
    if not negative and not provably_le(0, b):
        raise PipelineError(
            "the divisor in a boundary's box or an update's domain may be negative or positive; write which by "
            "max or min",
            op,
        )
    by = -b if negative else b
    if isinstance(op, ModOp):
        return a % by
    # towards zero is: the positive part and the negative part by themselves
    quotient = a // by if isinstance(op, DivOp) else greatest(a, 0) // by - greatest(-a, 0) // by
    return -quotient if negative else quotient


def boundary_box(op: BoundaryOp, sizes: Sizes) -> dict[int, AnySpan]:
    """Return (first, last) of each dimension that `op` continues."""
    if op.mins:
        pairs = [(eval_index(m, sizes), eval_index(n, sizes)) for m, n in zip(op.mins, op.extents, strict=True)]
    else:
        source = op.source.owner
        assert isinstance(source, InputOp)
        pairs = [sizes.interval(source, d) for d in op.dimensions]
    return {d: (low, low + extent - 1) for d, (low, extent) in zip(op.dimensions, pairs, strict=True)}


def domain_spans(op: UpdateOp, sizes: Sizes) -> list[AnySpan]:
    """Return (first, last) of each dimension of the reduction domain of `op`, innermost first."""
    pairs = [(eval_index(d.min, sizes), eval_index(d.extent, sizes)) for d in op.domain]
    return [(low, low + extent - 1) for low, extent in pairs]
