"""Packed pairs of 16-bit points (`vector<2xi16>`): unpacking from memory rows, arithmetic, and packing.

A lane's columns c and c + d share a register (`Layout.pair_stride`). Where d is half of the lane's columns a column's
neighbour is another register, and only the outermost ones need a half of the next lane's. Where it is 1 they lie as in
memory: pairs of 16 bits are its words, bytes come out of one, and go back, by an instruction a pair; but pairs in
between are put together, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    VectorType,
    i8,
    i16,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilefuse.dialects.warp import AtOp, WarpYieldOp
from tilefuse.execution.warp_tile.subwords import constant_of
from tilefuse.execution.warp_tile.vectors import concatenated, shuffle, together
from tilefuse.lowering.emit import Emitter

PAIR = VectorType(i16, [2])
_WORD = VectorType(i32, [1])
_BYTES = VectorType(i8, [4])
NO_WRAP = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NUW])


def constant_pair(e: Emitter, number: int) -> SSAValue:
    """Return a constant pair of one 16-bit number."""
    number &= 0xFFFF
    number -= (number >> 15) << 16
    return e.op(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(PAIR, [number]), PAIR))


def pair_of(e: Emitter, low: SSAValue, high: SSAValue) -> SSAValue:
    """Return the register type of two points of 8 or 16 bits."""
    if low.type != i16:
        low, high = e.op(arith.ExtUIOp(low, i16)), e.op(arith.ExtUIOp(high, i16))
    return together(e, [low, high])


def half_of(e: Emitter, pair: SSAValue, half: int, element: Attribute) -> SSAValue:
    """Extract a point of a pair, as an element of 8 or 16 bits."""
    value = e.op(vector.ExtractOp(pair, [half], i16))
    return value if element == i16 else e.op(arith.TruncIOp(value, i8))


def as_word(e: Emitter, pair: SSAValue) -> SSAValue:
    """Bitcast a pair to i32."""
    return e.op(vector.ExtractOp(e.op(vector.BitcastOp(pair, _WORD)), [0], i32))


def as_pair(e: Emitter, word: SSAValue) -> SSAValue:
    """Bitcast an i32 to a pair."""
    return e.op(vector.BitcastOp(together(e, [word]), PAIR))


def split_row(e: Emitter, row: SSAValue, stride: int) -> list[SSAValue]:
    """Split a lane's memory row into pairs of columns c and c + `stride`."""
    type = row.type
    assert isinstance(type, VectorType)
    (count,) = type.get_shape()
    if stride == 1 and type.element_type == i8:
        bytes = VectorType(i8, [count])
        zeros = e.op(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(bytes, [0]), bytes))
        halves = (shuffle(e, row, zeros, [c, count, c + 1, count + 1]) for c in range(0, count, 2))
        return [e.op(vector.BitcastOp(both, PAIR)) for both in halves]
    pairs: list[SSAValue] = []
    for first in range(0, count, 2 * stride):
        if type.element_type == i16:
            pairs += (
                [shuffle(e, row, row, [c, c + stride]) for c in range(first, first + stride)] if count > 2 else [row]
            )
            continue
        for c in range(first, first + stride, 2):
            both = e.op(vector.BitcastOp(shuffle(e, row, row, [c, c + 1, c + stride, c + stride + 1]), PAIR))
            pairs.append(e.op(arith.AndIOp(both, constant_pair(e, 0xFF))))
            pairs.append(e.op(arith.ShRUIOp(both, constant_pair(e, 8))))
    return pairs


