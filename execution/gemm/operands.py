"""Operands of a reduction that its blocks stage: the box of each that a tile reads in a slice of the domain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from tilefuse.analysis.index_sums import index_sum
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import ReadOp, UpdateOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.execution.gemm.attribute import GemmSchedule

Sizes = Mapping[SSAValue, int]
"""Points of a tile per pure coordinate, and steps of a slice per coordinate of the domain; 1 where none is named."""

LEAST_USES = 2
"""Reads of an element of shared memory, on the average, that are worth to put it there."""


@dataclass(frozen=True)
class Axis:
    """A dimension of a box: the sum of coordinates that lies along it."""

    terms: Mapping[SSAValue, int]
    """Coordinates, and scalars that stand between the stages."""
    low: int
    """The least constant that a read adds to these."""
    high: int

    def extent(self, sizes: Sizes) -> int:
        """Points of the box along it."""
        return 1 + sum(abs(n) * (sizes.get(v, 1) - 1) for v, n in self.terms.items()) + self.high - self.low


@dataclass(frozen=True)
class Operand:
    """A function that is read at affine places: several reads that differ by constants alone."""

    source: SSAValue
    axes: tuple[Axis, ...]
    """x first."""
    constants: Mapping[ReadOp, tuple[int, ...]]
    """What each read adds, per axis."""
    sizes: Sizes

    @property
    def extents(self) -> tuple[int, ...]:
        """Of the box, x first."""
        return tuple(axis.extent(self.sizes) for axis in self.axes)

    @property
    def bytes(self) -> int:
        """Of an element."""
        assert isinstance(self.source.type, FuncType)
        return element_bytes(self.source.type.element)

    @property
    def width(self) -> int:
        """Elements of the largest access to a row."""
        return max(1, min(4, 16 // self.bytes))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of its array, x last: rows begin where vectors may, and those that a warp reads in different banks."""
        first, *others = self.extents
        if others and first > 1:
            first = -(-first // self.width) * self.width
            row = first * self.bytes // 16
            # an odd number of vectors in a row: rows below one another lie in different banks
            first += self.width if self.width > 1 and row % 2 == 0 else 0
        return (*reversed(others), first)

    @property
    def elements(self) -> int:
        """Of its array, for one slice."""
        return math.prod(self.shape)


def sizes_of(update: UpdateOp, schedule: GemmSchedule) -> Sizes:
    """The points of a tile and the steps of a slice."""
    found: dict[SSAValue, int] = dict(zip(update.pure, schedule.tile_sizes, strict=True))
    found |= {d.coordinate: n for d, n in zip(update.domain, schedule.slice, strict=False)}
    return {v: n for v, n in found.items() if n > 1}


def operands(update: UpdateOp, sizes: Sizes) -> list[Operand]:
    """The operands that are worth staging."""
    found: dict[object, Operand] = {}
    for read in update.body.block.ops:
        if not isinstance(read, ReadOp) or read.source in update.currents:
            continue
        sums = [index_sum(update, x, list(read.indices)) for x in read.map.data.results]
        if not sums or None in sums or read.value.type == i1:
            continue
        terms = [s.terms for s in sums if s is not None]
        constants = tuple(s.constant for s in sums if s is not None)
        key = (read.source, *(frozenset(t.items()) for t in terms))
        if (known := found.get(key)) is None:
            axes = tuple(Axis(t, c, c) for t, c in zip(terms, constants, strict=True))
            found[key] = Operand(read.source, axes, {read: constants}, sizes)
            continue
        axes = tuple(Axis(a.terms, min(a.low, c), max(a.high, c)) for a, c in zip(known.axes, constants, strict=True))
        found[key] = replace(known, axes=axes, constants={**known.constants, read: constants})
    reads = math.prod(sizes.values())
    return [o for o in found.values() if math.prod(o.extents) * LEAST_USES <= reads * len(o.constants)]


def staged_bytes(update: UpdateOp, schedule: GemmSchedule) -> int:
    """Shared memory of a block."""
    if not schedule.slice:
        return 0
    each = (o.elements * o.bytes for o in operands(update, sizes_of(update, schedule)))
    return sum(-(-n * schedule.buffers // 16) * 16 for n in each)


def why_not_sliced(update: UpdateOp, sizes: Sequence[int]) -> str | None:
    """Why a slice is not a run of the domain in its order, in one sentence; None if it is one."""
    if len(sizes) > len(update.domain):
        return f"a slice has {len(sizes)} dimensions but the domain has {len(update.domain)}"
    last = max((d for d, n in enumerate(sizes) if n > 1), default=0)
    for d, n in enumerate(sizes[:last]):
        extent = integer_constant(update.domain[d].extent)
        if extent != n:
            given = f"{n} steps along dimension {d} of the domain, and several further out"
            return f"a slice has {given}, but that has {'no constant extent' if extent is None else extent}"
    return None
