"""Iteration space of a kernel's tiles: the box in anchor coordinates that covers the boxes of the stored functions."""

from __future__ import annotations

from collections.abc import Sequence

from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.stored import Stored


def first_covered(e: Emitter, stored: Sequence[Stored], outputs: Sequence[KernelBuffer], dim: int) -> Num:
    """Return the first anchor coordinate along `dim` with a point to store."""
    first: Num = outputs[stored[0].first].mins[dim]
    for s in stored[1:]:
        if (d := _along(s, dim)) is not None:
            ratio = s.follow[d].ratio
            low = e.floordiv(e.mul(outputs[s.first].mins[d], ratio.denominator), ratio.numerator)
            first = e.min(first, low)
    return first


def end_covered(e: Emitter, stored: Sequence[Stored], outputs: Sequence[KernelBuffer], dim: int) -> Num:
    """Return the coordinate after the last anchor coordinate along `dim` with a point to store."""
    out = outputs[stored[0].first]
    end = e.add(out.mins[dim], out.extent(dim, e))
    for s in stored[1:]:
        if (d := _along(s, dim)) is not None:
            num, den, buffer = s.follow[d].ratio.numerator, s.follow[d].ratio.denominator, outputs[s.first]
            behind = e.mul(e.add(buffer.mins[d], buffer.extent(d, e)), den)
            end = e.max(end, e.floordiv(e.add(behind, num - 1), num))
    return end


def _along(stored: Stored, dim: int) -> int | None:
    """Return the dimension of a stage that follows the tile along `dim`; None if none is tiled along it."""
    return next((d for d, f in enumerate(stored.follow) if f.dim == dim), None)