def row_of_pairs(
    e: Emitter, pairs: Sequence[SSAValue], element: Attribute, stride: int, upper: bool = False
) -> SSAValue:
    """Join pairs of columns c and c + `stride` to a memory row; with `upper`, of their upper bytes."""
    if stride == 1 and element != i16:
        return concatenated(
            e, [_bytes_of(e, a, b, [0, 2, 4, 6], upper) for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
        )
    columns = [_columns_of(e, pairs[k : k + stride], element, upper) for k in range(0, len(pairs), stride)]
    return concatenated(e, columns)


def _bytes_of(e: Emitter, a: SSAValue, b: SSAValue, places: Sequence[int], upper: bool) -> SSAValue:
    """Return four bytes of two pairs: the lower bytes at `places`, or the bytes above them."""
    x, y = (e.op(vector.BitcastOp(pair, _BYTES)) for pair in (a, b))
    return shuffle(e, x, y, [p + upper for p in places])


def _columns_of(e: Emitter, pairs: Sequence[SSAValue], element: Attribute, upper: bool) -> SSAValue:
    """Return consecutive columns from pairs that have the first half of them in their lower halves."""
    if element == i16:
        if len(pairs) == 1:
            return pairs[0]
        lows, highs = [], []
        for a, b in zip(pairs[::2], pairs[1::2], strict=True):
            lows.append(shuffle(e, a, b, [0, 2]))
            highs.append(shuffle(e, a, b, [1, 3]))
        return concatenated(e, [*lows, *highs])
    quads: list[SSAValue] = []  # columns c, c + 1, c + n/2, c + n/2 + 1 of n
    for a, b in zip(pairs[::2], pairs[1::2], strict=True):
        quads.append(_bytes_of(e, a, b, [0, 4, 2, 6], upper))
    if len(quads) == 1:
        return quads[0]
    lows = [shuffle(e, a, b, [0, 1, 4, 5]) for a, b in zip(quads[::2], quads[1::2], strict=True)]
    highs = [shuffle(e, a, b, [2, 3, 6, 7]) for a, b in zip(quads[::2], quads[1::2], strict=True)]
    return concatenated(e, [*lows, *highs])


def is_upper_byte(value: SSAValue) -> bool:
    """Whether a byte in a body of `pack-subwords` is the upper byte of a 16-bit number."""
    shift = value.owner.input.owner if isinstance(value.owner, arith.TruncIOp) else value.owner
    return isinstance(shift, arith.ShRUIOp) and constant_of(shift.rhs) == 8


def upper_bytes(e: Emitter, pair: SSAValue) -> SSAValue:
    """Return the upper bytes of a pair as numbers."""
    return _shifted(e, pair, 8)


def before_shift(pair: SSAValue) -> SSAValue:
    """Return the value of which `upper_bytes` was taken."""
    assert isinstance(pair.owner, arith.ShRUIOp)
    return pair.owner.lhs


def compute_pair(e: Emitter, block: Block, read: Callable[[AtOp], SSAValue]) -> list[SSAValue]:
    """Compute a body of `pack-subwords` at two points at once; `read` returns the pair of an access."""
    pairs: dict[SSAValue, SSAValue] = {}
    for op in block.ops:
        match op:
            case WarpYieldOp():
                return [pairs[v] for v in op.values]
            case AtOp():
                pairs[op.value] = read(op)
            case arith.ConstantOp() if isinstance(op.result.type, IndexType):
                continue
            case arith.ConstantOp():
                assert isinstance(op.value, IntegerAttr)
                pairs[op.result] = constant_pair(e, int(op.value.value.data))
            case arith.ExtUIOp() | arith.TruncIOp():
                pairs[op.results[0]] = pairs[op.operands[0]]  # a byte is kept in 16 bits
            case arith.DivUIOp():
                by = constant_of(op.rhs)
                assert by is not None
                pairs[op.result] = _divided(e, pairs[op.lhs], by)
            case _:
                pairs[op.results[0]] = e.op(_on_pairs(op, [pairs[v] for v in op.operands]), op.results[0].name_hint)
    raise AssertionError("a region of the warp dialect ends in warp.yield")


def _on_pairs(op: Operation, operands: Sequence[SSAValue]) -> Operation:
    return type(op).create(operands=operands, result_types=[PAIR], properties=dict(op.properties))


def _divided(e: Emitter, a: SSAValue, by: int) -> SSAValue:
    """Return a / by, from the upper half of a product (Granlund and Montgomery 1994)."""
    if by == 1:
        return a
    if by & (by - 1) == 0:
        return _shifted(e, a, by.bit_length() - 1)
    if (found := _small_factor(by)) is not None:
        return _shifted(e, _upper(e, a, found[0]), found[1])
    shift = (by - 1).bit_length()
    upper = _upper(e, a, -(-(1 << (16 + shift)) // by) - (1 << 16))
    rest = _shifted(e, e.op(arith.SubiOp(a, upper, overflow=NO_WRAP)), 1)
    return _shifted(e, e.op(arith.AddiOp(rest, upper, overflow=NO_WRAP)), shift - 1)


def _small_factor(by: int) -> tuple[int, int] | None:
    """Return (factor, shift) with a 16-bit factor that divides every 16-bit number exactly, if one exists."""
    for shift in range((by - 1).bit_length()):
        factor = -(-(1 << (16 + shift)) // by)
        if factor <= 0xFFFF and factor * by - (1 << (16 + shift)) <= 1 << shift:
            return factor, shift
    return None


def _upper(e: Emitter, a: SSAValue, factor: int) -> SSAValue:
    product = arith.MulUIExtendedOp(a, constant_pair(e, factor))
    e.effect(product)
    return product.high


def _shifted(e: Emitter, a: SSAValue, by: int) -> SSAValue:
    return e.op(arith.ShRUIOp(a, constant_pair(e, by))) if by else a
