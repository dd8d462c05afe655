"""Vectors of a thread's values: built of scalars, shuffled and concatenated."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import ub, vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i64
from xdsl.ir import SSAValue

from tilefuse.lowering.emit import Emitter


def together(e: Emitter, values: Sequence[SSAValue]) -> SSAValue:
    """Build a vector of scalars."""
    packed = e.op(ub.PoisonOp(VectorType(values[0].type, [len(values)])))
    for i, value in enumerate(values):
        packed = e.insert(value, packed, i)
    return packed


def shuffle(e: Emitter, a: SSAValue, b: SSAValue, mask: Sequence[int]) -> SSAValue:
    """Shuffle the elements of two vectors."""
    assert isinstance(a.type, VectorType)
    type = VectorType(a.type.element_type, [len(mask)])
    return e.op(vector.ShuffleOp(a, b, DenseArrayBase.from_list(i64, list(mask)), result_type=type))


def concatenated(e: Emitter, parts: Sequence[SSAValue]) -> SSAValue:
    """Concatenate vectors of equal length; their number is a power of two."""
    while len(parts) > 1:
        type = parts[0].type
        assert isinstance(type, VectorType)
        n = type.get_shape()[0]
        parts = [shuffle(e, a, b, range(2 * n)) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]
