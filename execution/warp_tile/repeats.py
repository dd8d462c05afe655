"""Detection of repeated operations on tiles: `a b a b a b`, each repetition reading results of the one before.

Two operations are the same if they differ in nothing but the tiles that they read. A run repeats if, besides, each
such tile is the same in all repetitions, or made by the same repetition, or made by the one so many before.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.traits import is_side_effect_free

from tilefuse.dialects.warp import MapOp, NeighboursOp
from tilefuse.dialects.warp.layout import TileType


@dataclass(frozen=True)
class Carried:
    """A tile of one repetition that later repetitions read."""

    distance: int
    """Number of repetitions between the tile and its reader."""
    op: int
    """The operation that makes it, counted in its repetition."""
    result: int
    inits: tuple[SSAValue, ...]
    """Values that the first `distance` repetitions read instead."""

    @property
    def nearer(self) -> Carried:
        """Return the tile as seen from the previous repetition."""
        return Carried(self.distance - 1, self.op, self.result, self.inits[1:])


@dataclass(frozen=True)
class Repeat:
    """ops[first], ..., of `count` repetitions of `period` operations."""

    first: int
    period: int
    count: int
    carried: tuple[Carried, ...]
    uses: tuple[Carried | None, ...]
    """For each use of a tile in a repetition, in order, what it is of what is carried; None for other tiles."""

    @property
    def end(self) -> int:
        """Index after the last operation."""
        return self.first + self.period * self.count

    @property
    def saved(self) -> int:
        """Number of operations that a loop saves."""
        return self.period * (self.count - 1)


def find_repeat(ops: Sequence[Operation], least: int) -> Repeat | None:
    """Find the run of at least `least` repetitions that saves most; among equals the first of the shortest period."""
    kinds: dict[Hashable, int] = {}
    same = [kinds.setdefault(_kind(op), len(kinds)) for op in ops]
    rolls = [isinstance(op, MapOp | NeighboursOp) for op in ops]
    best: Repeat | None = None
    for period in range(1, len(ops) // least + 1):
        first = 0
        while first + least * period <= len(ops):
            end = first
            while end < len(ops) and rolls[end] and (end < first + period or same[end] == same[end - period]):
                end += 1
            count = (end - first) // period
            while count >= least and (best is None or period * (count - 1) > best.saved):
                if (found := repeat_of(ops, first, period, count)) is not None:
                    best = found
                    break
                count -= 1
            first += 1
    return best


def tile_uses(op: Operation) -> Iterator[tuple[Operation, int]]:
    """Yield the uses of tiles by an operation and its regions: (operation, operand index)."""
    for inner in op.walk():
        for i, operand in enumerate(inner.operands):
            if isinstance(operand.type, TileType):
                yield inner, i


def repeat_of(ops: Sequence[Operation], first: int, period: int, count: int) -> Repeat | None:
    """Analyse ops[first], ... as repetitions that read each other uniformly; None if they are not."""
    place = {op: i for i, op in enumerate(ops[first : first + period * count])}

    def made(value: SSAValue) -> tuple[int, int, int] | None:
        """Return (repetition, operation, result) of a tile that the run computes."""
        if not isinstance(value, OpResult) or (at := place.get(value.op)) is None:
            return None
        return (*divmod(at, period), value.index)

    sequences = [
        [user.operands[i] for op in ops[first + k * period : first + (k + 1) * period] for user, i in tile_uses(op)]
        for k in range(count)
    ]
    uses: list[Carried | None] = []
    for values in zip(*sequences, strict=True):
        last = made(values[-1])
        if last is None:
            if any(v is not values[0] for v in values):
                return None
            uses.append(None)
            continue
        distance = count - 1 - last[0]
        if any(made(v) != (k - distance, *last[1:]) for k, v in enumerate(values) if k >= distance):
            return None
        if any(made(v) is not None for v in values[:distance]):
            return None
        uses.append(Carried(distance, *last[1:], tuple(values[:distance])) if distance else None)
    carried = dict.fromkeys(use for use in uses if use is not None)
    for one in list(carried):
        while one.distance > 1:
            carried[one := one.nearer] = None
    # what is read after the run must be what a loop ends with
    ends = {(count - c.distance, c.op, c.result) for c in carried}
    for op in place:
        for result in op.results:
            if made(result) not in ends and any(not _is_in(use.operation, place) for use in result.uses):
                return None
    return Repeat(first, period, count, tuple(carried), tuple(uses))


def _is_in(op: Operation, ops: dict[Operation, int]) -> bool:
    at: Operation | None = op
    while at is not None:
        if at in ops:
            return True
        at = at.parent_op()
    return False


def _kind(op: Operation) -> Hashable:
    """Return a key that is equal for operations that differ only in the tiles that they read."""
    inside: dict[SSAValue, int] = {}

    def operand(value: SSAValue) -> Hashable:
        if isinstance(value.type, TileType):
            return value.type
        return inside[value] if value in inside else outside_key(value)

    def of(one: Operation) -> Hashable:
        key = (
            one.name,
            tuple(operand(v) for v in one.operands),
            tuple(sorted(one.properties.items(), key=lambda item: item[0])),
            tuple(sorted(one.attributes.items(), key=lambda item: item[0])),
            tuple(r.type for r in one.results),
            tuple(region(r) for r in one.regions),
        )
        for result in one.results:
            inside[result] = len(inside)
        return key

    def block(one: Block) -> Hashable:
        for arg in one.args:
            inside[arg] = len(inside)
        return (tuple(a.type for a in one.args), tuple(of(o) for o in one.ops))

    def region(one: Region) -> Hashable:
        return tuple(block(b) for b in one.blocks)

    return of(op)


def outside_key(value: SSAValue) -> Hashable:
    """Return a key of an outside value, by its operation and operands, so that equal constants are equal."""
    if isinstance(value, OpResult) and not value.op.regions and is_side_effect_free(value.op):
        properties = tuple(sorted(value.op.properties.items(), key=lambda item: item[0]))
        return (value.op.name, properties, value.type, value.index, tuple(outside_key(v) for v in value.op.operands))
    return value
