"""Execution model `warp_tile`: a tile held in the registers of a block's warps, as operations on whole tiles.

After Jangda 2020, taken to registers: lane l holds `vector` columns, the halo in x is dead lanes. What each stage
computes, and what a warp takes from its neighbours, stands in the types (`dialects/warp`); `lower-warp-tiles`
then decides on registers and shuffles. The layout is that of `analysis/warp_layout.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, memref
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import follow_chain
from tilefuse.analysis.strides import rows_are_contiguous
from tilefuse.analysis.warp_layout import LANES, Held, group_layout
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import GroupOp, StageOp
from tilefuse.dialects.img.ops.stage import computes_values_only
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.dialects.warp import AtOp, LoadOp, MapOp, NeighboursOp, StoreOp, YieldOp
from tilefuse.dialects.warp.layout import Layout, TileType
from tilefuse.lowering.abi import base_of
from tilefuse.lowering.emit import INDEX, Emitter, Num
from tilefuse.lowering.reads import Buffer, Point, Resident, Tile, emit_stage, read_global, row_of


class WarpTile:
    """Emits the tile body of one group."""

    def __init__(self, group: GroupOp, model: PipelineModel, e: Emitter, tile: Tile, outputs: list[Buffer]):
        assert group.schedule is not None
        self.group, self.model, self.e, self.tile, self.outputs = group, model, e, tile, outputs
        self.ids = {s: model.node_of[s.funcs[0]] for s in group.stages}
        self.output = group.output_stage
        self.follow = follow_chain(model, list(self.ids.values()), self.ids[self.output])
        self.held = group_layout(group, model)
        # lanes outside the tile read what is not staged, too
        tile.safe_reads = True

    def emit(self) -> None:
        """The whole body: all loads, then the stages, then the stores."""
        for (_, source), held in self.held.sources.items():
            assert isinstance(source, SSAValue)
            loaded = self._load(source, held)
            self.tile.staged[source] = self._resident(self._beside(loaded, held))
        for stage, id in self.ids.items():
            held = self.held.stages[id]
            results = self._map(stage, held)
            if stage is self.output:
                self._store(results)
                continue
            for f, result in zip(stage.funcs, results, strict=True):
                self.tile.resident[f] = self._resident(self._beside(result, held))

    # --- layouts

    def _layout(self, held: Held) -> Layout:
        """Of a function as it is computed or loaded."""
        at = self.held
        return Layout(
            (-at.dead_left * at.vector, -at.top),
            (LANES, at.vector),
            (at.warps, at.pitch),
            (0, at.vector),
            (-held.above, at.pitch + held.below),
            tuple((low, high + 1) for low, high in held.rest),
        )

    def _beside(self, tile: SSAValue, held: Held) -> SSAValue:
        """`tile` with all that consumers read of it."""
        at = self.held
        assert isinstance(tile.type, TileType)
        rows = (-held.wide[0], at.pitch + held.wide[1]) if held.exchanged else None
        layout = tile.type.spread.with_spans((-held.reach[0], at.vector + held.reach[1]), rows)
        return tile if layout == tile.type.spread else self.e.op(NeighboursOp(tile, layout), tile.name_hint)

    def _resident(self, tile: SSAValue) -> Resident:
        def load(e: Emitter, relative: Sequence[Num]) -> SSAValue:
            x, y, *deep = relative
            dx, dy = e.sub(x, self.here[0]), e.sub(y, self.here[1])
            assert isinstance(dx, int)
            assert isinstance(dy, int)
            return e.op(AtOp(tile, (dx, dy), [e.value(d) for d in deep]))

        return Resident(load)

    # --- the operations

    def _region(self, rank: int, body: Callable[[list[Num]], list[SSAValue]]) -> Region:
        block = Block(arg_types=[INDEX] * rank)
        for arg, name in zip(block.args, "xyzwabcd", strict=False):
            arg.name_hint = name
        with self.e.nested(block):
            self.here: list[Num] = list(block.args)
            block.add_op(YieldOp(*body(self.here)))
        # coordinates that nothing needs
        for op in reversed(list(block.ops)):
            if op.results and computes_values_only(op) and not any(r.uses for r in op.results):
                op.detach()
                op.erase()
        return Region(block)

    def _origin(self, buffer: Buffer) -> list[SSAValue]:
        first = [*self.tile.origin[:2], *([0] * (len(buffer.mins) - 2))]
        return [self.e.value(i) for i in buffer.index(first, self.e)]

    def _absolute(self, relative: Sequence[Num]) -> list[Num]:
        x, y, *deep = relative
        return [self.e.add(self.tile.origin[0], x), self.e.add(self.tile.origin[1], y), *deep]

    def _load(self, source: SSAValue, held: Held) -> SSAValue:
        e, tile = self.e, self.tile
        base, boundaries = base_of(source)
        buffer = tile.buffers[base]
        rank = 2 + len(held.rest)
        # rows that lie well are handled by what `rows` says
        plain = not lies_well(base, self.model) and not any(b.mins for b in boundaries)
        repeated = (
            held.in_words
            and plain
            and any(0 in b.dimensions for b in boundaries)
            and all(b.kind.data is BoundaryKind.RepeatEdge for b in boundaries)
        )
        replaces = False

        def points(relative: list[Num]) -> list[SSAValue]:
            return [read_global(e, tile, source, self._absolute(relative), None)]

        def rows(relative: list[Num]) -> list[SSAValue]:
            nonlocal replaces
            found = row_of(e, tile, source, self._absolute(relative), self.held.vector)
            if found is None:
                return [e.false(), *(e.value(0) for _ in range(rank))]
            index = (e.value(i) for i in found.index)
            replaces = found.keep is not None
            return [found.whole, *index, *(found.edges or ()), *(found.keep or ())]

        aligned = self._aligned(base)
        bodies = self._region(rank, rows), self._region(rank, points)
        op = LoadOp(
            buffer.memref,
            self._origin(buffer),
            self._layout(held),
            aligned,
            tile.border,
            *bodies,
            pieces=self.held.in_pieces(held),
            partial=self.held.partial(held),
            plain=plain and not repeated,
            repeated=repeated,
            replaces=replaces,
        )
        return e.op(op, source.name_hint or base.name_hint or "in")

    def _map(self, stage: StageOp, held: Held) -> list[SSAValue]:
        def body(relative: list[Num]) -> list[SSAValue]:
            return emit_stage(self.e, self.tile, stage, Point(self.follow[self.ids[stage]], relative))

        elements: list[Attribute] = [f.type.storage for f in stage.funcs]
        op = MapOp(self._region(stage.rank, body), elements, self._layout(held))
        self.e.effect(op)
        for result in op.tiles:
            name = stage.sym_name.data
            result.name_hint = name if SSAValue.is_valid_name(name) else None
        return list(op.tiles)

    def _store(self, results: Sequence[SSAValue]) -> None:
        columns, rows = (-self.held.slack, self.held.width), (0, self.held.height)
        for buffer, f, result in zip(self.outputs, self.group.funcs, results, strict=True):
            # shifted stores find out for themselves, row by row
            aligned = None if self.held.slack else self._aligned(f)
            self.e.effect(
                StoreOp(result, buffer.memref, self._origin(buffer), columns, rows, self.tile.border, aligned)
            )

    def _aligned(self, value: SSAValue) -> SSAValue | None:
        """Whether a lane's piece of a row is one access; None if it never is."""
        return self.tile.aligned if vector_bytes(value, self.held.vector) and lies_well(value, self.model) else None

    # --- what the kernel asks before it calls the body

    @staticmethod
    def interior(
        group: GroupOp,
        model: PipelineModel,
        e: Emitter,
        buffers: dict[SSAValue, Buffer],
        origin: Sequence[Num],
    ) -> SSAValue | None:
        """Every load of every lane, dead ones too, lies inside its buffer."""
        at = group_layout(group, model)
        inside: SSAValue | None = None
        for (_, source), held in at.sources.items():
            assert isinstance(source, SSAValue)
            base, _ = base_of(source)
            buffer = buffers[base]
            beyond = held.piece if at.in_pieces(held) else 0
            spans = [
                (-at.dead_left * at.vector - beyond, (LANES - at.dead_left) * at.vector - 1 + beyond),
                (-at.top - held.above, at.height + at.bottom + held.below - 1),
                *held.rest,
            ]
            for d, (low, high) in enumerate(spans):
                start = e.sub(origin[d] if d < 2 else 0, buffer.mins[d])
                inside = e.both(inside, e.compare("sge", e.add(start, low), 0))
                inside = e.both(inside, e.compare("slt", e.add(start, high), buffer.extent(d, e)))
        return inside

    @staticmethod
    def slack(group: GroupOp, model: PipelineModel) -> int:
        """Columns left of the tile that it may store, too."""
        return group_layout(group, model).slack

    @staticmethod
    def aligned(
        group: GroupOp,
        model: PipelineModel,
        e: Emitter,
        buffers: dict[SSAValue, Buffer],
        outputs: Sequence[Buffer],
        origin: Sequence[Num],
    ) -> SSAValue | None:
        """The lanes' pieces of rows start at a multiple of their size, in all buffers where they may."""
        at = group_layout(group, model)
        bases = dict.fromkeys(base_of(source)[0] for _, source in at.sources)  # type: ignore[arg-type]
        # where the caller said that rows do not, nothing is asked
        accessed = [(b, buffers[b]) for b in bases if lies_well(b, model)]
        accessed += [(f, b) for f, b in zip(group.funcs, outputs, strict=True) if lies_well(f, model)]
        result: SSAValue | None = None
        for value, buffer in accessed:
            if not (size := vector_bytes(value, at.vector)):
                continue
            bytes = size // at.vector
            metadata = memref.ExtractStridedMetaDataOp(buffer.memref)
            pointer = e.op(memref.ExtractAlignedPointerAsIndexOp.get(buffer.memref))
            e.effect(metadata)
            first = e.add(e.sub(origin[0], buffer.mins[0]), -at.dead_left * at.vector)
            low = e.value(e.add(pointer, e.mul(first, bytes)))
            for n in list(metadata.strides)[:-1]:
                low = e.op(arith.OrIOp(low, e.value(e.mul(n, bytes))))
            rest = e.op(arith.AndIOp(low, e.value(size - 1)))
            result = e.both(result, e.compare("eq", rest, 0))
        return result


def lies_well(value: SSAValue, model: PipelineModel) -> bool:
    """Whether rows of a function in global memory may start where vectors do, as far as is known."""
    return model.nodes[model.node_of[value]].aligned


def vector_bytes(value: SSAValue, vector: int) -> int:
    """Bytes of `vector` points of a function in memory, if one access can move them; else 0."""
    assert isinstance(value.type, FuncType)
    size = vector * element_bytes(value.type.element)
    return size if vector > 1 and size in (2, 4, 8, 16) and rows_are_contiguous(value) else 0
