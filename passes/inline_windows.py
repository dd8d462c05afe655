"""`inline-windows`: move the few sums that an update's steps read into its kernel, for all of its columns at once.

    %own = img.group "own" { %own0 = img.stage ...; %own1 = img.update "own" (%c, %x) over (%k in [%zero, %three]) ... }
    %mix = img.group "mix" {
      %mix1 = img.update "mix" (%d, %x) over (%c in [%lo, %n]) ... { ... img.read %own[%c, %x] ... }
    =>
    %mix = img.group "mix" {
      %mix1 = img.update "mix" (%d, %x) over (%c in [%lo, %n]) ... { the three points of %own at [%c, %x] ... }

An example is a convolution of each channel before a mixture of channels. A stage, or an update over few known points,
is inlined into an update if this is its only reader, if its reads do not depend on the reader's first coordinate, and
if the cost model finds it cheaper: its values then do not go through memory. Points are combined in the order of their
domain, so results are equal to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.transforms.common_subexpression_elimination import cse

from tilefuse.analysis.access import read_sites, reads
from tilefuse.analysis.dependence import depending
from tilefuse.dialects.img.ops import GroupOp, PipelineOp, ReadOp, UpdateOp, prints
from tilefuse.passes.inline_stages import inline_at
from tilefuse.passes.trials import TrialPass, Trials, named
from tilefuse.passes.unroll_reductions import MOST_STENCIL, instructions_of_all, known_points, written_out_stage


@dataclass(frozen=True)
class InlineWindows(TrialPass):
    """Inline short sums into the updates that read them, if this is cheaper."""

    name = "inline-windows"

    force: bool = False
    """Whether to inline wherever this is legal, even if it costs more."""

    def try_changes(self, trials: Trials, pipeline: PipelineOp) -> None:
        groups = [g for g in pipeline.body.block.ops if isinstance(g, GroupOp) and g.update is not None]
        for group in [g.sym_name.data for g in groups if g.schedule is None]:
            for producer in [p.sym_name.data for p in _given(named(pipeline, group))]:
                pipeline = trials.tried(pipeline, producer, group, _put_inside, always=self.force)


def _given(group: GroupOp) -> Iterator[GroupOp]:
    """Return the groups whose points only the update reads, with the same points for all columns of a step."""
    update = group.update
    if update is None or not update.pure or not update.domain or group.steps:
        return
    along_x = depending(update.body.block.ops, update.pure[:1])
    for producer in dict.fromkeys(read.source.owner for read in reads(update)):
        if not isinstance(producer, GroupOp) or producer.schedule is not None or not _is_short(producer):
            continue
        used = [use.operation for f in producer.funcs for use in f.uses]
        if all(isinstance(r, ReadOp) and r.parent_op() is update and along_x.isdisjoint(r.operands) for r in used):
            yield producer


def _is_short(producer: GroupOp) -> bool:
    """Whether a group is one stage, or a sum of few known points with the stages beside it."""
    if any(prints(definition) for definition in producer.definitions):
        return False
    update = producer.update
    if update is None:
        return len(producer.stages) == 1
    points = known_points(update)
    return not producer.steps and points is not None and instructions_of_all(update, points) <= MOST_STENCIL


def _put_inside(pipeline: PipelineOp, producer: GroupOp, group: GroupOp) -> None:
    """Inline the stages of a producer into a group's update."""
    update = producer.update
    if update is not None:
        points = known_points(update)
        assert points is not None
        written_out_stage(update, points)
    for inner, outer in zip(producer.yield_op.values, producer.funcs, strict=True):
        outer.replace_all_uses_with(inner)
    last = producer.yield_op
    last.detach()
    last.erase()
    for stage in reversed(producer.stages):
        sites = read_sites(stage)
        assert sites is not None
        for number, site in enumerate(sites):
            inline_at(stage, site, move=number == len(sites) - 1)
    assert isinstance(group.update, UpdateOp)
    cse(group.update)
    producer.detach()
    producer.erase()
