"""Storage of a body's tiles: shared arrays, and the copies that loops need.

A tile and those that hold more of it are in one array. So is what a loop carries: its argument and its result
always; the initial value where nothing else reads it; what an iteration yields where all reads of the argument come
before it. What is in another array is copied, which costs nothing where arrays become registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilefuse.dialects.warp import MapOp, NeighboursOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.execution.warp_tile.schedule import Loop, StraightLine, layout_of, unwidened


@dataclass
class Storage:
    """The arrays of a body."""

    by_segments: bool
    """Whether operations of a segment run row by row, side by side; else one after the other."""
    spans: dict[SSAValue, Layout] = field(default_factory=dict)
    """Per array, named by a tile, all that some operation holds of it."""
    _merged: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def array_of(self, tile: SSAValue) -> SSAValue:
        """Return the representative tile of a tile's array."""
        at = unwidened(tile)
        while (other := self._merged.get(at, at)) is not at:
            at = other
        return at

    def add(self, items: Sequence[StraightLine | Loop]) -> None:
        """Assign arrays to all tiles of a body."""
        for item in items:
            if isinstance(item, StraightLine):
                for op in item.ops:
                    for tile in op.results:
                        self._hold(tile)
                continue
            for init, arg, _, result in item.carried:
                self._hold(arg)
                self._merge(result, arg)
                if self._only_for(init, item, items):
                    self._merge(init, arg)
            self.add(item.body)
            yielded = [unwidened(new) for _, _, new, _ in item.carried]
            for _, arg, new, _ in item.carried:
                if yielded.count(unwidened(new)) == 1 and self._comes_after(new, arg, item):
                    self._merge(new, arg)

    def copies(self, loop: Loop, *, first: bool) -> list[tuple[SSAValue, SSAValue]]:
        """Return (from, to) of the tiles to copy before a loop or after an iteration, in parallel."""
        pairs = [(init if first else new, arg) for init, arg, new, _ in loop.carried]
        return [(a, b) for a, b in pairs if self.array_of(a) is not self.array_of(b)]

    def _hold(self, tile: SSAValue) -> None:
        at, new = self.array_of(tile), layout_of(tile)
        old = self.spans.setdefault(at, new)
        self.spans[at] = _union(old, new)

    def _merge(self, tile: SSAValue, into: SSAValue) -> None:
        a, b = self.array_of(tile), self.array_of(into)
        if a is b:
            return
        self._merged[a] = b
        # in the order of the first that holds some of it
        old = self.spans.pop(a, None)
        if old is not None:
            self.spans[b] = _union(self.spans[b], old)

    @staticmethod
    def _only_for(init: SSAValue, loop: Loop, items: Sequence[StraightLine | Loop]) -> bool:
        """Whether a loop's initial tile has its last read there, and is the initial value once."""
        ops = _ops(items)
        at = unwidened(init)
        if isinstance(at, BlockArgument) or at.owner not in ops or init is not at:
            return False
        uses = [(op, _beneath(op, ops)) for op in _readers(at)]
        own = [op for op, around in uses if around is loop.op]
        before = all(around in ops and ops[around] < ops[loop.op] for _, around in uses if around is not loop.op)
        return before and len(own) == 1 and own[0] is loop.op

    def _comes_after(self, new: SSAValue, arg: SSAValue, loop: Loop) -> bool:
        """Whether all reads of an argument precede its next value."""
        moment: dict[Operation, tuple[int, int]] = {}
        for i, item in enumerate(loop.body):
            if isinstance(item, Loop):
                moment[item.op] = (i, 0)
            elif self.by_segments:
                for n, part in enumerate(item.parts):
                    for step in part.sweep:
                        moment[step.op] = (i, n)
                    for op in part.receives:
                        moment[op] = (i, n)
            else:
                moment |= {op: (i, n) for n, op in enumerate(item.ops)}
        owner = unwidened(new).owner
        if not isinstance(owner, MapOp) or owner not in moment:
            return False
        readers = [_beneath(op, moment) for op in _readers(arg)]
        return all(op in moment and moment[op] < moment[owner] for op in readers)


def _union(a: Layout, b: Layout) -> Layout:
    return a.with_spans(
        (min(a.columns[0], b.columns[0]), max(a.columns[1], b.columns[1])),
        (min(a.rows[0], b.rows[0]), max(a.rows[1], b.rows[1])),
    )


def _ops(items: Sequence[StraightLine | Loop]) -> dict[Operation, int]:
    """Return the position of each operation of a body."""
    flat = [op for i in items for op in ([i.op] if isinstance(i, Loop) else i.ops)]
    return {op: n for n, op in enumerate(flat)}


def _readers(tile: SSAValue) -> Iterator[Operation]:
    """Return the operations that read a tile, directly or widened by `warp.neighbours`."""
    for use in tile.uses:
        yield use.operation
        if isinstance(use.operation, NeighboursOp):
            yield from _readers(use.operation.wider)


def _beneath(op: Operation, ops: Mapping[Operation, object]) -> Operation:
    """Return the operation of `ops` that is or contains this one."""
    at: Operation | None = op
    while at is not None and at not in ops:
        at = at.parent_op()
    return op if at is None else at
