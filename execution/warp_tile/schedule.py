"""Schedule of a warp-tiled body's operations: segments between barriers, and sweeps over rows.

Where rows go from warp to warp, all of a tile must be there first: a barrier, which ends a segment. Within a
segment one sweep over the rows computes each operation's row as soon as its inputs are there, so that only a
window of rows is live. A loop that carries tiles is a sequence of segments of its own, between what stands before
and behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.warp import AtOp, LoadOp, MapOp, NeighboursOp, StoreOp, WarpPrefetchOp
from tilefuse.dialects.warp.layout import HalfOpen, Layout, TileType

TO_INTEGER = (arith.FPToSIOp, arith.FPToUIOp)
"""Conversions of floats that `convert-early` moves."""


def unwidened(tile: SSAValue) -> SSAValue:
    """Return the tile that a chain of `warp.neighbours` started from; the tile itself if there is none."""
    while isinstance(tile.owner, NeighboursOp):
        tile = tile.owner.tile
    return tile


def reads_of(op: Operation) -> Iterator[tuple[SSAValue, int]]:
    """Return the tiles that an operation reads, each with the row offset."""
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
    """Return the layout of a tile."""
    assert isinstance(tile.type, TileType)
    return tile.type.spread


def own_rows(layout: Layout) -> HalfOpen:
    """Return the rows that a warp stores, of the rows that it holds: the others are its neighbours' own."""
    return max(layout.rows[0], 0), min(layout.rows[1], layout.pitch)


def converts_loaded(op: MapOp) -> bool:
    """Whether an operation is the conversion of a loaded tile to integers."""
    read, *others = op.body.block.ops
    return (
        isinstance(read, AtOp)
        and isinstance(read.tile.owner, LoadOp)
        and read.offsets == (0, 0)
        and len(others) == 2
        and isinstance(others[0], TO_INTEGER)
    )


@dataclass
class SweepStep:
    """One operation in its segment's sweep."""

    op: MapOp | NeighboursOp | StoreOp
    rows: HalfOpen
    lag: int = 0
    """The step of the sweep at which its first row is computed."""

    @property
    def end(self) -> int:
        """Step after the operation's last row."""
        return self.lag + self.rows[1] - self.rows[0]


@dataclass
class Segment:
    """Operations between two barriers."""

    receives: list[NeighboursOp] = field(default_factory=list)
    loads: list[LoadOp] = field(default_factory=list)
    prefetches: list[WarpPrefetchOp] = field(default_factory=list)
    conversions: list[MapOp] = field(default_factory=list)
    """Of loaded tiles to integers, all rows at once."""
    sweep: list[SweepStep] = field(default_factory=list)
    sends: list[NeighboursOp] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Steps of the sweep."""
        return max((s.end for s in self.sweep), default=0)


def segments(ops: Sequence[Operation]) -> list[Segment]:
    """Split a body's operations into segments, in order. Tiles ready at the same time are exchanged together."""
    number: dict[SSAValue, int] = {}
    found: list[Segment] = []
    step_of: dict[SSAValue, SweepStep] = {}

    def segment(n: int) -> Segment:
        while len(found) <= n:
            found.append(Segment())
        return found[n]

    for op in ops:
        # a tile from elsewhere is there
        n = max((number.get(t, 0) for t, _ in reads_of(op)), default=0)
        if isinstance(op, NeighboursOp) and op.exchanges_rows:
            segment(n).sends.append(op)
            n += 1
            segment(n).receives.append(op)
        for result in op.results:
            number[result] = n
        if isinstance(op, LoadOp):
            segment(n).loads.append(op)
            continue
        if isinstance(op, WarpPrefetchOp):
            segment(n).prefetches.append(op)
            continue
        assert isinstance(op, MapOp | NeighboursOp | StoreOp)
        if isinstance(op, MapOp) and converts_loaded(op):
            segment(n).conversions.append(op)
            continue
        if isinstance(op, NeighboursOp) and not any(layout_of(op.wider).reach):
            continue  # nothing is left to do row by row
        rows = own_rows(layout_of(op.tile)) if isinstance(op, StoreOp) else layout_of(op.results[0]).rows
        step = SweepStep(op, rows)
        for tile, dy in reads_of(op):
            before = step_of.get(tile)
            if before is not None and number.get(tile, 0) == n:
                step.lag = max(step.lag, before.lag + step.rows[0] + dy - before.rows[0])
        for result in op.results:
            step_of[result] = step
        segment(n).sweep.append(step)
    return found


@dataclass
class StraightLine:
    """Loop-free operations."""

    ops: list[Operation]
    parts: list[Segment]

    @property
    def rounds(self) -> int:
        """Number of row exchanges: one before each segment but the first."""
        return len(self.parts) - 1


@dataclass
class Loop:
    """A loop that carries tiles from one iteration to the next."""

    op: scf.ForOp
    count: int
    body: list[StraightLine | Loop]

    @property
    def rounds(self) -> int:
        """Number of row exchanges in one iteration."""
        return rounds_of(self.body)

    @property
    def carried(self) -> list[tuple[SSAValue, BlockArgument, SSAValue, SSAValue]]:
        """Return (initial value, argument of the body, yielded value, result) of each carried tile."""
        block = self.op.body.block
        last = block.last_op
        assert last is not None
        return list(zip(self.op.iter_args, block.args[1:], last.operands, self.op.results, strict=True))


def rounds_of(items: Sequence[StraightLine | Loop]) -> int:
    """Count all row exchanges."""
    return sum(i.rounds * (i.count if isinstance(i, Loop) else 1) for i in items)


def is_tile_op(op: Operation) -> bool:
    """Whether `lower-warp-tiles` handles an operation: one on tiles, or a loop around such operations."""
    if isinstance(op, scf.ForOp):
        return any(is_tile_op(o) for o in op.body.block.ops)
    return op.dialect_name() == "warp"


def plan(ops: Sequence[Operation]) -> list[StraightLine | Loop]:
    """Split into stretches and loops, in order. PipelineError for a loop not from 0 by 1 to a constant."""
    found: list[StraightLine | Loop] = []
    waiting: list[Operation] = []

    def end() -> None:
        if waiting:
            found.append(StraightLine(list(waiting), segments(waiting)))
            waiting.clear()

    for op in ops:
        if not isinstance(op, scf.ForOp):
            waiting.append(op)
            continue
        end()
        first, count, step = (_constant(v) for v in (op.lb, op.ub, op.step))
        if first != 0 or step != 1 or count is None or count < 1:
            raise PipelineError("scf.for around operations on tiles must run from 0 by 1 to a constant, at least 1", op)
        if not all(isinstance(a.type, TileType) for a in op.iter_args):
            raise PipelineError("scf.for around operations on tiles must carry tiles only", op)
        found.append(Loop(op, count, plan([o for o in op.body.block.ops if is_tile_op(o)])))
    end()
    return found


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return int(owner.value.value.data)
    return None
