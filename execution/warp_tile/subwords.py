"""Analysis of bodies that can be computed exactly in 16 bits, two points per register.

Each value is followed as an unsigned interval. A 32-bit value has to be proven below 2**16; sums and products of
8 and 16 bits may wrap, as their types do. Comparisons, floats and coordinates are left to whole registers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilefuse.analysis.index import Span
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.dialects.img.ops import DivOp, ModOp
from tilefuse.dialects.warp.layout import Layout

HALF = 0xFFFF
"""The largest value of half a register."""


def of_type(type: Attribute) -> Span | None:
    """Return all values of a type, as unsigned integers; None if half a register cannot hold them."""
    if isinstance(type, IntegerType) and type.width.data in (8, 16):
        return (0, (1 << type.width.data) - 1)
    return None


def subword_intervals(block: Block, read: Callable[[Operation], Span | None]) -> dict[SSAValue, Span] | None:
    """Compute the interval of every value of a body if half a register can hold each; else None.

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


_PAIR_COSTS: dict[type[Operation], float] = {
    **dict.fromkeys((arith.ConstantOp, arith.ExtUIOp, arith.ExtSIOp), 0.0),
    **dict.fromkeys((arith.ShRUIOp, arith.ShRSIOp, arith.ShLIOp), 2.0),
    **dict.fromkeys((arith.DivUIOp, arith.DivSIOp, arith.FloorDivSIOp, DivOp), 7.0),
    **dict.fromkeys((arith.RemUIOp, arith.RemSIOp, ModOp), 9.0),
}
"""Instructions on two points in one register, about, of operations that take more or less than one; of products see
`pair_cost`."""


def pair_cost(op: Operation, spans: Mapping[SSAValue, Span]) -> float:
    """Estimate the instructions of an operation on two points in one register."""
    if not isinstance(op, arith.MuliOp):
        return _PAIR_COSTS.get(type(op), 1.0)
    if spans[op.lhs][1] * spans[op.rhs][1] <= HALF and any(constant_of(v) is not None for v in op.operands):
        return 0.0
    return 6.0  # taken apart, and put together again


def pair_slots(op: Operation, spans: Mapping[SSAValue, Span]) -> float:
    """Estimate the issue slots of an operation on two points in one register.

    Shifts, masks and permutations of bytes, of which the longer sequences consist, have half the rate of sums and
    products."""
    cost = pair_cost(op, spans)
    return HALF_RATE * cost if cost > 1.0 else cost


def constant_of(value: SSAValue) -> int | None:
    """Return a constant as an unsigned integer; None for any other value."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        type = value.type
        assert isinstance(type, IntegerType)
        return int(owner.value.value.data) & ((1 << int(type.width.data)) - 1)
    return None


def _interval(op: Operation, of: list[Span]) -> Span | None:
    result = op.results[0].type
    if not isinstance(result, IntegerType) or result.width.data not in (8, 16, 32):
        return None
    width = int(result.width.data)
    match type(op):  # of which each case is one comparison; class patterns take ten times as long
        case arith.ConstantOp:
            number = constant_of(op.results[0])
            return None if number is None or number > HALF else (number, number)
        case arith.AddiOp:
            return _wrapped((of[0][0] + of[1][0], of[0][1] + of[1][1]), width)
        case arith.SubiOp:
            return _wrapped((of[0][0] - of[1][1], of[0][1] - of[1][0]), width)
        case arith.MuliOp:
            return _wrapped((of[0][0] * of[1][0], of[0][1] * of[1][1]), width)
        case arith.MinUIOp:
            return (min(of[0][0], of[1][0]), min(of[0][1], of[1][1]))
        case arith.MaxUIOp:
            return (max(of[0][0], of[1][0]), max(of[0][1], of[1][1]))
        case arith.MinSIOp if _not_negative(of, width):
            return (min(of[0][0], of[1][0]), min(of[0][1], of[1][1]))
        case arith.MaxSIOp if _not_negative(of, width):
            return (max(of[0][0], of[1][0]), max(of[0][1], of[1][1]))
        case arith.AndIOp:
            return (0, min(of[0][1], of[1][1]))
        case arith.OrIOp | arith.XOrIOp:
            return (0, (1 << max(of[0][1], of[1][1]).bit_length()) - 1)
        case arith.ExtUIOp:
            return of[0]
        case arith.ExtSIOp:
            inner = op.operands[0].type
            return of[0] if isinstance(inner, IntegerType) and _not_negative(of, inner.width.data) else None
        case arith.TruncIOp:
            return of[0] if of[0][1] < 1 << width else (0, (1 << width) - 1)
    return _by_constant(op, of, width)


def _by_constant(op: Operation, of: list[Span], width: int) -> Span | None:
    """Return the interval of a shift or division by a constant."""
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
    """Return the interval of a sum or product modulo 2**width; None for widths over 16 that exceed 16 bits."""
    limit = min((1 << width) - 1, HALF)
    if span[0] >= 0 and span[1] <= limit:
        return span
    return None if width > 16 else (0, limit)


def _not_negative(of: list[Span], width: int) -> bool:
    """Whether every value in the interval is non-negative when read as signed."""
    return all(high < 1 << (width - 1) for _, high in of)


def pairs_pay(block: Block, spans: Mapping[SSAValue, Span]) -> bool:
    """Whether a body whose values fit half a register takes fewer instructions for two points at a time."""
    work = [op for op in block.ops if op.results and op.results[0] in spans]
    together = sum(pair_cost(op, spans) for op in work)
    return 0 < together <= 2 * sum(instruction_cost(op) for op in work)


def best_pair_stride(vector: int, gain: float) -> int:
    """Choose the column distance of two points in one register: 1 if it pays, else half a lane's columns.

    Neighbours come out of words of memory, and go back, as they lie there, and few registers of the lanes beside hold
    many columns. Where points are half of a lane's apart, most columns beside them are other registers of the lane.
    `gain`: the sum of what `gain_in_memory` and `gain_beside` say of each row.
    """
    return 1 if gain >= 0 else vector // 2


def gain_in_memory(vector: int, bytes: int) -> float:
    """Estimate the permutations that a memory row of `bytes`-wide elements saves if neighbours share registers."""
    return vector / 4 if bytes == 1 else vector / 2


def gain_beside(vector: int, reach: tuple[int, int]) -> float:
    """Estimate the permutations that a row with `reach` columns on either side saves if neighbours share registers."""
    return _cost_beside(vector, vector // 2, reach) - _cost_beside(vector, 1, reach)


_SHUFFLE = 2.0
"""Permutations of bytes that take as long as a shuffle from lane to lane."""


@functools.cache
def _cost_beside(vector: int, stride: int, reach: tuple[int, int]) -> float:
    """Estimate the cost of registers with columns beside a lane's own (`Layout.between`)."""
    columns = (-reach[0], vector + reach[1])
    layout = Layout((0, 0), (1, vector), (1, 1), columns, rows=(0, 1), packed=2, pair_stride=stride)
    parts = [layout.parts(start) for start in layout.between]
    shuffled = {start for found in parts for start in found if not 0 <= start < vector}
    return sum(len(found) > 1 for found in parts) + _SHUFFLE * len(shuffled)
