"""Lowering of warp-tiled bodies for machines with warps: registers, shuffles, row exchange, vector accesses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial

from xdsl.dialects import arith, gpu
from xdsl.dialects.builtin import IntegerAttr, i8
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilefuse.dialects.gpu_shuffle import ShuffleMode
from tilefuse.dialects.warp import AtOp, MapOp, NeighboursOp, StoreOp, WarpPrefetchOp, WarpYieldOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.execution.warp_tile import pairs
from tilefuse.execution.warp_tile.body import LanePoint
from tilefuse.execution.warp_tile.exchange import Exchange, receive_rows, send_rows
from tilefuse.execution.warp_tile.layout import LANES
from tilefuse.execution.warp_tile.loads import load_tile
from tilefuse.execution.warp_tile.masks import Masks
from tilefuse.execution.warp_tile.pairs import PAIR
from tilefuse.execution.warp_tile.prefetches import prefetch_lines
from tilefuse.execution.warp_tile.registers import Registers
from tilefuse.execution.warp_tile.schedule import Loop, Segment, StraightLine, SweepStep, layout_of
from tilefuse.execution.warp_tile.stores import store_row
from tilefuse.execution.warp_tile.vector_roots import has_vector_roots
from tilefuse.execution.warp_tile.vectors import shuffle
from tilefuse.lowering.emit import PRIVATE, Num
from tilefuse.targets.limits import STATIC_SHARED_LIMIT


class RegisterBody(Registers):
    """A body in registers: its segments in order, each a sweep over rows."""

    by_segments = True

    def lower(self) -> None:
        """Replace the warp operations of the function."""
        e = self.e
        for tile, layout in self.storage.spans.items():
            name = tile.name_hint or "tile"
            element = PAIR if layout.packed == 2 else tile.type.element  # type: ignore[attr-defined]
            self.arrays[tile] = e.alloca(layout.shape, element, PRIVATE, f"w_{name}")
        if some := next(iter(self.storage.spans.values()), None):
            self.warps, self.lanes = some.warps[0], some.lanes[0]
        else:  # a body without tiles only prefetches
            self.warps = max(op.warps.value.data for op in self.ops if isinstance(op, WarpPrefetchOp))
            self.lanes = LANES
        self.upper = {tile for op in self.ops if isinstance(op, MapOp) for tile in _kept_unshifted(op)}
        self.exchange = Exchange(self.plan, e)
        # masks are shared before the first barrier of those for the rows
        self.masks = Masks(self.ops if self.exchange.bytes else [], STATIC_SHARED_LIMIT - self.exchange.bytes, e)
        self.masks.declare()
        self._emit(self.plan, 0)
        self.finish()

    def _emit(self, items: Sequence[StraightLine | Loop], exchanges: Num) -> None:
        """Emit the segments; `exchanges` is the number of exchanges before."""
        first = self.plan[0].parts[0] if isinstance(self.plan[0], StraightLine) else None
        for item in items:
            if isinstance(item, Loop):
                # rolled code is short code: the printed loop stays one
                with self.iterations(item, unroll=1) as k:
                    self._emit(item.body, self.e.add(exchanges, k) if item.rounds % 2 else exchanges)
                exchanges = self.e.add(exchanges, item.rounds * item.count)
                continue
            buffers = self.exchange.views(item, exchanges)
            for number, part in enumerate(item.parts):
                if number:
                    self.e.effect(gpu.BarrierOp())
                    self.masks.ready = self.masks.written
                with self._threads():
                    for op in part.receives:
                        receive_rows(self, op, buffers[op])
                    for load in part.loads:
                        load_tile(self, load)
                    for prefetch in part.prefetches:
                        prefetch_lines(self, prefetch)
                    for conversion in part.conversions:
                        self._all_rows(conversion)
                    if part is first:
                        self.masks.write(self.warp, self.lane)
                    self._sweep(part)
                    for op in part.sends:
                        send_rows(self, op, buffers[op])
            exchanges = self.e.add(exchanges, item.rounds)

    @contextmanager
    def _threads(self) -> Iterator[None]:
        """Emit the code of every lane of every warp."""
        with (
            self.e.loop(self.warps, "warp", level="thread_y") as self.warp,
            self.e.loop(self.lanes, "lane", level="thread_x") as self.lane,
        ):
            yield

    def copy(self, pairs: Sequence[tuple[SSAValue, SSAValue]]) -> None:
        e, layout = self.e, layout_of(pairs[0][1])
        with (
            self._threads(),
            self.depths(layout) as deep,
            e.loop(layout.height, "r", unroll=True) as r,
        ):
            read = partial(self.load_pair, stride=layout.pair_stride) if layout.packed == 2 else self.load

            def one(column: Num) -> None:
                at = self.here(column, e.add(r, layout.rows[0]), deep)
                for value, tile in [(read(source, at), tile) for source, tile in pairs]:
                    self.put(value, tile, at)

            if layout.dense:
                with e.loop(layout.width, "v", unroll=True) as v:
                    one(e.add(v, layout.columns[0]))
            else:  # between pairs that lie closer some columns may have no register
                for column in sorted({*layout.starts, *layout.between}):
                    one(column)

    def skips(self, op: Operation) -> bool:
        return self.masks.ready and op in self.masks.unneeded

    def instead(self, op: Operation, values: Mapping[SSAValue, SSAValue], at: LanePoint) -> SSAValue | None:
        if not isinstance(op, arith.SelectOp):
            return None
        return self.masks.applied(op, values.get(op.lhs, op.lhs), at)

    # --- the sweep

    def _sweep(self, part: Segment) -> None:
        # A store under a mask costs less than one in a branch. But where nothing else branches ptxas moves such stores
        # to the end of all rows, and keeps their values till then.
        maps = [step.op for step in part.sweep if isinstance(step.op, MapOp)]
        self.masks_stores = any(has_vector_roots(op.body.block) for op in maps)
        with self.e.loop(part.steps, "t", unroll=True) if part.steps else _nothing() as t:
            for step in part.sweep:
                with self._at_step(t, step, part.steps) as row:
                    match step.op:
                        case NeighboursOp():
                            self._columns(step.op, row)
                        case MapOp():
                            self._map_row(step.op, row)
                        case StoreOp():
                            store_row(self, step.op, row)

    @contextmanager
    def _at_step(self, t: Num, step: SweepStep, steps: int) -> Iterator[Num]:
        """Emit the steps at which an operation has a row; yield the row."""
        e = self.e
        condition: SSAValue | None = None
        if step.lag > 0:
            condition = e.compare("sge", t, step.lag)
        if step.end < steps:
            condition = e.both(condition, e.compare("slt", t, step.end))
        with e.when(condition):
            yield e.add(t, step.rows[0] - step.lag)

    def _all_rows(self, op: MapOp) -> None:
        with self.e.loop(op.layout.height, "r", unroll=True) as r:
            self._map_row(op, self.e.add(r, op.layout.rows[0]))

    def _map_row(self, op: MapOp, row: Num) -> None:
        e, layout = self.e, op.layout
        with self.depths(layout) as deep:
            if layout.packed == 2:
                with self.starts(layout) as v:
                    here = self.here(v, row, deep)

                    def read(at: AtOp) -> SSAValue:
                        return self.load_pair(*self._read(at, here), layout.pair_stride)

                    found = pairs.compute_pair(e, op.body.block, read)
                    for value, tile in zip(found, op.tiles, strict=True):
                        self.put(pairs.before_shift(value) if tile in self.upper else value, tile, here)
                return
            if has_vector_roots(op.body.block) and layout.vector > 1:
                places = [self.here(v, row, deep) for v in range(layout.vector)]
                for here, found in zip(places, self.run_together(op.body.block, places, layout), strict=True):
                    for value, tile in zip(found, op.tiles, strict=True):
                        self.put(value, tile, here)
                return
            # of a pair, which half is known only column by column
            of_pairs = any(self.array(o.tile)[1].packed == 2 for o in op.body.block.ops if isinstance(o, AtOp))
            with nullcontext() if of_pairs else e.loop(layout.vector, "v", unroll=True) as loop:
                for v in range(layout.vector) if loop is None else [loop]:
                    here = self.here(v, row, deep)
                    for value, tile in zip(self.run(op.body.block, here, layout), op.tiles, strict=True):
                        self.put(value, tile, here)

    def _read(self, op: AtOp, here: LanePoint) -> tuple[SSAValue, LanePoint]:
        """Return the tile, and the place in it, that a packed body reads."""
        e, (dx, dy) = self.e, op.offsets
        deep: list[Num] = []
        for d in op.deep:
            constant = d.owner
            if isinstance(constant, arith.ConstantOp):
                assert isinstance(constant.value, IntegerAttr)
                deep.append(int(constant.value.value.data))
            else:
                assert isinstance(d, BlockArgument)
                deep.append(here.deep[d.index - 2])
        return op.tile, LanePoint(here.warp, here.lane, e.add(here.column, dx), e.add(here.row, dy), tuple(deep))

    # --- neighbours

    def _columns(self, op: NeighboursOp, row: Num) -> None:
        """Fetch the columns beside a lane's own from the edges of adjacent lanes."""
        layout = layout_of(op.wider)
        there = frozenset() if op.exchanges_rows else layout_of(op.tile).between
        with self.depths(layout) as deep:
            columns = sorted(layout.between - there)
            if layout.packed == 2:
                self._pairs_between(op, columns, row, deep)
                return
            for column in columns:
                own = self.load(op.tile, self.here(column % layout.vector, row, deep))
                mode = ShuffleMode.Up if column < 0 else ShuffleMode.Down
                value = self.shuffle(own, abs(column // layout.vector), mode, layout.lanes[0])
                self.put(value, op.wider, self.here(column, row, deep))

    def _pairs_between(self, op: NeighboursOp, starts: Sequence[int], row: Num, deep: tuple[Num, ...]) -> None:
        """Build the pairs that begin between a lane's own: from another lane, or from the inner halves of two pairs."""
        e, layout = self.e, layout_of(op.wider)
        found: dict[int, SSAValue] = {}

        def pair(column: int) -> SSAValue:
            if column not in found:
                lane, own = divmod(column, layout.vector)
                if lane:
                    found[column] = self._shuffle_pair(
                        pair(own), ShuffleMode.Up if lane < 0 else ShuffleMode.Down, layout
                    )
                else:
                    found[column] = self.load_pair(op.tile, self.here(own, row, deep), layout.pair_stride)
            return found[column]

        for start in starts:
            value, *others = (pair(part) for part in layout.parts(start))
            for other in others:
                value = shuffle(e, value, other, [1, 2])
            self.put(value, op.wider, self.here(start, row, deep))

    def _shuffle_pair(self, pair: SSAValue, mode: ShuffleMode, layout: Layout) -> SSAValue:
        e = self.e
        return pairs.as_pair(e, self.shuffle(pairs.as_word(e, pair), 1, mode, layout.lanes[0]))


def _kept_unshifted(op: MapOp) -> Iterator[SSAValue]:
    """Return an operation's tiles that may be stored unshifted."""
    result = op.body.block.last_op
    assert isinstance(result, WarpYieldOp)
    for tile, value in zip(op.tiles, result.values, strict=True):
        is_byte = op.layout.packed == 2 and tile.type.element == i8
        if is_byte and pairs.is_upper_byte(value) and all(isinstance(use.operation, StoreOp) for use in tile.uses):
            yield tile


@contextmanager
def _nothing() -> Iterator[Num]:
    yield 0
