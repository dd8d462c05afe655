"""Execution model `warp_tile`: a tile held in the registers of a block's warps, as operations on whole tiles.

After Jangda 2020, taken to registers: lane l holds `vector` columns, the halo in x is dead lanes. What each stage
computes, and what a warp takes from its neighbours, stands in the types (`dialects/warp`); `lower-warp-tiles`
then decides on registers and shuffles. The layout is that of `execution/warp_tile/layout.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence

from xdsl.dialects import arith, memref
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import follow_chain
from tilefuse.analysis.strides import rows_are_contiguous
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import EVEN, GroupOp, StageOp
from tilefuse.dialects.img.ops.stage import computes_values_only
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.dialects.naming import value_name
from tilefuse.dialects.warp import AtOp, LoadOp, MapOp, NeighboursOp, PrefetchOp, StoreOp, YieldOp
from tilefuse.dialects.warp.layout import Layout, TileType
from tilefuse.dialects.warp.memory import is_one_access
from tilefuse.execution.warp_tile.layout import LANES, Held, group_layout
from tilefuse.lowering.abi import origin_alignment
from tilefuse.lowering.emit import INDEX, Emitter, Num
from tilefuse.lowering.reads import (
    Buffer,
    Point,
    Resident,
    Tile,
    emit_stage,
    fit_between,
    locate,
    read_global,
    row_of,
)

_CLAMPING = (BoundaryKind.RepeatEdge, BoundaryKind.ConstantExterior)


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
        if below := self.rows_ahead(self.group, self.model) * self.held.height:
            self.emit_ahead(below)
        for stage, id in self.ids.items():
            held = self.held.stages[id]
            results = self._map(stage, held)
            if stage is self.output:
                self._store(results)
                continue
            for f, result in zip(stage.funcs, results, strict=True):
                self.tile.resident[f] = self._resident(self._beside(result, held))

    def emit_ahead(self, below: int = 0) -> None:
        """Ask for what the tile so many rows below has as its own of the pipeline's inputs.

        What it reads beside its own points is asked for with the tiles whose own that is.
        """
        boxes: dict[SSAValue, list[tuple[int, int]]] = {}
        for base, spans in self.reads(self.group, self.model):
            old = boxes.get(base, spans)
            boxes[base] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(old, spans, strict=True)]
        for base, ((x0, x1), (y0, y1), *rest) in boxes.items():
            if not self.model.nodes[self.model.node_of[base]].is_asked_for:
                continue
            buffer = self.tile.buffers[base]
            for deep in itertools.product(*(range(low, high + 1) for low, high in rest)):
                first = [*self.tile.origin[:2], *deep]
                indices = [self.e.value(i) for i in buffer.index(first, self.e)]
                columns, (top, bottom) = _own(x0, x1 + 1, self.held.width), _own(y0, y1 + 1, self.held.height)
                rows = (top + below, bottom + below)
                self.e.effect(PrefetchOp(buffer.memref, indices, columns, rows, self.held.warps))

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
        for d, arg in enumerate(block.args):
            arg.name_hint = letter(d)
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
        base, _ = behind_boundaries(source)
        buffer = tile.buffers[base]
        rank = 2 + len(held.rest)
        replaces = False

        def points(relative: list[Num]) -> list[SSAValue]:
            return [read_global(e, tile, source, self._absolute(relative), None)]

        def rows(relative: list[Num]) -> list[SSAValue]:
            nonlocal replaces
            found = row_of(e, tile, source, self._absolute(relative), self.held.vector)
            assert found is not None
            replaces = found.keep is not None
            return [*(e.value(i) for i in found.index), *(found.edges or ()), *(found.keep or ())]

        in_rows = self._region(rank, rows) if may_be_whole(source, held, self.held.vector) else None
        op = LoadOp(
            buffer.memref,
            self._origin(buffer),
            self._layout(held),
            self._aligned(base),
            tile.border,
            self._region(rank, points),
            None if in_rows is None else tile.whole,
            in_rows,
            None if in_rows is None else tile.sides,
            pieces=self.held.in_pieces(held),
            partial=self.held.partial(held),
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
            result.name_hint = value_name(name)
        return list(op.tiles)

    def _store(self, results: Sequence[SSAValue]) -> None:
        e, at = self.e, self.held
        columns, rows = (-at.slack, at.width), (0, at.height)
        first: SSAValue | None = None
        if self.moves_in(self.group, self.model, list(self.tile.aligned)):
            # what a tile that has been moved overlaps is the other one's: versions may differ in how they round
            x = e.sub(self.tile.origin[0], self.outputs[0].mins[0])
            first = e.value(e.sub(e.mul(e.ceildiv(x, at.width), at.width), x))
        for buffer, f, result in zip(self.outputs, self.group.funcs, results, strict=True):
            # shifted stores find out for themselves, row by row
            aligned = None if at.slack else self._aligned(f)
            # nor can they tell beforehand which lanes' columns lie in the picture
            whole = None if at.slack else self.tile.whole
            store = StoreOp(
                result, buffer.memref, self._origin(buffer), columns, rows, self.tile.border, aligned, whole, first,
                self.tile.sides if at.slack else None,
            )  # fmt: skip
            e.effect(store)

    def _aligned(self, value: SSAValue) -> SSAValue | None:
        """Whether a lane's piece of a row is one access; None if it never is."""
        return self.tile.aligned.get(value)

    # --- what the kernel asks before it calls the body

    @staticmethod
    def rows_ahead(group: GroupOp, model: PipelineModel) -> int:
        """The schedule's `ahead`; 0 if the group reads no rows of the pipeline's inputs."""
        assert group.schedule is not None
        if not group.schedule.rows_ahead:
            return 0
        read = (model.nodes[model.node_of[base]] for base, _ in WarpTile.reads(group, model))
        return group.schedule.rows_ahead if any(node.is_asked_for for node in read) else 0

    @staticmethod
    def reads(group: GroupOp, model: PipelineModel) -> Iterator[tuple[SSAValue, list[tuple[int, int]]]]:
        """What the loads of all lanes, dead ones too, reach in each buffer: in x and y from the tile's origin."""
        at = group_layout(group, model)
        for (_, source), held in at.sources.items():
            assert isinstance(source, SSAValue)
            beyond = held.piece if at.in_pieces(held) else 0
            columns = (-at.dead_left * at.vector - beyond, (LANES - at.dead_left) * at.vector - 1 + beyond)
            rows = (-at.top - held.above, at.height + at.bottom + held.below - 1)
            yield behind_boundaries(source)[0], [columns, rows, *held.rest]

    @staticmethod
    def whole(
        group: GroupOp, model: PipelineModel, e: Emitter, tile: Tile, outputs: Sequence[Buffer]
    ) -> SSAValue | None:
        """In a border tile, each lane's columns of a row lie inside or outside together, of all inputs and results.

        None where that is never so.
        """
        at = group_layout(group, model)
        if at.vector & (at.vector - 1):
            return None
        x = e.add(tile.origin[0], -at.dead_left * at.vector)
        result: SSAValue | None = None
        for (_, source), held in at.sources.items():
            assert isinstance(source, SSAValue)
            if not may_be_whole(source, held, at.vector):
                continue
            top = e.add(tile.origin[1], -at.top - held.above)
            row = row_of(e, tile, source, [x, top, *(low for low, _ in held.rest)], at.vector, LANES)
            assert row is not None
            result = e.both(result, row.whole)
            if held.in_words:
                # what lies beside a row is in the buffer, but before its first and behind its last
                metadata = memref.ExtractStridedMetaDataOp(tile.buffers[behind_boundaries(source)[0]].memref)
                e.effect(metadata)
                for stride in list(metadata.strides)[:-1]:
                    result = e.both(result, e.compare("sge", stride, held.piece))
        if not at.slack:
            for out in outputs:
                offset, extent = e.sub(tile.origin[0], out.mins[0]), out.extent(0, e)
                result = e.both(result, fit_between(e, offset, extent, at.vector, at.width // at.vector))
        return e.true() if result is None else result

    @staticmethod
    def has_sides(group: GroupOp, model: PipelineModel, asked: Sequence[SSAValue]) -> bool:
        """Whether tiles at the sides of the picture alone have a version of their own.

        Where rows lie anywhere these take longer than others. A single wave waits for the slowest of its tiles.
        """
        at = group_layout(group, model)
        if EVEN not in group.attributes or any(h.rest for h in at.sources.values()):
            return False  # planes may be moved, too, and lie otherwise then
        if at.vector & (at.vector - 1) or not WarpTile.moves_in(group, model, asked):
            return False
        whole = [isinstance(s, SSAValue) and may_be_whole(s, h, at.vector) for (_, s), h in at.sources.items()]
        return all(whole) and any(map(at.in_pieces, at.sources.values()))

    @staticmethod
    def at_sides(
        group: GroupOp, model: PipelineModel, e: Emitter, tile: Tile, outputs: Sequence[Buffer]
    ) -> SSAValue | None:
        """Whether a tile of which each lane's columns are whole lies at the sides alone (`Tile.sides`)."""
        at = group_layout(group, model)
        x = e.add(tile.origin[0], -at.dead_left * at.vector)
        result: SSAValue | None = None
        for (_, source), held in at.sources.items():
            assert isinstance(source, SSAValue)
            base, boundaries = behind_boundaries(source)
            buffer = tile.buffers[base]
            # where none is of another box, a row that is in the buffer is not moved
            plain = not any(b.mins or b.kind.data not in _CLAMPING for b in boundaries if 1 in b.dimensions)
            top = e.add(tile.origin[1], -at.top - held.above)
            bottom = e.add(tile.origin[1], at.height + at.bottom + held.below - 1)
            # lanes outside are read up to two vectors further, which another row has
            for y, near, row_near in ((top, "sge", 1), (bottom, "slt", e.sub(buffer.extent(1, e), 1))):
                row = e.sub(y, buffer.mins[1])
                result = e.both(result, e.compare(near, row, row_near))
                if plain:
                    continue
                found = locate(e, tile, source, [x, y], None)
                result = e.both(result, e.compare("eq", found.index[-2], row))
                for conditions, _ in found.inside:
                    result = e.both(result, conditions.get(1))
            metadata = memref.ExtractStridedMetaDataOp(buffer.memref)
            e.effect(metadata)
            for stride in list(metadata.strides)[:-1]:
                result = e.both(result, e.compare("sge", stride, 2 * at.vector))
        for out in outputs:
            # either the first or the last column is the tile's
            result = e.both(result, e.compare("sgt", out.extent(0, e), at.width))
            last = e.add(e.sub(tile.origin[1], out.mins[1]), at.height - 1)
            result = e.both(result, e.compare("slt", last, out.extent(1, e)))
        return result

    @staticmethod
    def moves_in(group: GroupOp, model: PipelineModel, asked: Sequence[SSAValue]) -> bool:
        """Whether the last tile of a row may lie anywhere: then it begins where all of it lies in the picture."""
        return origin_alignment(group, model)[0] == 1 and not asked

    @staticmethod
    def slack(group: GroupOp, model: PipelineModel) -> int:
        """Columns left of the tile that it may store, too."""
        return group_layout(group, model).slack

    @staticmethod
    def asked(group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> list[SSAValue]:
        """The functions of which a kernel asks if rows in global memory start where vectors may.

        Not those of which the caller said that they do not, unless they are `differing`: they do in another launch.
        """
        at = group_layout(group, model)
        bases = dict.fromkeys(behind_boundaries(source)[0] for _, source in at.sources)  # type: ignore[arg-type]
        return [
            value
            for value in (*bases, *group.funcs)
            if vector_bytes(value, at.vector) and (model.nodes[model.node_of[value]].aligned or value in differing)
        ]

    @staticmethod
    def aligned(
        group: GroupOp,
        model: PipelineModel,
        e: Emitter,
        asked: Sequence[SSAValue],
        buffers: dict[SSAValue, Buffer],
        outputs: Sequence[Buffer],
        origin: Sequence[Num],
    ) -> list[SSAValue]:
        """Whether the lanes' pieces of rows start at a multiple of their size, of each function that is `asked` of."""
        at = group_layout(group, model)
        result: list[SSAValue] = []
        accessed = buffers | dict(zip(group.funcs, outputs, strict=True))
        for value in asked:
            buffer, size = accessed[value], vector_bytes(value, at.vector)
            bytes = size // at.vector
            metadata = memref.ExtractStridedMetaDataOp(buffer.memref)
            pointer = e.op(memref.ExtractAlignedPointerAsIndexOp.get(buffer.memref))
            e.effect(metadata)
            first = e.add(e.sub(origin[0], buffer.mins[0]), -at.dead_left * at.vector)
            low = e.value(e.add(pointer, e.mul(first, bytes)))
            for n in list(metadata.strides)[:-1]:
                low = e.op(arith.OrIOp(low, e.value(e.mul(n, bytes))))
            rest = e.op(arith.AndIOp(low, e.value(size - 1)))
            result.append(e.compare("eq", rest, 0))
        return result


def _own(first: int, end: int, size: int) -> tuple[int, int]:
    """Of what a tile of so many points reads its own, or as many next to them: these lie beside other tiles'."""
    start = min(max(first, 0), end - size)
    return start, start + size


def may_be_whole(source: SSAValue, held: Held, vector: int) -> bool:
    """Whether a lane's columns of an input's row, one vector, may be loaded together in border tiles.

    Of words what lies beside them is loaded too: so it is known which row is the last in memory.
    """
    assert isinstance(source.type, FuncType)
    if not is_one_access(source.type.element, vector):
        return False
    kinds = [b.kind.data for b in behind_boundaries(source)[1]]
    if kinds.count(BoundaryKind.ConstantExterior) > 1:
        return False
    return not held.in_words or not {*kinds} - {BoundaryKind.ConstantExterior, BoundaryKind.RepeatEdge}


def vector_bytes(value: SSAValue, vector: int) -> int:
    """Bytes of `vector` points of a function in memory, if one access can move them; else 0."""
    assert isinstance(value.type, FuncType)
    element = value.type.element
    together = vector > 1 and is_one_access(element, vector) and rows_are_contiguous(value)
    return vector * element_bytes(element) if together else 0
