"""Which bodies can be computed in 16 bits, two points to a register, and with the same results.

Each value is followed as an unsigned interval. A 32-bit value has to be proven below 2**16; sums and products of
8 and 16 bits may wrap, as their types do. Comparisons, floats and coordinates are left to whole registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilefuse.analysis.index import Span
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.dialects.img.ops import DivOp, ModOp

HALF = 0xFFFF
"""The largest value of half a register."""


def of_type(type: Attribute) -> Span | None:
    """All values of a type, as unsigned integers; None for one that half a register cannot hold."""
    if isinstance(type, IntegerType) and type.width.data in (8, 16):
        return (0, (1 << type.width.data) - 1)
    return None


def subword_intervals(block: Block, read: Callable[[Operation], Span | None]) -> dict[SSAValue, Span] | None:
    """The interval of every value that a body computes, if half a register can hold each; else None.

    `read` gives the interval of what an operation reads of another function, or None if it is no such operation.
    """
    found: dict[SSAValue, Span] = {}
    for op in block.ops:
        if not op.results:
            continue  # the terminator
        if isinstance(op, arith.ConstantOp) and isinstance(op.result.type, IndexType):
            continue  # the index of a channel
        span = read(op)
        if span is None:
            operands = [found.get(v) for v in op.operands]
            if len(op.results) != 1 or None in operands:
                return None
            span = _interval(op, operands)  # type: ignore[arg-type]
        if span is None:
            return None
        found[op.results[0]] = span
    return found


HALF_RATE = 1.4
"""Issue slots of an instruction of half the rate, where others run beside it."""


def pair_cost(op: Operation, spans: Mapping[SSAValue, Span]) -> float:
    """Instructions that an operation takes on two points in one register, about."""
    match op:
        case arith.ConstantOp() | arith.ExtUIOp() | arith.ExtSIOp():
            return 0.0
        case arith.MuliOp() if spans[op.lhs][1] * spans[op.rhs][1] > HALF:
            return 6.0  # taken apart, and put together again
        case arith.MuliOp():
            return 0.0 if any(constant_of(v) is not None for v in op.operands) else 6.0
        case arith.ShRUIOp() | arith.ShRSIOp() | arith.ShLIOp():
            return 2.0
        case arith.DivUIOp() | arith.DivSIOp() | arith.FloorDivSIOp() | DivOp():
            return 7.0
        case arith.RemUIOp() | arith.RemSIOp() | ModOp():
            return 9.0
    return 1.0


def pair_slots(op: Operation, spans: Mapping[SSAValue, Span]) -> float:
    """The same in issue slots: shifts, masks and permutations of bytes, of which the longer sequences consist, have
    half the rate of sums and products."""
    cost = pair_cost(op, spans)
    return HALF_RATE * cost if cost > 1.0 else cost


def constant_of(value: SSAValue) -> int | None:
    """A constant as an unsigned integer; None for another value."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        type = value.type
        assert isinstance(type, IntegerType)
        return int(owner.value.value.data) & ((1 << int(type.width.data)) - 1)
    return None


def _interval(op: Operation, of: list[Span]) -> Span | None:
    type = op.results[0].type
    if not isinstance(type, IntegerType) or type.width.data not in (8, 16, 32):
        return None
    width = int(type.width.data)
    match op:
        case arith.ConstantOp():
            number = constant_of(op.result)
            return None if number is None or number > HALF else (number, number)
        case arith.AddiOp():
            return _wrapped((of[0][0] + of[1][0], of[0][1] + of[1][1]), width)
        case arith.SubiOp():
            return _wrapped((of[0][0] - of[1][1], of[0][1] - of[1][0]), width)
        case arith.MuliOp():
            return _wrapped((of[0][0] * of[1][0], of[0][1] * of[1][1]), width)
        case arith.MinUIOp():
            return (min(of[0][0], of[1][0]), min(of[0][1], of[1][1]))
        case arith.MaxUIOp():
            return (max(of[0][0], of[1][0]), max(of[0][1], of[1][1]))
        case arith.MinSIOp() if _not_negative(of, width):
            return (min(of[0][0], of[1][0]), min(of[0][1], of[1][1]))
        case arith.MaxSIOp() if _not_negative(of, width):
            return (max(of[0][0], of[1][0]), max(of[0][1], of[1][1]))
        case arith.AndIOp():
            return (0, min(of[0][1], of[1][1]))
        case arith.OrIOp() | arith.XOrIOp():
            return (0, (1 << max(of[0][1], of[1][1]).bit_length()) - 1)
        case arith.ExtUIOp():
            return of[0]
        case arith.ExtSIOp():
            inner = op.input.type
            return of[0] if isinstance(inner, IntegerType) and _not_negative(of, inner.width.data) else None
        case arith.TruncIOp():
            return of[0] if of[0][1] < 1 << width else (0, (1 << width) - 1)
    return _by_constant(op, of, width)


