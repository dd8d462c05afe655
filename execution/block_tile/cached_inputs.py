"""Inputs that a block caches in shared memory for all steps of an update: copied once, read in each step.

Steps read at places that move with them, `in[x + r]`: lanes side by side, but not where vectors may load. Shared memory
serves such rows as any others, at indices that have most in common.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilefuse.analysis.access import accesses, coordinates
from tilefuse.analysis.index import Span
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, Region, follow_chain, regions
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import GroupOp, StageOp, UpdateOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.execution.block_tile.attribute import BlockSchedule
from tilefuse.execution.block_tile.placement import group_shared_memory
from tilefuse.execution.reach import Along, followed
from tilefuse.targets.limits import STATIC_SHARED_LIMIT


@dataclass(frozen=True)
class CachedBox:
    """The box of a function, boundaries included, that the steps of a tile read."""

    dims: tuple[int | None, ...]
    """Per dimension that of the tile whose origin it is counted from, if any."""
    spans: tuple[Span, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """Points per dimension, x first."""
        return tuple(high - low + 1 for low, high in self.spans)

    @property
    def elements(self) -> int:
        """Number of points."""
        return math.prod(self.extents)

    def joined(self, other: CachedBox) -> CachedBox | None:
        """Return the smallest box around both; None if they follow the tile differently."""
        if self.dims != other.dims:
            return None
        spans = zip(self.spans, other.spans, strict=True)
        return CachedBox(self.dims, tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in spans))


def cached_inputs(
    update: UpdateOp,
    stages: Mapping[StageOp, int],
    region: Mapping[int, Region],
    follow: Mapping[int, Sequence[Follow]],
) -> dict[SSAValue, CachedBox]:
    """Find the box that steps read of each outside function, boundaries included, if it follows the tile.

    `stages`: those of a step, with their nodes; `region`: what a tile of one step needs of each.
    """
    domain = [(integer_constant(d.min), integer_constant(d.extent)) for d in update.domain]
    if any(low is None or not extent or extent < 1 for low, extent in domain):
        return {}
    steps = [(low, low + extent - 1) for low, extent in domain if low is not None and extent is not None]
    found: dict[SSAValue, CachedBox | None] = {}
    moving: set[SSAValue] = set()
    for stage, id in stages.items():
        of = coordinates(stage)
        for access in accesses(stage):
            if access.base.owner in stages or not access.indices:
                continue
            source = access.function
            ways = [followed(access.op, index, of, region[id].spans, follow[id]) for index in access.indices]
            cached = _over_steps(ways, update.rank, steps)
            old = found.get(source, cached)
            found[source] = None if old is None or cached is None else old.joined(cached)
            if any(d >= update.rank for way in ways if way is not None for d, _, _ in way[0]):
                moving.add(source)
    return {source: cached for source, cached in found.items() if cached is not None and source in moving}


def _over_steps(ways: Sequence[tuple[Along, Span] | None], rank: int, steps: Sequence[Span]) -> CachedBox | None:
    """Return the box that a read touches in all steps, from how its indices follow a tile of one step, or None.

    `rank`: dimensions of the tile that are none of the domain's, whose coordinates run over `steps`.
    """
    dims: list[int | None] = []
    spans: list[Span] = []
    for way in ways:
        if way is None:
            return None
        along, (low, high) = way
        own = [(d, num, den) for d, num, den in along if d < rank]
        if len(own) > 1 or any((num, den) != (1, 1) for _, num, den in own):
            return None
        for d, num, den in along:
            if d >= rank:
                if den != 1:
                    return None
                ends = [n * num for n in steps[d - rank]]
                low, high = low + min(ends), high + max(ends)
        dims.append(own[0][0] if own else None)
        spans.append((low, high))
    return CachedBox(tuple(dims), tuple(spans))


def cached_bytes(source: SSAValue, cached: CachedBox) -> int:
    """Return the shared memory of a function's cached points."""
    assert isinstance(source.type, FuncType)
    return -(-cached.elements * element_bytes(source.type.element) // 16) * 16


def cached_of(group: GroupOp, model: PipelineModel) -> dict[SSAValue, CachedBox]:
    """Return the inputs that a block of a scheduled group caches; none unless its schedule caches."""
    schedule = BlockSchedule.expect(group.schedule)
    if group.update is None or not group.steps or not schedule.caches_inputs:
        return {}
    stages = {s: model.node_of[s.funcs[0]] for s in group.steps}
    output = model.node_of[group.anchor.funcs[0]]
    follow = follow_chain(model, stages.values(), output)
    region = regions(model, list(stages.values()), output, schedule.tile_sizes, follow)
    return cached_inputs(group.update, stages, region, follow)


def cached_dynamic(group: GroupOp, model: PipelineModel) -> int:
    """Return the bytes of cached points if they exceed static shared memory together with the arrays of stages."""
    size = sum(cached_bytes(source, cached) for source, cached in cached_of(group, model).items())
    return size if size + group_shared_memory(group, model).bytes > STATIC_SHARED_LIMIT else 0
