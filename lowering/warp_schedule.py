"""The order in which the operations of a warp-tiled body run: segments between barriers, and sweeps over rows.

Where rows go from warp to warp, all of a tile must be there first: a barrier, which ends a segment. Within a
segment one sweep over the rows computes each operation's row as soon as its inputs are there, so that only a
window of rows is live.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilefuse.dialects.warp import AtOp, LoadOp, MapOp, NeighboursOp, StoreOp
from tilefuse.dialects.warp.layout import Layout, Span, TileType


def root(tile: SSAValue) -> SSAValue:
    """The tile that others are the same as, with more held per lane."""
    while isinstance(tile.owner, NeighboursOp):
        tile = tile.owner.tile
    return tile


def reads_of(op: Operation) -> Iterator[tuple[SSAValue, int]]:
    """The tiles that an operation reads, each with the offset of the row."""
    match op:
        case MapOp():
            for inner in op.body.block.ops:
                if isinstance(inner, AtOp):
                    yield inner.tile, inner.offsets[1]
        case NeighboursOp() | StoreOp():
            yield op.tile, 0
        case _:
            return


def layout_of(tile: SSAValue) -> Layout:
    """The layout of a tile."""
    assert isinstance(tile.type, TileType)
    return tile.type.spread


@dataclass
class Step:
    """An operation in the sweep of its segment."""

    op: MapOp | NeighboursOp | StoreOp
    rows: Span
    lag: int = 0
    """The step of the sweep at which its first row is computed."""

    @property
    def end(self) -> int:
        """The step after its last row."""
        return self.lag + self.rows[1] - self.rows[0]


@dataclass
class Segment:
    """What runs between two barriers."""

    receives: list[NeighboursOp] = field(default_factory=list)
    loads: list[LoadOp] = field(default_factory=list)
    sweep: list[Step] = field(default_factory=list)
    sends: list[NeighboursOp] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Steps of the sweep."""
        return max((s.end for s in self.sweep), default=0)


def segments(ops: Sequence[Operation]) -> list[Segment]:
    """The segments of a body's operations, in order. Tiles that are ready together are exchanged together."""
    number: dict[SSAValue, int] = {}
    found: list[Segment] = []
    step_of: dict[SSAValue, Step] = {}

    def segment(n: int) -> Segment:
        while len(found) <= n:
            found.append(Segment())
        return found[n]

    for op in ops:
        n = max((number[t] for t, _ in reads_of(op)), default=0)
        if isinstance(op, NeighboursOp) and op.exchanges_rows:
            segment(n).sends.append(op)
            n += 1
            segment(n).receives.append(op)
        for result in op.results:
            number[result] = n
        if isinstance(op, LoadOp):
            segment(n).loads.append(op)
            continue
        assert isinstance(op, MapOp | NeighboursOp | StoreOp)
        if isinstance(op, NeighboursOp) and not any(layout_of(op.wider).reach):
            continue  # nothing is left to do row by row
        layout = layout_of(op.tile) if isinstance(op, StoreOp) else layout_of(op.results[0])
        step = Step(op, layout.rows)
        for tile, dy in reads_of(op):
            before = step_of.get(tile)
            if before is not None and number[tile] == n:
                step.lag = max(step.lag, before.lag + step.rows[0] + dy - before.rows[0])
        for result in op.results:
            step_of[result] = step
        segment(n).sweep.append(step)
    return found


def held_spans(ops: Sequence[Operation]) -> dict[SSAValue, Layout]:
    """Per root tile, all that some operation holds of it."""
    spans: dict[SSAValue, Layout] = {}
    for op in ops:
        for tile in op.results:
            at, new = root(tile), layout_of(tile)
            old = spans.setdefault(at, new)
            spans[at] = new.with_spans(
                (min(old.columns[0], new.columns[0]), max(old.columns[1], new.columns[1])),
                (min(old.rows[0], new.rows[0]), max(old.rows[1], new.rows[1])),
            )
    return spans
