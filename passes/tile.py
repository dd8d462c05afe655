"""`tile`: give every group its tile, threads and vector width (level 2 to level 3).

The search walks the tiling space (block, thread and serial levels; Anderson 2021) under the analytical cost
(`analysis/cost.py`) on the light model. A schedule that stands in the IR already is kept. `sizes`, `threads`
and `vector` set one by hand, for all groups or for `only`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.cost import best_schedule
from tilefuse.analysis.machine import check_extent, machine
from tilefuse.analysis.model import PipelineModel, extract
from tilefuse.analysis.regions import NotFusable, follow_chain, regions
from tilefuse.analysis.warp_layout import LANES, warp_layout
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import ScheduleAttr, Shape
from tilefuse.dialects.img.ops import GroupOp, PipelineOp


@dataclass(frozen=True)
class Tile(ModulePass):
    """Choose tile sizes, threads and vector width of every group."""

    name = "tile"

    target: str = "h200"
    """The machine to tile for: a GPU's model or arch, or cpu."""
    shape: Literal["auto", "block_tile", "warp_tile"] = "auto"
    """The execution model; auto: the cheapest."""
    sizes: tuple[int, ...] = ()
    """Tile per dimension, x first, instead of searching. With warp_tile, 0 for x means what the lanes cover."""
    threads: tuple[int, ...] = ()
    """Threads per dimension; needed with sizes."""
    vector: int = 1
    """Consecutive x-points per thread, with sizes."""
    only: str | None = None
    """The one group to tile."""
    extent: tuple[int, ...] = (1536, 2560)
    """Size of picture to optimise for, x first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_extent(self.extent, self.name)
        names = []
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                model = None
                for group in [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]:
                    names.append(group.sym_name.data)
                    if group.schedule is not None or self.only not in (None, group.sym_name.data):
                        continue
                    model = model or extract(pipeline)
                    if self.sizes:
                        group.schedule = self._by_hand(group, model)
                        continue
                    self._search(group, model)
        if self.only is not None and self.only not in names:
            raise PipelineError(f"tile: no group is called '{self.only}'; there are {', '.join(names) or 'none'}")

    def _by_hand(self, group: GroupOp, model: PipelineModel) -> ScheduleAttr:
        rank = group.output_stage.rank
        if len(self.sizes) != len(self.threads):
            raise PipelineError(
                f"tile: {len(self.sizes)} sizes but {len(self.threads)} threads; give one of each per dimension",
                group,
            )
        tail = [d[1] if d is not None else 1 for d in _bounds(group)[len(self.sizes) :]]
        sizes = [*self.sizes, *tail][:rank]
        if sizes[0] == 0 and self.shape == "warp_tile":
            sizes[0] = self._warp_width(group, model, sizes)
        shape = Shape.BlockTile if self.shape == "auto" else Shape(self.shape)
        return ScheduleAttr(shape, sizes, [*self.threads, *([1] * rank)][:rank], self.vector)

    def _warp_width(self, group: GroupOp, model: PipelineModel, sizes: list[int]) -> int:
        """The columns that the live lanes of a warp cover."""
        members = [model.node_of[s.funcs[0]] for s in group.stages]
        output = model.node_of[group.output_stage.funcs[0]]
        tile = [LANES * self.vector, *sizes[1:]]
        try:
            follow = follow_chain(model, members, output)
            region = regions(model, members, output, tile, follow)
            return warp_layout(model, members, output, follow, region, tile, self.vector).width
        except NotFusable as error:
            raise PipelineError(f"group '{group.sym_name.data}': {error}", group) from error

    def _search(self, group: GroupOp, model: PipelineModel) -> None:
        members = [model.node_of[s.funcs[0]] for s in group.stages]
        output = model.node_of[group.output_stage.funcs[0]]
        try:
            shape = None if self.shape == "auto" else Shape(self.shape)
            best = best_schedule(model, members, output, machine(self.target), self.extent, shape)
        except NotFusable as error:
            raise PipelineError(f"group '{group.sym_name.data}': {error}", group) from error
        if best is None:
            raise PipelineError(
                f"group '{group.sym_name.data}': no tile fits {self.target}; its stages need more shared "
                "memory or registers than there are. Cut the group, or inline fewer stages",
                group,
            )
        group.schedule = ScheduleAttr(best.shape, best.tile, best.threads, best.vector)


def _bounds(group: GroupOp) -> tuple[tuple[int, int] | None, ...]:
    stage = group.output_stage
    return stage.bounds.data if stage.bounds is not None else (None,) * stage.rank
