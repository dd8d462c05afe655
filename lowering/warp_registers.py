"""Warp-tiled bodies on machines with warps: registers, shuffles, rows through shared memory, vector accesses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from xdsl.dialects import arith, gpu, memref, ub, vector
from xdsl.dialects.builtin import IntegerType, MemRefType, VectorType, i8, i32
from xdsl.ir import Attribute, SSAValue

from tilefuse.dialects.gpu_shuffle import ShuffleMode, ShuffleOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import LoadOp, MapOp, NeighboursOp, StoreOp
from tilefuse.dialects.warp.layout import Layout
from tilefuse.lowering.block_tile import PRIVATE, SHARED
from tilefuse.lowering.emit import Num
from tilefuse.lowering.warp_body import Body, Where
from tilefuse.lowering.warp_schedule import Segment, Step, layout_of, segments


class RegisterBody(Body):
    """Lowers one body."""

    def lower(self) -> None:
        """Replace the warp operations of the function."""
        e = self.e
        parts = segments(self.ops)
        for tile, layout in self.spans.items():
            name = tile.name_hint or "tile"
            self.arrays[tile] = e.alloca(layout.shape, tile.type.element, PRIVATE, f"w_{name}")  # type: ignore[attr-defined]
        exchange = self._exchange_buffers(parts)
        some = next(iter(self.spans.values()))
        for number, part in enumerate(parts):
            if number:
                e.effect(gpu.BarrierOp())
            with (
                e.loop(some.warps[0], "warp", level="thread_y") as self.warp,
                e.loop(some.lanes[0], "lane", level="thread_x") as self.lane,
            ):
                for op in part.receives:
                    self._receive(op, exchange[op])
                for load in part.loads:
                    self._load(load)
                self._sweep(part)
                for op in part.sends:
                    self._send(op, exchange[op])
        self.finish()

    # --- registers

    def load(self, tile: SSAValue, at: Where) -> SSAValue:
        array, index = self._register(tile, at)
        return self.e.load(array, index)

    def _register(self, tile: SSAValue, at: Where) -> tuple[SSAValue, list[Num]]:
        array, held = self.array(tile)
        e = self.e
        deep = [e.sub(c, low) for c, (low, _) in zip(at.deep, held.depth, strict=True)]
        return array, [*reversed(deep), e.sub(at.row, held.rows[0]), e.sub(at.column, held.columns[0])]

    def _put(self, value: SSAValue, tile: SSAValue, at: Where) -> None:
        array, index = self._register(tile, at)
        self.e.store(value, array, index)

    def _here(self, column: Num, row: Num, deep: tuple[Num, ...]) -> Where:
        return Where(self.warp, self.lane, column, row, deep)

    # --- the sweep

    def _sweep(self, part: Segment) -> None:
        with self.e.loop(part.steps, "t", unroll=True) if part.steps else _nothing() as t:
            for step in part.sweep:
                with self._at_step(t, step, part.steps) as row:
                    match step.op:
                        case NeighboursOp():
                            self._columns(step.op, row)
                        case MapOp():
                            self._map_row(step.op, row)
                        case StoreOp():
                            self._store_row(step.op, row)

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
        with self.depths(op.layout) as deep, self.e.loop(op.layout.vector, "v", unroll=True) as v:
            at = self._here(v, row, deep)
            for value, tile in zip(self.run(op.body.block, at, op.layout), op.tiles, strict=True):
                self._put(value, tile, at)

    # --- neighbours

    def _columns(self, op: NeighboursOp, row: Num) -> None:
        """The columns beside a lane's own: edge elements of its neighbours."""
        layout = layout_of(op.wider)
        left, right = layout.reach
        old_left, old_right = layout_of(op.tile).reach
        if op.exchanges_rows:
            old_left = old_right = 0
        v = layout.vector
        with self.depths(layout) as deep:
            for column in [*range(-left, -old_left), *range(v + old_right, v + right)]:
                own = self.load(op.tile, self._here(column % v, row, deep))
                mode = ShuffleMode.Up if column < 0 else ShuffleMode.Down
                value = self._shuffle(own, abs(column // v), mode, layout.lanes[0])
                self._put(value, op.wider, self._here(column, row, deep))

    def _shuffle(self, value: SSAValue, lanes: int, mode: ShuffleMode, warp: int) -> SSAValue:
        e = self.e
        narrow = value.type if isinstance(value.type, IntegerType) and value.type.width.data < 32 else None
        if narrow is not None:
            value = e.op(arith.ExtUIOp(value, i32))
        offset = e.op(arith.ConstantOp.from_int_and_width(lanes, i32))
        width = e.op(arith.ConstantOp.from_int_and_width(warp, i32))
        value = e.op(ShuffleOp(value, offset, width, mode))
        return value if narrow is None else e.op(arith.TruncIOp(value, narrow))

    # --- rows from warp to warp

    def _exchange_buffers(self, parts: Sequence[Segment]) -> dict[NeighboursOp, SSAValue]:
        """Shared memory for each exchange; rounds take turns with two pieces of it."""
        e = self.e
        shapes: dict[NeighboursOp, tuple[list[int], Attribute]] = {}
        need = [0, 0]
        for number, part in enumerate(parts):
            total = 0
            for op in part.sends:
                old, new = layout_of(op.tile), layout_of(op.wider)
                rows = new.height - old.height
                deep = [b - a for a, b in reversed(new.depth)]
                shape = [new.warps[0], *deep, rows, new.lanes[0] * new.vector]
                element = op.tile.type.element  # type: ignore[attr-defined]
                shapes[op] = (shape, element)
                total += _padded(math.prod(shape) * element_bytes(element))
            need[number % 2] = max(need[number % 2], total)
        if not any(need):
            return {}
        memory = e.alloca([sum(need)], i8, SHARED, "exchange")
        found: dict[NeighboursOp, SSAValue] = {}
        for number, part in enumerate(parts):
            start = need[0] * (number % 2)
            for op in part.sends:
                shape, element = shapes[op]
                type = MemRefType(element, shape, memory_space=memory.type.memory_space)  # type: ignore[attr-defined]
                view = memref.ViewOp(memory, e.value(start), [], type)
                found[op] = e.op(view, f"x_{op.tile.name_hint or 'tile'}")
                start += _padded(math.prod(shape) * element_bytes(element))
        return found

    def _send(self, op: NeighboursOp, buffer: SSAValue) -> None:
        """A warp's last rows, which the warp below reads above its own; then its first."""
        old, new = layout_of(op.tile), layout_of(op.wider)
        above = old.rows[0] - new.rows[0]
        rows = [*range(old.rows[1] - above, old.rows[1]), *range(new.rows[1] - old.rows[1])]
        piece = _piece(new.vector, op.tile.type.element)  # type: ignore[attr-defined]
        with self.depths(new) as deep:
            for slot, row in enumerate(rows):
                for first in range(0, new.vector, piece):
                    values = [self.load(op.tile, self._here(first + v, row, deep)) for v in range(piece)]
                    index = self._slot(new, self.warp, deep, slot, first)
                    if piece == 1:
                        self.e.store(values[0], buffer, index)
                    else:
                        self.e.effect(vector.StoreOp(self._pack(values), buffer, [self.e.value(i) for i in index]))

    def _receive(self, op: NeighboursOp, buffer: SSAValue) -> None:
        """The rows above from the warp above, those below from the warp below."""
        e = self.e
        old, new = layout_of(op.tile), layout_of(op.wider)
        above, below = old.rows[0] - new.rows[0], new.rows[1] - old.rows[1]
        up, down = e.max(e.sub(self.warp, 1), 0), e.min(e.add(self.warp, 1), new.warps[0] - 1)
        element = op.tile.type.element  # type: ignore[attr-defined]
        piece = _piece(new.vector, element)
        type = VectorType(element, [piece])
        with self.depths(new) as deep:
            for slot in range(above + below):
                row = new.rows[0] + slot if slot < above else old.rows[1] + slot - above
                for first in range(0, new.vector, piece):
                    index = self._slot(new, up if slot < above else down, deep, slot, first)
                    if piece == 1:
                        self._put(e.load(buffer, index), op.wider, self._here(first, row, deep))
                        continue
                    loaded = e.op(vector.LoadOp(buffer, [e.value(i) for i in index], type))
                    for v in range(piece):
                        value = e.op(vector.ExtractOp(loaded, [v], element))
                        self._put(value, op.wider, self._here(first + v, row, deep))

    def _slot(self, layout: Layout, warp: Num, deep: tuple[Num, ...], slot: int, column: int) -> list[Num]:
        e = self.e
        inner = [e.sub(c, low) for c, (low, _) in zip(deep, layout.depth, strict=True)]
        return [warp, *reversed(inner), slot, e.add(e.mul(self.lane, layout.vector), column)]

    def _pack(self, values: Sequence[SSAValue]) -> SSAValue:
        packed = self.e.op(ub.PoisonOp(VectorType(values[0].type, [len(values)])))
        for v, value in enumerate(values):
            packed = self.e.op(vector.InsertOp(value, packed, [v]))
        return packed

    # --- global memory

    def _load(self, op: LoadOp) -> None:
        """All rows of an input: vectors where they lie well, scalars elsewhere, guarded ones in border tiles."""
        e, layout = self.e, layout_of(op.tile)
        aligned = op.aligned

        def row_loop(emit: Callable[[Num, tuple[Num, ...]], None]) -> None:
            with self.depths(layout) as deep, e.loop(layout.height, "r", unroll=True) as r:
                emit(e.add(r, layout.rows[0]), deep)

        def together(row: Num, deep: tuple[Num, ...]) -> None:
            at = self._here(0, row, deep)
            self._load_vector(op, self.memory_index(op.indices, at, layout), at, None)

        def apart(row: Num, deep: tuple[Num, ...]) -> None:
            with e.loop(layout.vector, "v", unroll=True) as v:
                at = self._here(v, row, deep)
                self._put(e.load(op.buffer, self.memory_index(op.indices, at, layout)), op.tile, at)

        def guarded(row: Num, deep: tuple[Num, ...]) -> None:
            with e.loop(layout.vector, "v", unroll=True) as v:
                at = self._here(v, row, deep)
                self._put(self.run(op.points, at, layout)[0], op.tile, at)

        def moved(row: Num, deep: tuple[Num, ...]) -> None:
            at = self._here(0, row, deep)
            _, *found = self.run(op.rows, at, layout)
            rank = len(op.indices)
            keep = (found[rank], found[rank + 1]) if len(found) > rank else None
            self._load_vector(op, found[:rank], at, keep)

        def border() -> None:
            if aligned is None:
                row_loop(guarded)
                return
            first = self._here(0, layout.rows[0], tuple(low for low, _ in layout.depth))
            # one branch for all rows, so that all loads are on their way before the first is needed
            whole = e.both(self.run(op.rows, first, layout)[0], aligned)
            assert whole is not None
            e.choose(whole, lambda: row_loop(moved), lambda: row_loop(guarded))

        def interior() -> None:
            if aligned is None:
                row_loop(apart)
            else:
                e.choose(aligned, lambda: row_loop(together), lambda: row_loop(apart))

        if op.border is None:
            interior()
        else:
            e.choose(op.border, border, interior)

    def _load_vector(self, op: LoadOp, index: Sequence[Num], at: Where, keep: tuple[SSAValue, SSAValue] | None) -> None:
        """A lane's row; with `keep`, (condition, value where it does not hold)."""
        e, layout = self.e, layout_of(op.tile)
        element = op.tile.type.element
        type = VectorType(element, [layout.vector])
        loaded = e.op(vector.LoadOp(op.buffer, [e.value(i) for i in index], type))
        for v in range(layout.vector):
            value = e.op(vector.ExtractOp(loaded, [v], element))
            if keep is not None:
                value = e.select(keep[0], value, keep[1])
            self._put(value, op.tile, self._here(v, at.row, at.deep))

    def _store_row(self, op: StoreOp, row: Num) -> None:
        """A row of the result: the lanes in the box store vectors where they lie well, else scalars."""
        e, layout = self.e, layout_of(op.tile)
        (x0, x1), _ = op.within
        (first, left), (end, right) = (divmod(x - layout.origin[0], layout.vector) for x in (x0, x1))
        by_lanes = not left and not right
        aligned = op.aligned if by_lanes else None

        with self.depths(layout) as deep:
            at = self._here(0, row, deep)
            alive = self.in_box(op, at, columns=False)
            if by_lanes:
                lane = e.both(e.compare("sge", self.lane, first), e.compare("slt", self.lane, end))
                alive = e.both(alive, lane)

            def scalars(guard: bool) -> None:
                with e.loop(layout.vector, "v", unroll=True) as v:
                    there = self._here(v, row, deep)
                    index = self.memory_index(op.indices, there, layout)
                    inside = None if by_lanes else self.in_box(op, there, columns=True)
                    if guard:
                        inside = e.both(inside, self.in_buffer(op.buffer, index))
                    with e.when(inside):
                        e.store(self.load(op.tile, there), op.buffer, index)

            def whole() -> None:
                values = [self.load(op.tile, self._here(v, row, deep)) for v in range(layout.vector)]
                index = [e.value(i) for i in self.memory_index(op.indices, at, layout)]
                e.effect(vector.StoreOp(self._pack(values), op.buffer, index))

            def interior() -> None:
                if x0 < 0 and self._is_vector(op.buffer, layout):
                    self._store_shifted(op, row, deep)
                elif aligned is None:
                    scalars(guard=False)
                else:
                    e.choose(aligned, whole, lambda: scalars(guard=False))

            def border() -> None:
                if aligned is None:
                    scalars(guard=True)
                    return
                ends = [
                    self.in_buffer(op.buffer, self.memory_index(op.indices, self._here(v, row, deep), layout))
                    for v in (0, layout.vector - 1)
                ]
                inside = e.both(aligned, e.both(*ends))
                assert inside is not None
                e.choose(inside, whole, lambda: scalars(guard=True))

            with e.when(alive):
                e.choose(op.border, border, interior)

    def _is_vector(self, buffer: SSAValue, layout: Layout) -> bool:
        """Whether a lane's row of a buffer is one access, where it lies well."""
        type = buffer.type
        assert isinstance(type, MemRefType)
        strides = type.get_strides()
        size = layout.vector * element_bytes(type.element_type)
        return size in (2, 4, 8, 16) and layout.vector > 1 and strides is not None and strides[-1] == 1

    def _store_shifted(self, op: StoreOp, row: Num, deep: tuple[Num, ...]) -> None:
        """A row as vectors where these lie in memory: it moves up to `vector - 1` columns to the right over the lanes.

        How far is the same for all lanes of a row, so the branches are uniform; powers of two make up any distance.
        """
        e, layout = self.e, layout_of(op.tile)
        element = op.tile.type.element  # type: ignore[attr-defined]
        count = layout.vector
        shift = self._misalignment(op, row, deep)
        values = e.alloca([count], element, PRIVATE, "shifted")
        for v in range(count):
            e.store(self.load(op.tile, self._here(v, row, deep)), values, [v])
        by = 1
        while by < count:
            with e.when(e.compare("ne", e.op(arith.AndIOp(shift, e.value(by))), 0)):
                own = [e.load(values, [v]) for v in range(count)]
                across = [self._shuffle(own[v], 1, ShuffleMode.Up, layout.lanes[0]) for v in range(count - by, count)]
                for v, value in enumerate([*across, *own[: count - by]]):
                    e.store(value, values, [v])
            by *= 2
        (_, x1), _ = op.within
        first, end = (-(-(x - layout.origin[0]) // count) for x in (0, x1))
        with e.when(e.both(e.compare("sge", self.lane, first), e.compare("slt", self.lane, end))):
            index = self.memory_index(op.indices, self._here(0, row, deep), layout)
            index[-1] = e.sub(index[-1], shift)
            packed = self._pack([e.load(values, [v]) for v in range(count)])
            e.effect(vector.StoreOp(packed, op.buffer, [e.value(i) for i in index]))

    def _misalignment(self, op: StoreOp, row: Num, deep: tuple[Num, ...]) -> SSAValue:
        """Elements from the last place before a lane's row where a vector may lie; the same for all lanes."""
        e, layout = self.e, layout_of(op.tile)
        element = op.tile.type.element  # type: ignore[attr-defined]
        metadata = memref.ExtractStridedMetaDataOp(op.buffer)
        pointer = e.op(memref.ExtractAlignedPointerAsIndexOp.get(op.buffer))
        e.effect(metadata)
        first = self.memory_index(op.indices, Where(self.warp, 0, 0, row, deep), layout)
        place: Num = e.op(arith.DivUIOp(pointer, e.value(element_bytes(element))))
        for i, stride in zip(first[:-1], metadata.strides, strict=False):
            place = e.add(place, e.mul(i, stride))
        place = e.value(e.add(place, first[-1]))
        return e.op(arith.AndIOp(place, e.value(layout.vector - 1)))


def _piece(count: int, element: Attribute) -> int:
    """Elements that one access of at most 16 bytes moves, such that `count` elements take a whole number of them."""
    piece = 16 // element_bytes(element)
    while piece > 1 and (count % piece or piece * element_bytes(element) < 2):
        piece //= 2
    return max(piece, 1)


def _padded(bytes: int) -> int:
    return -(-bytes // 16) * 16


@contextmanager
def _nothing() -> Iterator[Num]:
    yield 0
