"""Iteration space of a kernel's tiles: the box in the anchor's coordinates, from the boxes of the stored functions."""

from __future__ import annotations

from collections.abc import Sequence

from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import KernelBuffer
from tilefuse.lowering.stored import Stored


def first_covered(e: Emitter, stored: Sequence[Stored], outputs: Sequence[KernelBuffer], dim: int) -> Num:
    """The least coordinate of the anchor along `dim` that has a point to be stored."""
    first: Num = outputs[stored[0].first].mins[dim]
    for s in stored[1:]:
        if (d := _along(s, dim)) is not None:
            ratio = s.follow[d].ratio
            low = e.floordiv(e.mul(outputs[s.first].mins[d], ratio.denominator), ratio.numerator)
            first = e.min(first, low)
    return first


def end_covered(e: Emitter, stored: Sequence[Stored], outputs: Sequence[KernelBuffer], dim: int) -> Num:
    """The coordinate behind the greatest one of the anchor along `dim` that has a point to be stored."""
    out = outputs[stored[0].first]
    end = e.add(out.mins[dim], out.extent(dim, e))
    for s in stored[1:]:
        if (d := _along(s, dim)) is not None:
            num, den, buffer = s.follow[d].ratio.numerator, s.follow[d].ratio.denominator, outputs[s.first]
            behind = e.mul(e.add(buffer.mins[d], buffer.extent(d, e)), den)
            end = e.max(end, e.floordiv(e.add(behind, num - 1), num))
    return end


def _along(stored: Stored, dim: int) -> int | None:
    """The dimension of a stage that follows the tile along `dim`; None along one that is not tiled."""
    return next((d for d, f in enumerate(stored.follow) if f.dim == dim), None)