def _by_constant(op: Operation, of: list[Span], width: int) -> Span | None:
    """Shifts and divisions by a constant."""
    by = constant_of(op.operands[1]) if len(op.operands) == 2 else None
    if by is None:
        return None
    low, high = of[0]
    match op:
        case arith.ShLIOp() if by < min(width, 16):
            return _wrapped((low << by, high << by), width)
        case arith.ShRUIOp() if by < min(width, 16):
            return (low >> by, high >> by)
        case arith.ShRSIOp() if by < min(width, 16) and _not_negative(of[:1], width):
            return (low >> by, high >> by)
    if by == 0:
        return None
    signed = isinstance(op, arith.DivSIOp | arith.FloorDivSIOp | arith.RemSIOp) or (
        isinstance(op, DivOp | ModOp) and op.signed is not None
    )
    if signed and not _not_negative(of, width):
        return None
    match op:
        case arith.DivUIOp() | arith.DivSIOp() | arith.FloorDivSIOp() | DivOp():
            return (low // by, high // by)
        case arith.RemUIOp() | arith.RemSIOp() | ModOp():
            return (0, min(high, by - 1))
    return None


def _wrapped(span: Span, width: int) -> Span | None:
    """The interval of a sum or product modulo 2**width; 32 bits may not even reach 2**16."""
    limit = min((1 << width) - 1, HALF)
    if span[0] >= 0 and span[1] <= limit:
        return span
    return None if width > 16 else (0, limit)


def _not_negative(of: list[Span], width: int) -> bool:
    """Whether all values are the same read as signed."""
    return all(high < 1 << (width - 1) for _, high in of)


def pairs_pay(block: Block, spans: Mapping[SSAValue, Span]) -> bool:
    """Whether a body whose values fit half a register takes fewer instructions two points at a time."""
    work = [op for op in block.ops if op.results and op.results[0] in spans]
    together = sum(pair_cost(op, spans) for op in work)
    return 0 < together <= 2 * sum(instruction_cost(op) for op in work)


WORD_APART = 2
"""Columns apart of which pairs of bytes come out of one word of memory by an instruction each."""


def columns_apart(vector: int, reach: int, in_memory: float, between: float) -> int:
    """Columns from one point of a register to the other, where rows of `vector` take fewer permutations of bytes.

    Half of a lane's: then words in memory are taken apart, and put together, by one permutation more for each. Or 2:
    then pairs that begin between a lane's own are put together at the end of each word but the last; `reach`, the most
    columns held of a lane's neighbours, must be no more. `in_memory`: rows of bytes that are loaded or stored where
    vectors do not lie; `between`: rows that are read in columns beside their own, as often as `pairs_between` says.

    Rows that do lie where vectors do gain, too, but NVRTC then keeps more in registers: 5-tap blur at 8192x8192 80 for
    64, which leaves room for fewer threads (39.3 us for 37.0; H200, 2026-11-22).
    """
    words = vector // (2 * WORD_APART)
    if vector % (2 * WORD_APART) or reach > WORD_APART:
        return vector // 2
    return WORD_APART if words * in_memory > (words - 1) * between else vector // 2


def pairs_between(reach: tuple[int, int]) -> int:
    """Pairs that begin between those of two words, of a row read so many columns to the left and to the right."""
    return min(WORD_APART, sum(reach))
