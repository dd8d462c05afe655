"""Whether a tile is interior, so that it takes the version of a kernel that asks for no border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilefuse.analysis.access import accesses
from tilefuse.analysis.index import BoundedIndex, Index
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import follow_chain, regions
from tilefuse.dialects.img.ops import BoundaryOp, GroupOp
from tilefuse.execution.plan import KernelPlan
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import Buffer, Tile, scalar_index


def is_interior(e: Emitter, plan: KernelPlan, tile: Tile, out: Buffer) -> SSAValue:
    """Whether all of a tile lies in the output, and what it reads in each boundary's box, and in the buffers."""
    sizes, origin, align = plan.sizes, tile.origin, plan.align
    # of what lies in the same box, the furthest says it all
    reach: dict[tuple[Num, Num, Num], tuple[int, int]] = {}

    def add(start: Num, first: Num, extent: Num, low: int, high: int) -> None:
        old = reach.get((start, first, extent), (low, high))
        reach[start, first, extent] = (min(low, old[0]), max(high, old[1]))

    begin_inside: set[tuple[Num, Num]] = set()
    for d, x0 in enumerate(origin):
        more = 0 if d else plan.x_spill
        add(x0, out.mins[d], out.extent(d, e), -more, sizes[d] - 1 + more)
        if align[d] == 1:
            begin_inside.add((x0, out.mins[d]))
    for r, (low, high) in _boundary_reach(plan.group, plan.model, plan.sizes, plan.x_spill).items():
        if r.boundary.mins:
            position = r.boundary.dimensions.index(r.dim)
            first = scalar_index(e, tile, r.boundary.mins[position])
            extent = scalar_index(e, tile, r.boundary.extents[position])
        else:
            buffer = tile.buffers[r.boundary.source]
            first, extent = buffer.mins[r.dim], buffer.extent(r.dim, e)
        start: Num = 0
        if r.out_dim is not None:
            start = e.floordiv(e.mul(origin[r.out_dim], r.numerator), r.denominator)
        add(start, first, extent, low, high)
    for base, spans in plan.reads:
        buffer = tile.buffers[base]
        for d, (low, high) in enumerate(spans):
            add(origin[d] if d < 2 else 0, buffer.mins[d], buffer.extent(d, e), low, high)
    inside: SSAValue | None = None
    for (start, first, extent), (low, high) in reach.items():
        if low < 0 or (start, first) not in begin_inside:
            inside = e.both(inside, e.compare("sge", e.add(start, low), first))
        inside = e.both(inside, e.compare("slt", e.add(start, high), e.add(first, extent)))
    return e.true() if inside is None else inside


@dataclass(frozen=True)
class _Reach:
    """Reach of a group's boundary reads in one dimension: the tile origin times a ratio, plus a span."""

    boundary: BoundaryOp
    dim: int
    out_dim: int | None
    numerator: int
    denominator: int


def _boundary_reach(
    group: GroupOp, model: PipelineModel, sizes: Sequence[int], spill: int
) -> dict[_Reach, tuple[int, int]]:
    ids = {s: model.node_of[s.funcs[0]] for s in group.stages}
    output = ids[group.output_stage]
    follow = follow_chain(model, ids.values(), output)
    region = regions(model, list(ids.values()), output, sizes, follow)
    reach: dict[_Reach, tuple[int, int]] = {}
    for stage, id in ids.items():
        for access in accesses(stage):
            indices = access.indices
            if any(not isinstance(i, Index | BoundedIndex) for i in indices):
                continue  # handled in every tile
            for b in access.boundaries:
                for d in b.dimensions:
                    index = indices[d]
                    assert isinstance(index, Index | BoundedIndex)
                    span = index.span(region[id].spans)
                    via = follow[id][index.var] if isinstance(index, Index) and index.var is not None else None
                    if via is None or via.dim is None:
                        key = _Reach(b, d, None, 0, 1)
                    else:
                        ratio = via.ratio * index.ratio  # type: ignore[union-attr]
                        key = _Reach(b, d, via.dim, ratio.numerator, ratio.denominator)
                    if key.out_dim == 0:
                        span = (span[0] - spill, span[1])
                    old = reach.get(key, span)
                    reach[key] = (min(old[0], span[0]), max(old[1], span[1]))
    return reach
