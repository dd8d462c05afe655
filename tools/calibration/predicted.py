"""A pass after `tile`: sums the predicted time of the chosen schedules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import PipelineModel, extract
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.execution.candidate import Candidate, SearchOptions
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.search import schedules
from tilefuse.execution.tile_schedule import TileSchedule
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile, exchanges, register_needs
from tilefuse.tools.calibration.drawn import CALIBRATED_KINDS, kind_of


@dataclass(frozen=True)
class Predict(ModulePass):
    """Sum the predicted time of the kernels, without changing them."""

    name = "predict"

    target: str
    extent: tuple[int, ...]
    """Size of the picture that `tile` chose for, x first."""
    record: dict[str, Any] = field(default_factory=dict, compare=False)
    """Results of the last application: `predicted_us`, and the different `schedules` as text."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        total, found = 0.0, []
        for pipeline in [o for o in op.body.block.ops if isinstance(o, PipelineOp)]:
            model = extract(pipeline)
            groups = [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]
            for group in groups:
                total += self._candidate(group, model).by_itself(alone=len(groups) == 1).microseconds
                found.append(str(group.schedule))
        self.record.update(predicted_us=total, schedules=list(dict.fromkeys(found)))

    def _candidate(self, group: GroupOp, model: PipelineModel) -> Candidate:
        facts, on, given = GroupFacts.of(group, model, self.extent), machine(self.target), group.schedule
        assert isinstance(given, TileSchedule)
        kind = CALIBRATED_KINDS[0] if given.model == CALIBRATED_KINDS[0] else CALIBRATED_KINDS[1 + exchanges(group)]
        wanted = (kind, given.tile_sizes, given.thread_counts, given.vector_width)
        for c in schedules(facts, on, SearchOptions(needs=register_needs(group))):
            if (kind_of(c), c.tile, c.threads, c.vector) == wanted:
                return c
        raise ValueError(f"group '{group.sym_name.data}': the search does not know {given}")


def passes_with_prediction(predict: Predict) -> list[ModulePass]:
    """Return the standard passes, with the summing pass after `tile`."""
    passes = standard_passes(predict.target, extent=predict.extent)
    behind = next(i for i, p in enumerate(passes) if isinstance(p, Tile)) + 1
    return [*passes[:behind], predict, *passes[behind:]]
