"""Common parts of both lowerings of warp-tiled bodies: points, arrays, and the ops in regions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

from xdsl.dialects import arith, func, scf
from xdsl.ir import Block, Operation, SSAValue

from tilefuse.dialects.warp import AtOp, StoreOp, WarpYieldOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.execution.warp_tile.schedule import Loop, is_tile_op, layout_of, own_rows, plan
from tilefuse.execution.warp_tile.storage import Storage
from tilefuse.execution.warp_tile.vector_roots import is_vector_root, vector_roots
from tilefuse.lowering.emit import Emitter, Num


@dataclass(frozen=True)
class LanePoint:
    """A point that a lane of a warp holds."""

    warp: Num
    lane: Num
    column: Num
    """Column, counted from the lane's first own column."""
    row: Num
    """Row, counted from the warp's first own row."""
    deep: tuple[Num, ...] = ()
    """Further coordinates."""

    def moved(self, columns: Num, e: Emitter) -> LanePoint:
        """Return the point `columns` to the right."""
        return replace(self, column=e.add(self.column, columns))

    def coordinates(self, layout: Layout, e: Emitter) -> list[Num]:
        """Return the coordinates relative to the block's tile, x first."""
        x = e.add(e.add(e.mul(self.lane, layout.vector), self.column), layout.origin[0])
        y = e.add(e.add(e.mul(self.warp, layout.pitch), self.row), layout.origin[1])
        return [x, y, *self.deep]


