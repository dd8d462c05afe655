"""The kernel plan of a warp tile: its layout, and the conditions that choose a version of the tile body."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from xdsl.dialects import arith, memref
from xdsl.ir import SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.strides import rows_are_contiguous
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import MOSTLY_BORDER, SINGLE_WAVE, GroupOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.dialects.warp.memory import is_one_access
from tilefuse.execution.plan import KernelPlan, TileFunction, TileOfBlock, argument_hint
from tilefuse.execution.versions import Versions
from tilefuse.execution.warp_tile.attribute import WarpSchedule
from tilefuse.execution.warp_tile.emission import WarpTileBody, may_be_uniform
from tilefuse.execution.warp_tile.flags import TileFlags
from tilefuse.execution.warp_tile.footprints import is_prefetchable
from tilefuse.execution.warp_tile.layout import LANES, group_layout, in_grid
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.folded_rows import periodic_boundary
from tilefuse.lowering.reads import TileContext, all_of, boundary_span, locate
from tilefuse.lowering.rows import fit_between, row_of

_CLAMPING = (BoundaryKind.RepeatEdge, BoundaryKind.ConstantExterior)


@dataclass(frozen=True)
class _Vectors:
    """Conditions under which each lane's row of a function is one vector."""

    all: SSAValue | None = None
    """In all functions; None if never."""
    stored: SSAValue | None = None
    """In those that are stored, where the tile body has a flag for that."""


