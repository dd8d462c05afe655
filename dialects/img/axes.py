"""Order of dimensions: the axis of an array that each dimension of a function is."""

from __future__ import annotations

from collections.abc import Sequence

MOST_CHANNELS = 4
"""A dimension of at most this extent, from the third on, counts as channels."""

AxisOrder = tuple[int, ...]
"""The axis of an array that each dimension is, x first."""

INTERLEAVED: AxisOrder = (1, 0, 2)


def letter(dim: int) -> str:
    """Return a dimension's name in generated text: x, y, z, w, then d4, d5 ..."""
    return "xyzw"[dim] if dim < 4 else f"d{dim}"


def planar(rank: int) -> AxisOrder:
    """Return the dimensions of the axes, in reverse order."""
    return tuple(range(rank - 1, -1, -1))


def axis_order(layout: str, shape: Sequence[int], channels: int | None = None) -> AxisOrder | None:
    """Return the axis order of an array of this shape; None if both are possible and only reads can tell.

    `layout`: auto, planar or interleaved. `channels`: the extent of the third dimension, if it is known.
    """
    rank = len(shape)
    if rank != 3 or layout != "auto":
        return INTERLEAVED if layout == "interleaved" and rank == 3 else planar(rank)
    if channels is not None:
        first, last = shape[0] == channels, shape[2] == channels
    else:
        first, last = shape[0] <= MOST_CHANNELS, shape[2] <= MOST_CHANNELS
    if first and last:
        return None
    return INTERLEAVED if last else planar(rank)
