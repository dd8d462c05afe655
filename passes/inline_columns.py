"""`inline-columns`: compute a stage of a kernel where another reads few of its rows, all in one column.

    %blur = img.group "blur" {                            %blur = img.group "blur" {
      %sum = img.stage "sum" (%x, %y) { ... }               %blur0 = img.stage "blur" (%x, %y) {
      %blur0 = img.stage "blur" (%x, %y) {                    ... what "sum" is of the rows %y, %y + 1, %y + 2
        ... img.read %sum[%x, %y + 2]             =>
      img.yield %blur0                                      img.yield %blur0

A loop over several rows of the reader computes each row of the stage once for all of them that read it, in registers:
so no row of it is stored and loaded again, and one loop goes over what is read and what is written at the same time,
while memory gives several rows of each. Done where the cost model finds that cheaper. For CPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import cse

from tilefuse.analysis.access import accesses, read_sites
from tilefuse.analysis.index import Index
from tilefuse.analysis.machine import check_extent, check_target
from tilefuse.dialects.img.ops import GroupOp, PipelineOp, StageOp, prints
from tilefuse.passes.inline_stages import inline_at
from tilefuse.passes.trials import Trials, named

MOST_ROWS = 5
"""Rows that are read of a stage, at most: loops compute few rows at once, so of more too many would be of one row."""


@dataclass(frozen=True)
class InlineColumns(ModulePass):
    """Compute stages where few of their rows are read in one column, if they are cheaper there."""

    name = "inline-columns"

    target: str = "cpu"
    """The machine to compare on: a GPU's model or arch, or cpu."""
    extent: tuple[int, ...] = (1536, 2560)
    """Size of picture to optimise for, x first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_extent(self.extent, self.name)
        check_target(self.target, self.name)
        trials = Trials(self.target, self.extent)
        for pipeline in [p for p in op.body.block.ops if isinstance(p, PipelineOp)]:
            groups = [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]
            for name in [g.sym_name.data for g in groups if g.schedule is None and g.update is None]:
                # readers first: what they read is read by theirs then
                for number in reversed(range(len(named(pipeline, name).stages) - 1)):
                    if _is_column(named(pipeline, name).stages[number]):
                        pipeline = trials.tried_alone(pipeline, name, partial(_inline, number=number))


def _is_column(stage: StageOp) -> bool:
    """Whether one stage beside it reads a stage, at few rows of the same column, and nothing else does."""
    sites = read_sites(stage)
    if sites is None or not 1 < len(sites) <= MOST_ROWS or stage.place is not None or prints(stage):
        return False
    reader = sites[0][0]
    if not isinstance(reader, StageOp) or any(other is not reader for other, _, _ in sites):
        return False
    found = [a.indices for a in accesses(reader) if a.op.source in stage.funcs]
    beside = {(at[0], *at[2:]) for at in found if len(at) > 1}
    ys = [at[1] for at in found if len(at) > 1]
    return (
        len(beside) == 1
        and len(ys) == len(found)
        and all(isinstance(y, Index) and (y.var, y.num, y.den) == (1, 1, 1) for y in ys)
        and all(isinstance(i, Index) and i.den == 1 for at in beside for i in at)
    )


def _inline(group: GroupOp, number: int) -> None:
    """Compute a stage of a group where it is read."""
    stage = group.stages[number]
    sites = read_sites(stage)
    assert sites is not None
    reader = sites[0][0]
    for count, site in enumerate(sites, 1):
        inline_at(stage, site, move=count == len(sites))
    stage.detach()
    stage.erase()
    cse(reader)