class WarpPlan(KernelPlan):
    """Kernel plan of a warp tile: versions differ in row alignment and in uniformity of vectors."""

    def __init__(self, group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]):
        super().__init__(group, model)
        self.layout = group_layout(group, model)
        self.reads = list(self._reads())
        self.checked = self._checked(differing)
        # where launches differ, the body asks of each function as its rows are moved; else each case has a version
        self.one_by_one = bool(differing)
        # rows that may start anywhere: so may the last tile of a row, which then begins where all of it is inside
        self.moves_in = self.align[0] == 1 and not self.checked
        self.x_edge_version = self._has_x_edge_version()
        # a wave stays one only if none of the versions takes more registers
        self.register_bounded = self.x_edge_version
        each = [f"{argument_hint(value)}_aligned" for value in self.checked] if self.one_by_one else []
        self.has_stores_uniform = self._needs_stores_uniform()
        self.flags = [
            "vectors_uniform",
            *["stores_uniform"] * self.has_stores_uniform,
            *["x_edge_only"] * self.x_edge_version,
            *each,
        ]
        self.prefetch_rows = 0
        if any(is_prefetchable(model.nodes[model.node_of[base]]) for base, *_ in self.reads):
            self.prefetch_rows = WarpSchedule.expect(group.schedule).prefetch_rows
        """Rows of tiles from a block's own tile down to the one whose cache lines it prefetches; 0 for none."""

    def body(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        WarpTileBody(self, self.layout, e, tile, outputs, self._flags(tile)).emit(self.prefetch_rows)

    def _flags(self, tile: TileContext) -> TileFlags:
        """Return the flags of the tile body."""
        uniform, *rest = tile.flags
        stores = rest.pop(0) if self.has_stores_uniform else uniform
        x_edge_only = rest.pop(0) if self.x_edge_version else None
        funcs = self.group.funcs
        aligned = rest if self.one_by_one else [stores if value in funcs else uniform for value in self.checked]
        return TileFlags(uniform, stores, x_edge_only, dict(zip(self.checked, aligned, strict=True)), self.moves_in)

    def functions(self) -> Sequence[TileFunction]:
        return [TileFunction("prefetch", self._prefetch)] if self.prefetch_rows else []

    def _prefetch(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> None:
        """Emit the prefetches of a tile's own part of the inputs."""
        WarpTileBody(self, self.layout, e, tile, outputs, TileFlags()).emit_prefetches()

    def begin_block(self, block: TileOfBlock, row: Num) -> None:
        if self.prefetch_rows:
            # blocks that come later have their lines prefetched by those above them
            call = block.call_of_origin("prefetch", row)
            with block.e.when(block.e.compare("slt", row, self.prefetch_rows)):
                block.e.effect(call)

    def stored_beyond(self, dim: int | None) -> int:
        return self.layout.left_spill if dim == 0 else 0

    def _reads(self) -> Iterator[tuple[SSAValue, Sequence[tuple[int, int]], Sequence[int | None]]]:
        """Return the reach of all lanes' loads, dead lanes included, per buffer, and the dimension it counts along."""
        at = self.layout
        for (_, source), footprint in at.sources.items():
            assert isinstance(source, SSAValue)
            beyond = footprint.piece if at.in_pieces(footprint) else 0
            columns = (-at.dead_left * at.vector - beyond, (LANES - at.dead_left) * at.vector - 1 + beyond)
            rows = (-at.top - footprint.above, at.height + at.bottom + footprint.below - 1)
            yield behind_boundaries(source)[0], [columns, rows, *footprint.rest], [0, 1, *footprint.along]

    def _checked(self, differing: Collection[SSAValue]) -> list[SSAValue]:
        """Return the functions whose row alignment is tested.

        Not those of which the caller said that they do not, unless they are `differing`: they do in another launch.
        """
        at, nodes, node_of = self.layout, self.model.nodes, self.model.node_of
        bases = dict.fromkeys(behind_boundaries(source)[0] for _, source in at.sources)  # type: ignore[arg-type]
        return [
            value
            for value in (*bases, *self.group.funcs)
            if vector_bytes(value, at.vector) and (nodes[node_of[value]].aligned or value in differing)
        ]

    def _has_x_edge_version(self) -> bool:
        """Whether tiles at x edges need a version: they take longer (unaligned rows), and a single wave waits."""
        at = self.layout
        if SINGLE_WAVE not in self.group.attributes or any(h.rest for h in at.sources.values()):
            return False  # planes may be moved, too, and lie otherwise then
        if len(self.stored) > 1:
            return False  # their boxes may differ, so that a tile is cut off along x only in one alone
        if at.vector & (at.vector - 1) or not self.moves_in:
            return False
        uniform = [isinstance(s, SSAValue) and may_be_uniform(s, h, at.vector) for (_, s), h in at.sources.items()]
        return all(uniform) and any(map(at.in_pieces, at.sources.values()))

    def _needs_stores_uniform(self) -> bool:
        """Whether vectors may be stored where loads are not uniform: worth more code if most tiles are border tiles."""
        moved = self.one_by_one or self.x_edge_version or self.moves_in
        if moved or MOSTLY_BORDER not in self.group.attributes or not self.layout.sources:
            return False
        return any(value in self.group.funcs for value in self.checked)

    def emit_versions(
        self, versions: Versions, interior: SSAValue, tile: TileContext, outputs: Sequence[KernelBuffer]
    ) -> None:
        e, origin = versions.e, tile.origin
        starts = self._aligned(e, tile.buffers | dict(zip(self.group.funcs, outputs, strict=True)), origin)
        stored = [start for value, start in zip(self.checked, starts, strict=True) if value in self.group.funcs]
        aligned = _Vectors(None if self.one_by_one else all_of(e, starts), all_of(e, stored * self.has_stores_uniform))
        each = starts if self.one_by_one else []
        e.choose(
            interior,
            lambda: self._either(versions, versions.no, aligned, each, origin),
            lambda: self._at_border(versions, aligned, each, tile, outputs),
        )

    def _flags_of(
        self, versions: Versions, uniform: _Vectors, each: Sequence[SSAValue], *, x_edge_only: bool = False
    ) -> list[SSAValue]:
        """Return the flags of a version. `each`: row alignment by function, if the body distinguishes functions."""
        x_edge = [versions.yes if x_edge_only else versions.no] * self.x_edge_version
        return [uniform.all or versions.no, *[uniform.stored or versions.no] * self.has_stores_uniform, *x_edge, *each]

    def _either(
        self, versions: Versions, border: SSAValue, uniform: _Vectors, each: Sequence[SSAValue], origin: Sequence[Num],
    ) -> None:  # fmt: skip
        """Emit the versions with and without uniform vectors, where they may be uniform."""
        slow = _Vectors(None, uniform.stored)
        if uniform.all is None:
            versions.call(border, self._flags_of(versions, slow, each), origin)
            return
        no_cse = border is versions.yes
        choices = (
            partial(versions.call, border, self._flags_of(versions, flags, each), origin, no_cse=no_cse)
            for flags in (_Vectors(versions.yes, versions.yes), slow)
        )
        versions.e.choose(uniform.all, *choices)

    def _at_border(
        self, versions: Versions, aligned: _Vectors, each: Sequence[SSAValue], tile: TileContext,
        outputs: Sequence[KernelBuffer],
    ) -> None:  # fmt: skip
        """Emit the versions of a border tile."""
        e, moved = versions.e, list(tile.origin)
        if self.moves_in:
            # what both have is the other one's
            moved[0] = e.min(moved[0], versions.last(0))
        tile = replace(tile, origin=moved)
        uniform = self._vectors_uniform(e, tile, outputs, aligned)
        if not self.x_edge_version:
            self._either(versions, versions.yes, uniform, each, moved)
            return
        x_edge_only = e.both(uniform.all, self._at_x_edges(e, tile, outputs))
        assert x_edge_only is not None
        flags = self._flags_of(versions, _Vectors(versions.yes, versions.yes), each, x_edge_only=True)
        alone = partial(versions.call, versions.yes, flags, moved, no_cse=True)
        e.choose(x_edge_only, alone, lambda: self._either(versions, versions.yes, uniform, each, moved))

    def _aligned(self, e: Emitter, buffers: dict[SSAValue, KernelBuffer], origin: Sequence[Num]) -> list[SSAValue]:
        """Emit whether the lanes' row pieces start at multiples of their size, in each `checked` function."""
        at = self.layout
        result: list[SSAValue] = []
        for value in self.checked:
            buffer, size = buffers[value], vector_bytes(value, at.vector)
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

    def _vectors_uniform(
        self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer], aligned: _Vectors
    ) -> _Vectors:
        """Emit whether no lane's columns straddle an edge, in a border tile whose rows are `aligned`.

        In all inputs and results, and in results alone.
        """
        if self.layout.vector & (self.layout.vector - 1):
            return _Vectors()
        loads, stores = self._loads_uniform(e, tile), self._stores_uniform(e, tile, outputs)
        both = e.both(loads, stores)
        return _Vectors(
            e.both(aligned.all, e.true() if both is None else both),
            e.both(aligned.stored, stores) if self.has_stores_uniform else None,
        )

    def _loads_uniform(self, e: Emitter, tile: TileContext) -> SSAValue | None:
        """Emit whether no lane's columns straddle an edge of an input; None if they never do."""
        at = self.layout
        x = e.add(tile.origin[0], -at.dead_left * at.vector)
        result: SSAValue | None = None
        for (_, source), footprint in at.sources.items():
            assert isinstance(source, SSAValue)
            if not may_be_uniform(source, footprint, at.vector):
                continue
            top = e.add(tile.origin[1], -at.top - footprint.above)
            deep = in_grid([low for low, _ in footprint.rest], footprint.along, tile.origin, e)
            row = row_of(e, tile, source, [x, top, *deep], at.vector, LANES)
            assert row is not None
            result = e.both(result, row.vectors_uniform)
            if (boundary := periodic_boundary(source)) is not None:
                # all rows of a tile are in one period and the next (`FoldedRows`)
                _, extent = boundary_span(e, tile, boundary, boundary.dimensions.index(1))
                rows = at.warps * at.pitch + footprint.above + footprint.below
                result = e.both(result, e.compare("sge", extent, rows))
            if footprint.in_words:
                # what lies beside a row is in the buffer, but before its first and behind its last
                metadata = memref.ExtractStridedMetaDataOp(tile.buffers[behind_boundaries(source)[0]].memref)
                e.effect(metadata)
                for stride in list(metadata.strides)[:-1]:
                    result = e.both(result, e.compare("sge", stride, footprint.piece))
        return result

    def _stores_uniform(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> SSAValue | None:
        """Emit whether no lane's columns straddle an edge of a result; None if they never do."""
        at = self.layout
        result: SSAValue | None = None
        for s in self.stored:
            if at.left_spill and at.stages[self.model.node_of[s.stage.funcs[0]]].shifted:
                continue
            for _, n in s.results:
                offset, extent = e.sub(tile.origin[0], outputs[n].mins[0]), outputs[n].extent(0, e)
                result = e.both(result, fit_between(e, offset, extent, at.vector, at.width // at.vector))
        return result

    def _at_x_edges(self, e: Emitter, tile: TileContext, outputs: Sequence[KernelBuffer]) -> SSAValue | None:
        """Emit whether a border tile of uniform vectors is cut off along x only (`TileFlags.x_edge_only`)."""
        at = self.layout
        x = e.add(tile.origin[0], -at.dead_left * at.vector)
        result: SSAValue | None = None
        for (_, source), footprint in at.sources.items():
            assert isinstance(source, SSAValue)
            base, boundaries = behind_boundaries(source)
            buffer = tile.buffers[base]
            # where none is of another box, a row that is in the buffer is not moved
            plain = not any(b.mins or b.kind.data not in _CLAMPING for b in boundaries if 1 in b.dimensions)
            top = e.add(tile.origin[1], -at.top - footprint.above)
            bottom = e.add(tile.origin[1], at.height + at.bottom + footprint.below - 1)
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


def vector_bytes(value: SSAValue, vector: int) -> int:
    """Return the bytes of `vector` points of a function in memory, if one access can move them; else 0."""
    assert isinstance(value.type, FuncType)
    element = value.type.element
    together = vector > 1 and is_one_access(element, vector) and rows_are_contiguous(value)
    return vector * element_bytes(element) if together else 0
