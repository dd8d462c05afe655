"""Tentative changes of groups on a copy of the pipeline, kept if the cost model finds them cheaper."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.machine import check_extent, check_target, machine
from tilefuse.analysis.model import PipelineModel, extract
from tilefuse.analysis.regions import NotFusable
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.execution.candidate import SearchOptions
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.search import best_schedule

Change = Callable[[PipelineOp, GroupOp, GroupOp], None]
"""Makes a producer part of a group."""
ChangeAlone = Callable[[GroupOp], None]
"""Changes a group."""


def named(pipeline: PipelineOp, name: str) -> GroupOp:
    """Return the group of this name."""
    return next(g for g in pipeline.body.block.ops if isinstance(g, GroupOp) and g.sym_name.data == name)


@dataclass(frozen=True)
class Trials:
    """Try changes for a target and a picture size."""

    target: str
    extent: tuple[int, ...]

    def tried(self, pipeline: PipelineOp, producer: str, name: str, change: Change, *, always: bool) -> PipelineOp:
        """Return the pipeline with a producer and a group made one, if the change pays; `always`: if a kernel can."""

        def both(copy: PipelineOp) -> None:
            change(copy, named(copy, producer), named(copy, name))

        return self._tried(pipeline, (producer, name), both, always)

    def tried_alone(self, pipeline: PipelineOp, name: str, change: ChangeAlone, *, always: bool = False) -> PipelineOp:
        """Return the pipeline with a group changed, if the change pays; `always`: if a kernel can."""
        return self._tried(pipeline, (name,), lambda copy: change(named(copy, name)), always)

    def _tried(
        self, pipeline: PipelineOp, names: Sequence[str], change: Callable[[PipelineOp], None], always: bool
    ) -> PipelineOp:
        """Return the pipeline with groups made the last of them, if the change pays."""
        copy = pipeline.clone()
        block = pipeline.parent_block()
        assert block is not None
        block.insert_op_after(copy, pipeline)
        change(copy)
        cost = self._microseconds(copy, named(copy, names[-1]))
        taken = cost is not None and always
        if cost is not None and not taken:
            before = self._microseconds(pipeline, *(named(pipeline, name) for name in names))
            taken = before is not None and cost < before
        rest, kept = (pipeline, copy) if taken else (copy, pipeline)
        rest.detach()
        rest.erase()
        return kept

    def facts(self, pipeline: PipelineOp, name: str) -> GroupFacts:
        """Return the facts of a group."""
        return self._facts(extract(pipeline, self.extent), named(pipeline, name))

    def _facts(self, model: PipelineModel, group: GroupOp) -> GroupFacts:
        return GroupFacts.of(group, model, self.extent)

    def _microseconds(self, pipeline: PipelineOp, *groups: GroupOp) -> float | None:
        """Predict the time of groups of a pipeline; None if one cannot be a kernel."""
        on, model = machine(self.target), extract(pipeline, self.extent)
        total = 0.0
        for group in groups:
            try:
                found = best_schedule(self._facts(model, group), on, SearchOptions(thorough=False))
            except NotFusable:
                return None
            if found is None:
                return None
            total += found.microseconds
        return total


@dataclass(frozen=True)
class TrialPass(ModulePass, ABC):
    """Pass that tries changes of groups, and keeps the ones that the cost model finds cheaper."""

    target: str = "cpu"
    """Machine whose costs decide: a GPU's model or arch, or cpu."""
    extent: tuple[int, ...] = (1536, 2560)
    """Size of picture to optimise for, x first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_extent(self.extent, self.name)
        check_target(self.target, self.name)
        trials = Trials(self.target, self.extent)
        for pipeline in [p for p in op.body.block.ops if isinstance(p, PipelineOp)]:
            self.try_changes(trials, pipeline)

    @abstractmethod
    def try_changes(self, trials: Trials, pipeline: PipelineOp) -> None:
        """Try the pass's changes of a pipeline, one after the other: each one kept replaces the pipeline."""
