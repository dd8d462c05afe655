"""`inline-columns`: compute a stage where few of its rows are read, all in one column.

    %blur = img.group "blur" {                            %blur = img.group "blur" {
      %sum = img.stage "sum" (%x, %y) { ... }               %blur0 = img.stage "blur" (%x, %y) {
      %blur0 = img.stage "blur" (%x, %y) {                    ... what "sum" is of the rows %y, %y + 1, %y + 2
        ... img.read %sum[%x, %y + 2]             =>
      img.yield %blur0                                      img.yield %blur0

A loop over several rows of the reader computes each row of the stage once for all its readers, in registers: no row of
the stage is stored and loaded, and one loop makes memory read and write several rows at a time. The pass applies if
pictures come from main memory, and the cost model finds it cheaper; with pictures in caches it would not be faster. For
CPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import UnitAttr
from xdsl.transforms.common_subexpression_elimination import cse

from tilefuse.analysis.access import accesses, read_sites, reads
from tilefuse.analysis.index import Index
from tilefuse.analysis.machine import machine
from tilefuse.analysis.row_sharing import row_instructions
from tilefuse.dialects.img.ops import SHARES_ROWS, GroupOp, PipelineOp, StageOp, prints
from tilefuse.passes.inline_stages import inline_at
from tilefuse.passes.trials import TrialPass, Trials, named

MOST_AGAIN = 24.0
"""Instructions and reads of a stage times the rows of it that are read beside the first, at most: a loop computes as
many rows more than it has of its reader, so that of more it is not worth a comparison."""


@dataclass(frozen=True)
class InlineColumns(TrialPass):
    """Inline stages of which a reader needs few rows of one column, if this is cheaper."""

    name = "inline-columns"

    def try_changes(self, trials: Trials, pipeline: PipelineOp) -> None:
        groups = [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]
        for name in [g.sym_name.data for g in groups if g.schedule is None and g.update is None]:
            # readers first: what they read is read by theirs then
            for number in reversed(range(len(named(pipeline, name).stages) - 1)):
                if _is_column(named(pipeline, name).stages[number]) and self._is_far(trials, pipeline, name):
                    pipeline = trials.tried_alone(pipeline, name, partial(_inline, number=number))

    def _is_far(self, trials: Trials, pipeline: PipelineOp, name: str) -> bool:
        """Whether a group reads and writes main memory."""
        return not machine(self.target).keeps(trials.facts(pipeline, name).picture_bytes)


def _is_column(stage: StageOp) -> bool:
    """Whether one stage beside it reads a stage, at few rows of the same column, and nothing else does."""
    sites = read_sites(stage)
    if sites is None or len(sites) < 2 or stage.place is not None or prints(stage):
        return False
    reader = sites[0][0]
    if not isinstance(reader, StageOp) or any(other is not reader for other, _, _ in sites):
        return False
    found = [a.indices for a in accesses(reader) if a.op.source in stage.funcs]
    if stage.rank < 2 or any(not isinstance(i, Index) or i.den != 1 for at in found for i in at):
        return False
    rows = [at[1] for at in found if isinstance(at[1], Index)]
    if len({(at[0], *at[2:]) for at in found}) > 1 or any((y.var, y.num) != (1, 1) for y in rows):
        return False
    offsets = [y.offset for y in rows]
    work = row_instructions(stage, 1) + len(list(reads(stage)))
    return work * (max(offsets) - min(offsets)) <= MOST_AGAIN


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
    assert isinstance(reader, StageOp)
    reader.attributes[SHARES_ROWS] = UnitAttr()
    cse(reader)
