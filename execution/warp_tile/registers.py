"""Register values of a warp tile's lanes: reading, keeping, shuffling and storing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, VectorType, i1, i32
from xdsl.ir import SSAValue

from tilefuse.dialects.gpu_shuffle import ShuffleMode, ShuffleOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.execution.warp_tile import pairs
from tilefuse.execution.warp_tile.body import Body, LanePoint
from tilefuse.execution.warp_tile.schedule import layout_of
from tilefuse.execution.warp_tile.vectors import together
from tilefuse.lowering.emit import Num

RegisterPlace = tuple[Sequence[Num], SSAValue]
"""The memref indices of a value, and the value."""


class Registers(Body):
    """A body with tiles in registers: values one by one, by rows and across lanes."""

    warps: int
    lanes: int
    warp: Num
    lane: Num
    upper: set[SSAValue]
    """Tiles that are upper bytes of 16 bits, and stored only: they stay there, to be picked when stored."""
    masks_stores: bool
    """Whether stores are under masks, not in branches."""

    def load(self, tile: SSAValue, at: LanePoint) -> SSAValue:
        array, layout = self.array(tile)
        if layout.packed == 1:
            return self.e.load(array, self.register_index(layout, at))
        assert isinstance(at.column, int), "of a pair, which half is known"
        own = 0 <= at.column < layout.vector
        half = int(at.column % (2 * layout.pair_stride) >= layout.pair_stride if own else at.column > 0)
        pair = self.load_pair(tile, at.moved(-half * layout.pair_stride, self.e), layout.pair_stride)
        return pairs.half_of(self.e, pair, half, tile.type.element)  # type: ignore[attr-defined]

    def load_pair(self, tile: SSAValue, at: LanePoint, stride: int) -> SSAValue:
        """Return the values at a column and `stride` to its right, as a packed pair if the tile has it."""
        _, layout = self.array(tile)
        if layout.packed == 2:
            pair = self._pair(tile, at)
            return pairs.upper_bytes(self.e, pair) if tile in self.upper else pair
        low, high = (self.load(tile, at.moved(c, self.e)) for c in (0, stride))
        return pairs.pair_of(self.e, low, high)

    def _pair(self, tile: SSAValue, at: LanePoint) -> SSAValue:
        """Return the points in a register."""
        array, layout = self.array(tile)
        return self.e.load(array, self.register_index(layout, at))

    def register_index(self, layout: Layout, at: LanePoint) -> list[Num]:
        """Return the indices of a register in a tile's array."""
        e = self.e
        deep = [e.sub(c, low) for c, (low, _) in zip(at.deep, layout.depth, strict=True)]
        return [*reversed(deep), e.sub(at.row, layout.rows[0]), e.sub(at.column, layout.columns[0])]

    def put(self, value: SSAValue, tile: SSAValue, at: LanePoint) -> None:
        """Keep a value, or a pair, in its register."""
        array, layout = self.array(tile)
        self.e.store(value, array, self.register_index(layout, at))

    def put_points(
        self, tile: SSAValue, row: Num, deep: tuple[Num, ...], point: Callable[[LanePoint], SSAValue]
    ) -> None:
        """Keep a lane's own columns of a row, one by one."""
        e, layout = self.e, layout_of(tile)
        with self.starts(layout) as v:
            at = self.here(v, row, deep)
            value = point(at)
            if layout.packed == 2:
                value = pairs.pair_of(e, value, point(at.moved(layout.pair_stride, e)))
            self.put(value, tile, at)

    @contextmanager
    def starts(self, layout: Layout) -> Iterator[Num]:
        """Open loops over a lane's own registers; return their first columns."""
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

    def put_row(self, row: SSAValue, tile: SSAValue, at: LanePoint, keep: tuple[SSAValue, SSAValue] | None) -> None:
        """Keep a lane's own columns of a row in memory format; `keep`: (condition, value where it fails)."""
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

    def here(self, column: Num, row: Num, deep: tuple[Num, ...]) -> LanePoint:
        return LanePoint(self.warp, self.lane, column, row, deep)

    # --- between lanes

    def shuffle(self, value: SSAValue, lanes: Num, mode: ShuffleMode, warp: int) -> SSAValue:
        """Return the value of another lane: `lanes` away, or lane number `lanes`, by mode."""
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
        emit: Callable[[], Sequence[RegisterPlace]],
        *,
        masked: bool = False,
    ) -> None:
        """Store a lane's vectors and scalars from `emit` where a condition holds (None: always).

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
                value = together(e, [value])
            if isinstance(value.type, VectorType):
                mask = e.op(vector.BroadcastOp(condition, VectorType(i1, value.type.get_shape())))
                e.effect(vector.MaskedStoreOp(buffer, [e.value(i) for i in index], mask, value))
            else:
                with e.when(condition):
                    self._store(buffer, index, value)

    @contextmanager
    def stores_of_row(self, alive: SSAValue | None, *, masked: bool = False) -> Iterator[SSAValue | None]:
        """Store a row's points where `alive`; yield the remaining condition of each store.

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
        """Return a lane's own columns of a row in memory format."""
        layout = layout_of(tile)
        if layout.packed == 1:
            return together(self.e, [self.load(tile, self.here(v, row, deep)) for v in range(layout.vector)])
        upper = tile in self.upper
        places = (self.here(v, row, deep) for v in layout.starts)
        found = [self._pair(tile, at) if upper else self.load_pair(tile, at, layout.pair_stride) for at in places]
        return pairs.row_of_pairs(self.e, found, tile.type.element, layout.pair_stride, upper)  # type: ignore[attr-defined]
