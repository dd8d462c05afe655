"""Execution model `warp_tile`: one overlapped tile per warp, held in registers; no barrier, no shared memory.

After Jangda 2020, taken to registers: lane l holds `vector` columns, the halo in x is dead lanes, neighbours
in x come by shuffles of edge elements, neighbours in y are the lane's own registers. All loads of the tile
are issued first; then one sweep over the rows computes every stage as soon as its inputs are there
(`analysis/warp_layout.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from xdsl.dialects import arith, memref, ub, vector
from xdsl.dialects.builtin import IntegerType, VectorType, i32
from xdsl.ir import Attribute, SSAValue

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import follow_chain, regions
from tilefuse.analysis.warp_layout import LANES, Held, warp_layout
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.gpu_shuffle import ShuffleMode, ShuffleOp
from tilefuse.dialects.img.ops import GroupOp, StageOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.lowering.abi import base_of, static_strides
from tilefuse.lowering.block_tile import PRIVATE
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import Buffer, Point, Resident, Tile, emit_stage, read_global


class WarpTile:
    """Emits the tile body of one group."""

    def __init__(self, group: GroupOp, model: PipelineModel, e: Emitter, tile: Tile, outputs: list[Buffer]):
        assert group.schedule is not None
        self.group, self.model, self.e, self.tile, self.outputs = group, model, e, tile, outputs
        schedule = group.schedule
        self.ids = {s: model.node_of[s.funcs[0]] for s in group.stages}
        self.output = group.output_stage
        output = self.ids[self.output]
        members = list(self.ids.values())
        self.follow = follow_chain(model, members, output)
        self.size = schedule.tile_sizes
        self.region = regions(model, members, output, self.size, self.follow)
        self.layout = warp_layout(model, members, output, self.follow, self.region, self.size, schedule.vector_width)
        self.vector = schedule.vector_width
        if self.size[0] != self.layout.width or schedule.thread_counts[0] != LANES:
            raise PipelineError(
                f"group '{group.sym_name.data}': a warp tile of {LANES} lanes x {self.vector} points with this "
                f"halo is {self.layout.width} wide, not {self.size[0]}; threads start with {LANES}",
                group,
            )
        self.rows: dict[SSAValue, list[SSAValue]] = {}

    # --- the body

    def emit(self) -> None:
        """The whole body: loads, then the sweep."""
        e, layout = self.e, self.layout
        warps = self.group.schedule.thread_counts[1]  # type: ignore[union-attr]
        with (
            e.loop(warps, "warp", level="thread_y") as warp,
            e.loop(LANES, "lane", level="thread_x") as lane,
        ):
            self.lane = lane
            self.x = e.sub(e.mul(lane, self.vector), layout.dead_left * self.vector, "x")
            self.y = e.mul(warp, self.size[1], "y")
            sources: list[tuple[SSAValue, Held, SSAValue]] = []
            for (_, source), held in layout.sources.items():
                assert isinstance(source, SSAValue)
                array = self._array(held, source.type.storage, source.name_hint or "in")
                sources.append((source, held, array))
                self.tile.staged[source] = Resident(self._loader(held, array))
            for source, held, array in sources:
                self._load_source(source, held, array)
            arrays: dict[StageOp, list[SSAValue]] = {}
            for stage, id in self.ids.items():
                if stage is self.output:
                    continue
                held = layout.stages[id]
                arrays[stage] = [self._array(held, f.type.storage, stage.sym_name.data) for f in stage.funcs]
                for f, array in zip(stage.funcs, arrays[stage], strict=True):
                    self.tile.resident[f] = Resident(self._loader(held, array))
            with e.loop(layout.steps, "t", unroll=True) as t:
                for _, held, array in sources:
                    if any(held.reach):
                        with self._at_step(t, held) as row:
                            for k in self._rest(held):
                                self._exchange(array, held, [*k, row])
                for stage, id in self.ids.items():
                    held = layout.stages[id]
                    with self._at_step(t, held) as row:
                        if stage is self.output:
                            self._output_row(held, row)
                        else:
                            self._stage_row(stage, held, row, arrays[stage])

    def _at_step(self, t: Num, held: Held):  # type: ignore[no-untyped-def]
        """Open the code of the steps at which `held` has a row; gives the row, counted from its first."""
        e = self.e
        row = e.sub(t, held.lag)
        condition: SSAValue | None = None
        if held.lag > 0:
            condition = e.compare("sge", t, held.lag)
        if held.lag + held.count < self.layout.steps:
            condition = e.both(condition, e.compare("slt", t, held.lag + held.count))
        stack = ExitStack()
        stack.enter_context(e.when(condition))

        class _Opened:
            def __enter__(self) -> Num:
                return row

            def __exit__(self, *error: object) -> None:
                stack.__exit__(*error)  # type: ignore[arg-type]

        return _Opened()

    # --- registers

    def _array(self, held: Held, element: Attribute, name: str) -> SSAValue:
        width = held.reach[0] + self.vector + held.reach[1]
        depth = [high - low + 1 for low, high in held.rest]
        return self.e.alloca([*depth[::-1], held.count, width], element, PRIVATE, f"w_{name}")

    def _loader(self, held: Held, array: SSAValue) -> Callable[[Emitter, Sequence[Num]], SSAValue]:
        def load(e: Emitter, relative: Sequence[Num]) -> SSAValue:
            x, y, *rest = relative
            column = e.add(e.sub(x, self.x), held.reach[0])
            row = e.sub(e.sub(y, self.y), held.rows[0])
            deep = [e.sub(c, low) for c, (low, _) in zip(rest, held.rest, strict=True)]
            return e.load(array, [*deep[::-1], row, column])

        return load

    def _rest(self, held: Held) -> Iterator[list[Num]]:
        """Unrolled loops over the further dimensions, last one first, as arrays index them."""
        with ExitStack() as stack:
            yield [
                stack.enter_context(self.e.loop(high - low + 1, "c", unroll=True)) for low, high in reversed(held.rest)
            ]

    def _exchange(self, array: SSAValue, held: Held, where: Sequence[Num]) -> None:
        """Fill the columns beside a lane's own with its neighbours' edge elements."""
        e, v = self.e, self.vector
        left, right = held.reach
        for j in range(-left, 0):
            e.store(
                self._shuffle(e.load(array, [*where, left + j % v]), -(j // v), ShuffleMode.Up),
                array,
                [*where, left + j],
            )
        for j in range(v, v + right):
            e.store(
                self._shuffle(e.load(array, [*where, left + j % v]), j // v, ShuffleMode.Down),
                array,
                [*where, left + j],
            )

    def _shuffle(self, value: SSAValue, lanes: int, mode: ShuffleMode) -> SSAValue:
        e = self.e
        narrow = value.type if isinstance(value.type, IntegerType) and value.type.width.data < 32 else None
        if narrow is not None:
            value = e.op(arith.ExtUIOp(value, i32))
        offset = e.op(arith.ConstantOp.from_int_and_width(lanes, i32))
        width = e.op(arith.ConstantOp.from_int_and_width(LANES, i32))
        value = e.op(ShuffleOp(value, offset, width, mode))
        return value if narrow is None else e.op(arith.TruncIOp(value, narrow))

    # --- global memory

    def _aligned(self, buffer: Buffer, bytes: int) -> SSAValue:
        """Whether the lanes' pieces of every row start at a multiple of their size."""
        e = self.e
        size = self.vector * bytes
        pointer = e.op(memref.ExtractAlignedPointerAsIndexOp.get(buffer.memref))
        metadata = memref.ExtractStridedMetaDataOp(buffer.memref)
        e.effect(metadata)
        low: Num = pointer
        for stride in list(metadata.strides)[:-1]:
            low = e.op(arith.OrIOp(e.value(low), e.value(e.mul(stride, bytes))))
        first = e.sub(e.add(self.tile.origin[0], -self.layout.dead_left * self.vector), buffer.mins[0])
        low = e.op(arith.OrIOp(e.value(low), e.value(e.mul(first, bytes))))
        rest = e.op(arith.AndIOp(e.value(low), e.value(size - 1)))
        return e.compare("eq", rest, 0)

    def _can_vectorise(self, value: SSAValue, bytes: int) -> bool:
        size = self.vector * bytes
        return self.vector > 1 and size in (2, 4, 8, 16) and static_strides(value)[0] == 1

    def _load_source(self, source: SSAValue, held: Held, array: SSAValue) -> None:
        """All rows of an input into registers: vectors in interior tiles, guarded scalars in border tiles."""
        e, tile = self.e, self.tile
        base, _ = base_of(source)
        buffer = tile.buffers[base]
        bytes = held.bytes
        left = held.reach[0]
        element = source.type.storage  # type: ignore[attr-defined]

        def where(column: Num, row: Num, k: Sequence[Num]) -> list[Num]:
            x = e.add(tile.origin[0], e.add(self.x, column))
            y = e.add(tile.origin[1], e.add(self.y, e.add(row, held.rows[0])))
            deep = [e.add(c, low) for c, (low, _) in zip(reversed(k), held.rest, strict=True)]
            return [x, y, *deep]

        def scalars(border: bool) -> None:
            for k in self._rest(held):
                with e.loop(held.count, "r", unroll=True) as row, e.loop(self.vector, "v", unroll=True) as v:
                    if border:
                        value = read_global(e, tile, source, where(v, row, k), tile.border)
                    else:
                        value = e.load(buffer.memref, buffer.index(where(v, row, k), e))
                    e.store(value, array, [*k, row, e.add(v, left)])

        def vectors() -> None:
            type = VectorType(element, [self.vector])
            for k in self._rest(held):
                with e.loop(held.count, "r", unroll=True) as row:
                    index = [e.value(i) for i in buffer.index(where(0, row, k), e)]
                    loaded = e.op(vector.LoadOp(buffer.memref, index, type))
                    for v in range(self.vector):
                        e.store(e.op(vector.ExtractOp(loaded, [v], element)), array, [*k, row, left + v])

        def interior() -> None:
            if self._can_vectorise(base, bytes):
                e.choose(self._aligned(buffer, bytes), vectors, lambda: scalars(border=False))
            else:
                scalars(border=False)

        e.choose(tile.border, lambda: scalars(border=True), interior)

    # --- rows

    def _point(self, stage: StageOp, held: Held, column: Num, row: Num, k: Sequence[Num]) -> Point:
        e = self.e
        deep = [e.add(c, low) for c, (low, _) in zip(reversed(k), held.rest, strict=True)]
        relative = [e.add(self.x, column), e.add(self.y, e.add(row, held.rows[0])), *deep]
        return Point(self.follow[self.ids[stage]], relative)

    def _stage_row(self, stage: StageOp, held: Held, row: Num, arrays: Sequence[SSAValue]) -> None:
        e = self.e
        for k in self._rest(held):
            with e.loop(self.vector, "v", unroll=True) as v:
                values = emit_stage(e, self.tile, stage, self._point(stage, held, v, row, k))
                for value, array in zip(values, arrays, strict=True):
                    e.store(value, array, [*k, row, e.add(v, held.reach[0])])
            if any(held.reach):
                for array in arrays:
                    self._exchange(array, held, [*k, row])

    def _output_row(self, held: Held, row: Num) -> None:
        e, tile = self.e, self.tile
        lane = e.value(self.lane)
        alive = e.both(
            e.compare("sge", lane, self.layout.dead_left),
            e.compare("slt", lane, LANES - self.layout.dead_right),
        )
        for k in self._rest(held):
            results = [
                e.alloca([self.vector], f.type.storage, PRIVATE, f"r_{self.output.sym_name.data}")
                for f in self.output.funcs
            ]
            with e.loop(self.vector, "v", unroll=True) as v:
                values = emit_stage(e, tile, self.output, self._point(self.output, held, v, row, k))
                for value, r in zip(values, results, strict=True):
                    e.store(value, r, [v])
            for i, buffer in enumerate(self.outputs):
                self._store_row(buffer, results[i], i, held, row, k, alive)

    def _store_row(
        self,
        buffer: Buffer,
        values: SSAValue,
        which: int,
        held: Held,
        row: Num,
        k: Sequence[Num],
        alive: SSAValue | None,
    ) -> None:
        e, tile = self.e, self.tile
        out = self.group.funcs[which]
        bytes = element_bytes(out.type.element)

        def index(v: Num) -> list[Num]:
            p = self._point(self.output, held, v, row, k)
            where = [tile.absolute(e, f, c) for f, c in zip(p.follow, p.relative, strict=True)]
            return buffer.index(where, e)

        def scalars(guard: bool) -> None:
            with e.loop(self.vector, "v", unroll=True) as v:
                at = index(v)
                inside: SSAValue | None = None
                if guard:
                    for axis, i in enumerate(at):
                        inside = e.both(inside, e.compare("sge", i, 0))
                        inside = e.both(inside, e.compare("slt", i, e.dim(buffer.memref, axis)))
                with e.when(inside):
                    e.store(e.load(values, [v]), buffer.memref, at)

        def whole() -> None:
            element = out.type.storage
            type = VectorType(element, [self.vector])
            packed = e.op(ub.PoisonOp(type))
            for v in range(self.vector):
                packed = e.op(vector.InsertOp(e.load(values, [v]), packed, [v]))
            e.effect(vector.StoreOp(packed, buffer.memref, [e.value(i) for i in index(0)]))

        def interior() -> None:
            if self._can_vectorise(out, bytes):
                e.choose(self._aligned(buffer, bytes), whole, lambda: scalars(guard=False))
            else:
                scalars(guard=False)

        with e.when(alive):
            e.choose(tile.border, lambda: scalars(guard=True), interior)

    # --- what the kernel asks before it calls the interior body

    @staticmethod
    def interior(
        group: GroupOp,
        model: PipelineModel,
        e: Emitter,
        buffers: dict[SSAValue, Buffer],
        origin: Sequence[Num],
    ) -> SSAValue | None:
        """Every load of every lane, dead ones too, lies inside its buffer."""
        plan = WarpTile(group, model, e, Tile(list(origin), e.true(), buffers, {}), [])
        warps = group.schedule.thread_counts[1]  # type: ignore[union-attr]
        layout, v = plan.layout, plan.vector
        inside: SSAValue | None = None
        for (_, source), held in layout.sources.items():
            assert isinstance(source, SSAValue)
            buffer = buffers[base_of(source)[0]]
            spans = [
                (-layout.dead_left * v, (LANES - layout.dead_left) * v - 1),
                (held.rows[0], held.rows[1] + (warps - 1) * plan.size[1]),
                *held.rest,
            ]
            for d, (low, high) in enumerate(spans):
                start = e.sub(origin[d] if d < 2 else 0, buffer.mins[d])
                inside = e.both(inside, e.compare("sge", e.add(start, low), 0))
                inside = e.both(inside, e.compare("slt", e.add(start, high), buffer.extent(d, e)))
        return inside
