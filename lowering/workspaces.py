"""Workspaces: memory of a kernel beside its functions, for partial sums of blocks, counters and flags.

It comes from the arena of the call, lives as long as its kernel does, and is passed behind the kernel's other
arguments: a pointer, and the extents that the type leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import SSAValue

from tilefuse.analysis.sizes import Box, CallSizes


@dataclass(frozen=True)
class Call:
    """Numbers of a call that determine the size of its workspaces.

    A plan serves calls with other values of the params that decide no box: what is read of `sizes` must not make a
    kernel wrong for these.
    """

    boxes: Mapping[SSAValue, Box]
    """Box of each function that the call reads or computes."""
    sizes: CallSizes


class OpenExtents(Protocol):
    """Return the open extents of a workspace in a call."""

    def __call__(self, call: Call) -> Sequence[int]: ...


@dataclass(frozen=True)
class Workspace:
    """One contiguous workspace in row-major order."""

    name: str
    """Name in the kernel's text."""
    type: MemRefType[Any]
    extents: OpenExtents = field(default=lambda call: ())
    """Extents of the dimensions that `type` leaves open, outermost first."""
    clear: int | None = None
    """The byte that fills it before the first kernel of the call starts; None: it holds anything."""

    def __post_init__(self) -> None:
        assert isinstance(self.type.layout, NoneAttr), "rows lie one after the other"

    def shape(self, call: Call) -> tuple[int, ...]:
        """Return the extents in a call, outermost first."""
        open_extents = iter(self.extents(call))
        return tuple(next(open_extents) if n == DYNAMIC_INDEX else n for n in self.type.get_shape())

    @property
    def open_dims(self) -> tuple[int, ...]:
        """The dimensions whose extents are kernel arguments."""
        return tuple(d for d, n in enumerate(self.type.get_shape()) if n == DYNAMIC_INDEX)
