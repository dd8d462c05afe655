"""Functions in the memory of a kernel: their memrefs, and the boxes that these hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilefuse.lowering.emit import Emitter, Num


@dataclass
class KernelBuffer:
    """A function in global memory: its memref and its box in img order (x first)."""

    memref: SSAValue
    mins: Sequence[Num]

    def index(self, coordinates: Sequence[Num], e: Emitter) -> list[Num]:
        """Return the memref indices of a point."""
        return [e.sub(c, m) for c, m in zip(coordinates, self.mins, strict=True)][::-1]

    def axis(self, dim: int) -> int:
        """Return the axis of the memref along a dimension."""
        return len(self.mins) - 1 - dim

    def extent(self, dim: int, e: Emitter) -> Num:
        """Return the extent of a dimension, x first."""
        return e.dim(self.memref, self.axis(dim))


@dataclass
class PermutedBuffer(KernelBuffer):
    """A function's box with permuted dimensions: dimension i of the function is `permutation[i]` of the box."""

    permutation: Sequence[int] = ()

    def extent(self, dim: int, e: Emitter) -> Num:
        """Return the extent of a dimension, x first."""
        return super().extent(self.permutation[dim], e)
