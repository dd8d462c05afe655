"""Warp-tiled bodies on machines with warps: registers, shuffles, rows through shared memory, vector accesses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial

from xdsl.dialects import arith, gpu, vector
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerAttr, IntegerType, VectorType, i1, i8, i32
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilefuse.dialects.gpu_shuffle import ShuffleMode, ShuffleOp
from tilefuse.dialects.warp import AtOp, MapOp, NeighboursOp, PrefetchOp, StoreOp, YieldOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.execution.warp_tile import pairs
from tilefuse.execution.warp_tile.body import Body, Where
from tilefuse.execution.warp_tile.exchange import Exchange, receive_rows, send_rows
from tilefuse.execution.warp_tile.layout import LANES
from tilefuse.execution.warp_tile.loads import load_tile
from tilefuse.execution.warp_tile.masks import Masks
from tilefuse.execution.warp_tile.pairs import PAIR
from tilefuse.execution.warp_tile.prefetches import prefetch_lines
from tilefuse.execution.warp_tile.schedule import Loop, Segment, Step, Stretch, layout_of
from tilefuse.execution.warp_tile.stores import store_row
from tilefuse.execution.warp_tile.vector_roots import has_vector_roots
from tilefuse.lowering.emit import PRIVATE, Num
from tilefuse.targets.limits import STATIC_SHARED_LIMIT

Place = tuple[Sequence[Num], SSAValue]
"""The memref indices of a value, and the value."""


class RegisterBody(Body):
    """Lowers one body."""

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
        else:  # a body without tiles only asks for some ahead of time
            self.warps = max(op.warps.value.data for op in self.ops if isinstance(op, PrefetchOp))
            self.lanes = LANES
        self.upper = {tile for op in self.ops if isinstance(op, MapOp) for tile in _kept_unshifted(op)}
        """Tiles that are upper bytes of 16 bits, and stored only: they stay there, to be picked when stored."""
        self.exchange = Exchange(self.plan, e)
        # masks are shared before the first barrier of those for the rows
        self.masks = Masks(self.ops if self.exchange.bytes else [], STATIC_SHARED_LIMIT - self.exchange.bytes, e)
        self.masks.declare()
        self._emit(self.plan, 0)
        self.finish()

    def _emit(self, items: Sequence[Stretch | Loop], turn: Num) -> None:
        """`turn`: how many rounds of exchange there have been."""
        first = self.plan[0].parts[0] if isinstance(self.plan[0], Stretch) else None
        for item in items:
            if isinstance(item, Loop):
                # rolled code is short code: the printed loop stays one
                with self.iterations(item, unroll=1) as k:
                    self._emit(item.body, self.e.add(turn, k) if item.rounds % 2 else turn)
                turn = self.e.add(turn, item.rounds * item.count)
                continue
            buffers = self.exchange.views(item, turn)
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
                    if part is first:
                        self.masks.write(self.warp, self.lane)
                    self._sweep(part)
                    for op in part.sends:
                        send_rows(self, op, buffers[op])
            turn = self.e.add(turn, item.rounds)

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
            else:  # between pairs that lie closer some may not be held
                for column in sorted({*layout.starts, *layout.between}):
                    one(column)

    def skips(self, op: Operation) -> bool:
        return self.masks.ready and op in self.masks.unneeded

    def instead(self, op: Operation, values: Mapping[SSAValue, SSAValue], at: Where) -> SSAValue | None:
        if not isinstance(op, arith.SelectOp):
            return None
        return self.masks.applied(op, values.get(op.lhs, op.lhs), at)

    # --- registers

    def load(self, tile: SSAValue, at: Where) -> SSAValue:
        array, held = self.array(tile)
        if held.packed == 1:
            return self.e.load(array, self.register_index(held, at))
        assert isinstance(at.column, int), "of a pair, which half is known"
        own = 0 <= at.column < held.vector
        half = int(at.column % (2 * held.pair_stride) >= held.pair_stride if own else at.column > 0)
        pair = self.load_pair(tile, at.moved(-half * held.pair_stride, self.e), held.pair_stride)
        return pairs.half_of(self.e, pair, half, tile.type.element)  # type: ignore[attr-defined]

    def load_pair(self, tile: SSAValue, at: Where, stride: int) -> SSAValue:
        """The values at a column and `stride` to its right, as the tile's pairs lie if it has any."""
        _, held = self.array(tile)
        if held.packed == 2:
            pair = self._pair(tile, at)
            return pairs.upper_bytes(self.e, pair) if tile in self.upper else pair
        low, high = (self.load(tile, at.moved(c, self.e)) for c in (0, stride))
        return pairs.pair_of(self.e, low, high)

    def _pair(self, tile: SSAValue, at: Where) -> SSAValue:
        """Points that the register holds."""
        array, held = self.array(tile)
        return self.e.load(array, self.register_index(held, at))

    def register_index(self, held: Layout, at: Where) -> list[Num]:
        """Of a register in the array of a tile."""
        e = self.e
        deep = [e.sub(c, low) for c, (low, _) in zip(at.deep, held.depth, strict=True)]
        return [*reversed(deep), e.sub(at.row, held.rows[0]), e.sub(at.column, held.columns[0])]

    def put(self, value: SSAValue, tile: SSAValue, at: Where) -> None:
        """Keep a value, or a pair of them, in its register."""
        array, held = self.array(tile)
        self.e.store(value, array, self.register_index(held, at))

    def put_points(self, tile: SSAValue, row: Num, deep: tuple[Num, ...], point: Callable[[Where], SSAValue]) -> None:
        """A lane's own columns of a row, one by one."""
        e, layout = self.e, layout_of(tile)
        with self._starts(layout) as v:
            at = self.here(v, row, deep)
            value = point(at)
            if layout.packed == 2:
                value = pairs.pair_of(e, value, point(at.moved(layout.pair_stride, e)))
            self.put(value, tile, at)

    @contextmanager
    def _starts(self, layout: Layout) -> Iterator[Num]:
        """Loops over a lane's own registers; gives the columns at which they begin."""
        e = self.e
        if layout.dense:
            with e.loop(len(layout.starts), "v", unroll=True) as v:
                yield v
            return
        with (
            e.loop(layout.vector // (2 * layout.pair_stride), "u", unroll=True) as u,
            e.loop(layout.pair_stride, "v", unroll=True) as v,
        ):
            yield e.add(e.mul(u, 2 * layout.pair_stride), v)

    def put_row(self, row: SSAValue, tile: SSAValue, at: Where, keep: tuple[SSAValue, SSAValue] | None) -> None:
        """A lane's own columns of a row, as they lie in memory; with `keep`, (condition, value where not)."""
        e, layout = self.e, layout_of(tile)
        element = tile.type.element  # type: ignore[attr-defined]
        if layout.packed == 2:
            values = pairs.split_row(e, row, layout.pair_stride)
            other = keep and pairs.pair_of(e, keep[1], keep[1])
        else:
            values = [e.extract(row, v, element) for v in range(layout.vector)]
            other = keep and keep[1]
        for v, value in zip(layout.starts, values, strict=True):
            if keep is not None:
                assert other is not None
                value = e.select(keep[0], value, other)
            self.put(value, tile, self.here(v, at.row, at.deep))

    def here(self, column: Num, row: Num, deep: tuple[Num, ...]) -> Where:
        return Where(self.warp, self.lane, column, row, deep)

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
    def _at_step(self, t: Num, step: Step, steps: int) -> Iterator[Num]:
        """The code of the steps at which an operation has a row; gives the row."""
        e = self.e
        condition: SSAValue | None = None
        if step.lag > 0:
            condition = e.compare("sge", t, step.lag)
        if step.end < steps:
            condition = e.both(condition, e.compare("slt", t, step.end))
        with e.when(condition):
            yield e.add(t, step.rows[0] - step.lag)

    def _map_row(self, op: MapOp, row: Num) -> None:
        e, layout = self.e, op.layout
        with self.depths(layout) as deep:
            if layout.packed == 2:
                with self._starts(layout) as v:
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

    def _read(self, op: AtOp, here: Where) -> tuple[SSAValue, Where]:
        """The tile, and the place in it, that a packed body reads."""
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
        return op.tile, Where(here.warp, here.lane, e.add(here.column, dx), e.add(here.row, dy), tuple(deep))

    # --- neighbours

    def _columns(self, op: NeighboursOp, row: Num) -> None:
        """The columns beside a lane's own: edge elements of its neighbours."""
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
        """Pairs that begin where none of a lane's own does: another lane's, or of two pairs the inner halves."""
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
                value = pairs.shuffle(e, value, other, [1, 2])
            self.put(value, op.wider, self.here(start, row, deep))

    def _shuffle_pair(self, pair: SSAValue, mode: ShuffleMode, layout: Layout) -> SSAValue:
        e = self.e
        return pairs.as_pair(e, self.shuffle(pairs.as_word(e, pair), 1, mode, layout.lanes[0]))

    def shuffle(self, value: SSAValue, lanes: Num, mode: ShuffleMode, warp: int) -> SSAValue:
        """The value of a lane so many lanes away, or of that lane, as the mode says."""
        e = self.e
        narrow = value.type if isinstance(value.type, IntegerType) and value.type.width.data < 32 else None
        if narrow is not None:
            value = e.op(arith.ExtUIOp(value, i32))
        if isinstance(lanes, int):
            offset = e.op(arith.ConstantOp.from_int_and_width(lanes, i32))
        else:
            offset = e.op(arith.IndexCastOp(lanes, i32))
        width = e.op(arith.ConstantOp.from_int_and_width(warp, i32))
        value = e.op(ShuffleOp(value, offset, width, mode))
        return value if narrow is None else e.op(arith.TruncIOp(value, narrow))

    # --- global memory

    def store_where(
        self,
        buffer: SSAValue,
        condition: SSAValue | None,
        emit: Callable[[], Sequence[Place]],
        *,
        masked: bool = False,
    ) -> None:
        """Store what `emit` gives, vectors and scalars of a lane, where a condition holds (None: always).

        That is a branch; `masked`, or where the body masks all stores, a mask for each vector.
        """
        e = self.e
        if condition is None or not (self.masks_stores or masked):
            with e.when(condition):
                for index, value in emit():
                    self._store(buffer, index, value)
            return
        for index, value in emit():
            if isinstance(value.type, Float32Type | Float64Type):
                value = pairs.together(e, [value])
            if isinstance(value.type, VectorType):
                mask = e.op(vector.BroadcastOp(condition, VectorType(i1, value.type.get_shape())))
                e.effect(vector.MaskedStoreOp(buffer, [e.value(i) for i in index], mask, value))
            else:
                with e.when(condition):
                    self._store(buffer, index, value)

    @contextmanager
    def stores_of_row(self, alive: SSAValue | None, *, masked: bool = False) -> Iterator[SSAValue | None]:
        """Store a row's points where `alive`; gives the condition that each store is still under.

        Without masks that is a branch, which keeps rows apart, and with them the registers that each needs.
        """
        if self.masks_stores or masked:
            yield alive
            return
        with self.e.when(alive):
            yield None

    def _store(self, buffer: SSAValue, index: Sequence[Num], value: SSAValue) -> None:
        if isinstance(value.type, VectorType):
            self.e.effect(vector.StoreOp(value, buffer, [self.e.value(i) for i in index]))
        else:
            self.e.store(value, buffer, index)

    def row(self, tile: SSAValue, row: Num, deep: tuple[Num, ...]) -> SSAValue:
        """A lane's own columns of a row, as they lie in memory."""
        layout = layout_of(tile)
        if layout.packed == 1:
            return pairs.together(self.e, [self.load(tile, self.here(v, row, deep)) for v in range(layout.vector)])
        upper = tile in self.upper
        places = (self.here(v, row, deep) for v in layout.starts)
        found = [self._pair(tile, at) if upper else self.load_pair(tile, at, layout.pair_stride) for at in places]
        return pairs.row_of_pairs(self.e, found, tile.type.element, layout.pair_stride, upper)  # type: ignore[attr-defined]


def _kept_unshifted(op: MapOp) -> Iterator[SSAValue]:
    """The tiles of an operation whose elements need not be shifted before they are stored."""
    result = op.body.block.last_op
    assert isinstance(result, YieldOp)
    for tile, value in zip(op.tiles, result.values, strict=True):
        is_byte = op.layout.packed == 2 and tile.type.element == i8
        if is_byte and pairs.is_upper_byte(value) and all(isinstance(use.operation, StoreOp) for use in tile.uses):
            yield tile


@contextmanager
def _nothing() -> Iterator[Num]:
    yield 0
