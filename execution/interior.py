"""Test for interior tiles, which take the kernel version without border handling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from xdsl.ir import SSAValue

from tilefuse.analysis.regions import own_spans
from tilefuse.execution.plan import KernelPlan
from tilefuse.execution.reach import boundary_reach
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Emitter, Num
from tilefuse.lowering.reads import TileContext, scalar_index


def is_interior(e: Emitter, plan: KernelPlan, tile: TileContext, outputs: Sequence[KernelBuffer]) -> SSAValue:
    """Emit whether a tile's stores lie in its box, and its reads in each boundary's box and in the buffers."""
    sizes, origin, align = plan.sizes, tile.origin, plan.align
    out = outputs[plan.stored[0].first]
    # of what lies in the same box, the furthest says it all
    reach: dict[tuple[Num, Num, Num], tuple[int, int]] = {}

    def add(start: Num, first: Num, extent: Num, low: int, high: int) -> None:
        old = reach.get((start, first, extent), (low, high))
        reach[start, first, extent] = (min(low, old[0]), max(high, old[1]))

    # of an update's steps the first and the last, along each dimension of its domain, say it for all
    places: list[list[Num]] = [[x0] for x0 in origin]
    for dimension in plan.domain:
        least, count = (scalar_index(e, tile, v) for v in (dimension.min, dimension.extent))
        places.append([least, e.add(least, e.sub(count, 1))])
    begin_inside: set[tuple[Num, Num]] = set()
    for d, x0 in enumerate(origin):
        more = plan.stored_beyond(d)
        add(x0, out.mins[d], out.extent(d, e), -more, plan.own_sizes[d] - 1 + more)
        if align[d] == 1:
            begin_inside.add((x0, out.mins[d]))
    for s in plan.stored[1:]:
        buffer = outputs[s.first]
        begin_inside.clear()  # the boxes differ, and the first tile may begin before any of them
        own = own_spans(plan.model, plan.model.node_of[s.stage.funcs[0]], s.follow, sizes)
        for d, (f, (low, high)) in enumerate(zip(s.follow, own, strict=True)):
            more = plan.stored_beyond(f.dim)
            add(tile.absolute(e, f, 0), buffer.mins[d], buffer.extent(d, e), low - more, high + more)
    for r, (low, high) in boundary_reach(plan)[0].items():
        if r.boundary.mins:
            position = r.boundary.dimensions.index(r.dim)
            first = scalar_index(e, tile, r.boundary.mins[position])
            extent = scalar_index(e, tile, r.boundary.extents[position])
        else:
            buffer = tile.buffers[r.boundary.source]
            first, extent = buffer.mins[r.dim], buffer.extent(r.dim, e)
        for at in product(*(places[out_dim] for out_dim, _, _ in r.along)):
            start: Num = 0
            for place, (_, numerator, denominator) in zip(at, r.along, strict=True):
                start = e.add(start, e.floordiv(e.mul(place, numerator), denominator))
            add(start, first, extent, low, high)
    for base, spans, along in plan.reads:
        buffer = tile.buffers[base]
        for d, ((low, high), of) in enumerate(zip(spans, along, strict=True)):
            add(0 if of is None else origin[of], buffer.mins[d], buffer.extent(d, e), low, high)
    inside: SSAValue | None = None
    for (start, first, extent), (low, high) in reach.items():
        if low < 0 or (start, first) not in begin_inside:
            inside = e.both(inside, e.compare("sge", e.add(start, low), first))
        inside = e.both(inside, e.compare("slt", e.add(start, high), e.add(first, extent)))
    return e.true() if inside is None else inside
