"""Staged operands of a reduction: the box of each that a tile reads in a slice of the domain."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from tilefuse.analysis.index_sums import index_sum
from tilefuse.dialects.img.ops import ReadOp, UpdateOp, WriteOp
from tilefuse.dialects.img.types import FuncType, element_bytes

DomainSizes = Mapping[SSAValue, int]
"""Points of a tile per pure coordinate, and steps of a slice per coordinate of the domain; 1 where none is named."""

LEAST_USES = 2
"""Reads of an element of shared memory, on the average, that are worth to put it there."""


@dataclass(frozen=True)
class OperandAxis:
    """A dimension of an operand's box: the sum of coordinates that runs along it."""

    terms: Mapping[SSAValue, int]
    """Coordinates, and scalars that stand between the stages."""
    low: int
    """The least constant that a read adds to these."""
    high: int

    def extent(self, sizes: DomainSizes) -> int:
        """Return points of the box along this dimension."""
        return 1 + sum(abs(n) * (sizes.get(v, 1) - 1) for v, n in self.terms.items()) + self.high - self.low


@dataclass(frozen=True)
class Operand:
    """A function read at affine places: the reads that differ only by constants."""

    source: SSAValue
    axes: tuple[OperandAxis, ...]
    """x first."""
    constants: Mapping[Hashable, tuple[int, ...]]
    """Offsets of each read, per axis."""
    sizes: DomainSizes

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the box, x first."""
        return tuple(axis.extent(self.sizes) for axis in self.axes)

    @property
    def bytes(self) -> int:
        """Bytes of an element."""
        assert isinstance(self.source.type, FuncType)
        return element_bytes(self.source.type.element)

    @property
    def width(self) -> int:
        """Elements of the widest access to a row."""
        return max(1, min(4, 16 // self.bytes))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array, x last: rows are vector-aligned, and a warp's rows lie in different banks."""
        first, *others = self.extents
        if others and first > 1:
            first = -(-first // self.width) * self.width
            row = first * self.bytes // 16
            # an odd number of vectors in a row: rows below one another lie in different banks
            first += self.width if self.width > 1 and row % 2 == 0 else 0
        return (*reversed(others), first)

    @property
    def elements(self) -> int:
        """Elements of the array, for one slice."""
        return math.prod(self.shape)


def staged_operands(
    update: UpdateOp,
    sizes: DomainSizes,
    least_uses: int = LEAST_USES,
    own: Collection[ReadOp] = (),
    standing: Collection[int] = (),
) -> list[Operand]:
    """Return the operands worth staging: read `least_uses` times on average.

    `own`: reads of what the update writes over, where they see what stood there before. `standing`: functions of which
    what stands where it writes is an operand, too, named by the write and their number.
    """
    return worth_staging(affine_operands(update, own, standing), sizes, least_uses)


def worth_staging(found: Sequence[Operand], sizes: DomainSizes, least_uses: int = LEAST_USES) -> list[Operand]:
    """Filter `affine_operands` for operands that are read `least_uses` times on average by a tile of these sizes."""
    points = math.prod(sizes.values())
    sized = (replace(o, sizes=sizes) for o in found)
    return [o for o in sized if math.prod(o.extents) * least_uses <= points * len(o.constants)]


def affine_operands(update: UpdateOp, own: Collection[ReadOp] = (), standing: Collection[int] = ()) -> list[Operand]:
    """Find the functions that an update reads at affine places, without sizes yet."""
    found: dict[object, Operand] = {}
    for read in update.body.block.ops:
        if not isinstance(read, ReadOp) or read.value.type == i1:
            continue
        if read.source not in update.currents:
            _include(found, update, read, read.source, read)
        elif read in own:
            _include(found, update, read, update.old_funcs[update.currents.index(read.source)], read)  # type: ignore[arg-type]
    for number in standing:
        write = update.write_op
        if write.values[number].type != i1:
            _include(found, update, write, update.old_funcs[number], (write, number))
    return list(found.values())


def _include(
    found: dict[object, Operand], update: UpdateOp, op: ReadOp | WriteOp, source: SSAValue, name: Hashable
) -> None:
    """Add an op's read, if affine, to the operand that moves with it, or as a new one."""
    sums = [index_sum(update, x, list(op.indices)) for x in op.map.data.results]
    if not sums or None in sums:
        return
    terms = [s.terms for s in sums if s is not None]
    constants = tuple(s.constant for s in sums if s is not None)
    key = (source, *(frozenset(t.items()) for t in terms))
    if (known := found.get(key)) is None:
        axes = tuple(OperandAxis(t, c, c) for t, c in zip(terms, constants, strict=True))
        found[key] = Operand(source, axes, {name: constants}, {})
        return
    axes = tuple(
        OperandAxis(a.terms, min(a.low, c), max(a.high, c)) for a, c in zip(known.axes, constants, strict=True)
    )
    found[key] = replace(known, axes=axes, constants={**known.constants, name: constants})