class Body(ABC):
    """The warp operations of one function, detached from it, and an emitter at its end."""

    by_segments: ClassVar[bool]
    """Whether operations of a segment run side by side, as `Storage` has it."""

    def __init__(self, function: func.FuncOp):
        block = function.body.block
        self.ops = [op for op in block.ops if is_tile_op(op)]
        if not self.ops:
            return
        self.plan = plan(self.ops)
        self.storage = Storage(self.by_segments)
        self.storage.add(self.plan)
        self._last = block.last_op
        assert self._last is not None
        for op in (*self.ops, self._last):
            op.detach()
        self.e = Emitter(block)
        self.arrays: dict[SSAValue, SSAValue] = {}

    def finish(self) -> None:
        """Erase the lowered operations."""
        assert self._last is not None
        self.e.effect(self._last)
        bounds = {v for op in self.ops if isinstance(op, scf.ForOp) for v in (op.lb, op.ub, op.step)}
        for op in reversed(self.ops):
            op.erase(safe_erase=False)
        for value in bounds:
            if isinstance(value.owner, arith.ConstantOp) and not value.uses:
                value.owner.detach()
                value.owner.erase()

    def array(self, tile: SSAValue) -> tuple[SSAValue, Layout]:
        """Return the array with the values of a tile, and its layout."""
        at = self.storage.array_of(tile)
        return self.arrays[at], self.storage.spans[at]

    @contextmanager
    def iterations(self, loop: Loop, unroll: int | bool = False) -> Iterator[Num]:
        """Emit the loop with its non-tile operations; return the iteration number."""
        self._copy_all(self.storage.copies(loop, first=True))
        body, e = loop.op.body.block, self.e
        with e.loop(loop.count, body.args[0].name_hint or "k", unroll=unroll) as k:
            if body.args[0].uses:
                body.args[0].replace_all_uses_with(e.value(k))
            for op in list(body.ops):
                if not is_tile_op(op) and op is not body.last_op:
                    op.detach()
                    e.effect(op)
            yield k
            self._copy_all(self.storage.copies(loop, first=False))

    def _copy_all(self, pairs: Sequence[tuple[SSAValue, SSAValue]]) -> None:
        """Copy in parallel: first into arrays that no other copy reads, then the cycles."""
        waiting = list(pairs)
        while waiting:
            read = [self.storage.array_of(source) for source, _ in waiting]
            free = next((p for p in waiting if self.storage.array_of(p[1]) not in read), None)
            self.copy([free] if free else waiting)
            waiting = [p for p in waiting if free and p is not free]

    @abstractmethod
    def copy(self, pairs: Sequence[tuple[SSAValue, SSAValue]]) -> None:
        """Copy the points of tiles of one layout into others, in parallel at each point."""

    @contextmanager
    def depths(self, layout: Layout) -> Iterator[tuple[Num, ...]]:
        """Open unrolled loops over the further coordinates."""
        with ExitStack() as stack:
            found = [
                self.e.add(stack.enter_context(self.e.loop(high - low, "c", unroll=True)), low)
                for low, high in reversed(layout.depth)
            ]
            yield tuple(reversed(found))

    def run(self, block: Block, at: LanePoint, layout: Layout) -> list[SSAValue]:
        """Compute the values that a region yields at a point."""
        return self.run_together(block, [at], layout)[0]

    def run_together(self, block: Block, places: Sequence[LanePoint], layout: Layout) -> list[list[SSAValue]]:
        """Compute a region at several points, op by op: a vector op serves all of them."""
        e = self.e
        found: list[dict[SSAValue, SSAValue]] = [
            {arg: e.value(c) for arg, c in zip(block.args, at.coordinates(layout, e), strict=True)} for at in places
        ]
        for op in block.ops:
            if isinstance(op, WarpYieldOp):
                return [[values.get(v, v) for v in op.values] for values in found]
            if len(places) > 1 and is_vector_root(op):
                arguments = [values.get(op.operands[0], op.operands[0]) for values in found]
                for values, root in zip(found, vector_roots(e, op, arguments), strict=True):
                    values[op.results[0]] = root
                continue
            for at, values in zip(places, found, strict=True):
                if isinstance(op, AtOp):
                    dx, dy = op.offsets
                    deep = tuple(values.get(d, d) for d in op.deep)
                    beside = LanePoint(at.warp, at.lane, e.add(at.column, dx), e.add(at.row, dy), deep)
                    values[op.value] = self.load(op.tile, beside)
                    continue
                if self.skips(op):
                    continue
                if (value := self.instead(op, values, at)) is not None:
                    values[op.results[0]] = value
                    continue
                copy = op.clone(values)
                e.effect(copy)
                for old, new in zip(op.results, copy.results, strict=True):
                    values[old] = new
                    new.name_hint = old.name_hint
        raise AssertionError("a region of the warp dialect ends in warp.yield")

    def skips(self, op: Operation) -> bool:
        """Whether an operation in a region is not needed."""
        return False

    def instead(self, op: Operation, values: Mapping[SSAValue, SSAValue], at: LanePoint) -> SSAValue | None:
        """Return the result of an operation in a region at a point, if it is not a copy of the op; else None."""
        return None

    @abstractmethod
    def load(self, tile: SSAValue, at: LanePoint) -> SSAValue:
        """Return the value of a tile at a point."""

    def memory_index(self, indices: Sequence[SSAValue], at: LanePoint, layout: Layout) -> list[Num]:
        """Return the memref indices of a point, from the indices of the tile's first."""
        relative = at.coordinates(layout, self.e)
        return [self.e.add(i, c) for i, c in zip(indices, reversed(relative), strict=True)]

    def in_box(self, op: StoreOp, at: LanePoint, columns: bool) -> SSAValue | None:
        """Return the condition that a point is stored; None for always. Columns are compared only on request."""
        e, layout = self.e, layout_of(op.tile)
        x, y, *_ = at.coordinates(layout, e)
        (x0, x1), (y0, y1) = op.within
        inside: SSAValue | None = None
        if columns:
            inside = e.both(e.compare("sge", x, x0), e.compare("slt", x, x1))
        if y0 > layout.origin[1] + own_rows(layout)[0]:
            inside = e.both(inside, e.compare("sge", y, y0))
        if y1 < layout.origin[1] + layout.warps[0] * layout.pitch:
            inside = e.both(inside, e.compare("slt", y, y1))
        return inside

    def is_own(self, op: StoreOp, at: LanePoint) -> SSAValue | None:
        """Return the condition that a border tile stores a column; None for always."""
        if op.first is None:
            return None
        x, *_ = at.coordinates(layout_of(op.tile), self.e)
        return self.e.compare("sge", x, op.first)

    def in_buffer(self, buffer: SSAValue, index: Sequence[Num]) -> SSAValue | None:
        """Return whether memref indices, or the first of them, lie inside the buffer."""
        e = self.e
        inside: SSAValue | None = None
        for axis, i in enumerate(index):
            inside = e.both(inside, e.within(i, e.dim(buffer, axis)))
        return inside


def has_warp_ops(function: Operation) -> bool:
    """Whether a function has warp operations to lower."""
    return isinstance(function, func.FuncOp) and any(
        is_tile_op(op) for block in function.body.blocks for op in block.ops
    )
