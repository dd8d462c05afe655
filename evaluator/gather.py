"""Values of an array at the points of a grid of index arrays, by views where the indices allow it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from tilefuse.dialects.img.elements import Array


def coordinate_grids(box: Sequence[tuple[int, int]]) -> list[Array]:
    """Return the coordinates of a (min, extent) box, per dimension, x first, shaped to broadcast."""
    rank = len(box)
    found = []
    for dim, (low, extent) in enumerate(box):
        shape = [1] * rank
        shape[rank - 1 - dim] = extent
        found.append(np.arange(low, low + extent, dtype=np.int64).reshape(shape))
    return found


def affine_value(expr: AffineExpr, operands: Sequence[Array]) -> Array:
    """Evaluate an index expression over arrays of index values."""
    match expr:
        case AffineConstantExpr(value):
            return np.array(value, np.int64)
        case AffineDimExpr(position):
            return operands[position]
        case AffineBinaryOpExpr(kind, lhs, rhs):
            a, b = affine_value(lhs, operands), affine_value(rhs, operands)
            match kind:
                case AffineBinaryOpKind.Add:
                    return np.asarray(a + b)
                case AffineBinaryOpKind.Mul:
                    return np.asarray(a * b)
                case AffineBinaryOpKind.Mod:
                    return np.asarray(a % b)
                case AffineBinaryOpKind.FloorDiv:
                    return np.asarray(a // b)
                case AffineBinaryOpKind.CeilDiv:
                    return np.asarray(-(-a // b))
    raise AssertionError(f"the verifier lets no such index pass: {expr}")


def gather(values: Array, indices: Sequence[Array], rank: int) -> Array:
    """Return `values` at `indices`, counted from 0, x first; broadcastable to the grid of `rank` dimensions.

    Axes of `values` are reversed against the indices.
    """
    by_axis = [i.reshape((1,) * (rank - i.ndim) + i.shape) for i in reversed(indices)]
    long_axes = [[a for a, n in enumerate(i.shape) if n > 1] for i in by_axis]
    used = [axes[0] for axes in long_axes if axes]
    if any(len(axes) > 1 for axes in long_axes) or len(set(used)) != len(used):
        return np.asarray(values[tuple(by_axis)])
    return _gather_separable(values, by_axis, long_axes, used, rank)


def _gather_separable(
    values: Array, by_axis: list[Array], long_axes: list[list[int]], used: list[int], rank: int
) -> Array:
    """Gather where each index is a vector along its own axis of the grid, or one number."""
    cuts: list[int | slice] = []
    takes: list[Array | None] = []
    for index, axes in zip(by_axis, long_axes, strict=True):
        vector = index.reshape(-1)
        if not axes:
            cuts.append(int(vector[0]))
            continue
        step = int(vector[1] - vector[0])
        regular = step > 0 and bool((np.diff(vector) == step).all())
        cuts.append(slice(int(vector[0]), int(vector[-1]) + 1, step) if regular else slice(None))
        takes.append(None if regular else vector)
    cut = np.asarray(values[tuple(cuts)])
    for axis, vector_or_none in enumerate(takes):
        if vector_or_none is not None:
            cut = np.take(cut, vector_or_none, axis=axis)
    cut = cut.transpose(np.argsort(used))
    sizes = dict(zip(sorted(used), cut.shape, strict=True))
    return cut.reshape([sizes.get(axis, 1) for axis in range(rank)])
