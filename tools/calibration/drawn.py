"""A pass in place of `tile`: draws schedules from the candidates of the search, and records their cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.machine import Machine, machine
from tilefuse.analysis.model import PipelineModel, extract
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.execution.candidate import Candidate
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.search import schedules
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile, give

CALIBRATED_KINDS = ("block_tile", "warp_tile", "warp_exchange")


@dataclass(frozen=True)
class Drawing:
    """Drawn schedules of all groups; like groups get like schedules."""

    kind: str = ""
    """Kind of the schedule, one of CALIBRATED_KINDS, for groups that have one."""
    position: float = 0.0
    """Position in the list of the search, from 0 to 1."""
    best: int | None = None
    """Instead: the cheapest at the size of this number."""
    rank: int = 0
    """With `best`: number of cheaper schedules."""


def kind_of(candidate: Candidate) -> str:
    """Return the kind of a candidate, one of CALIBRATED_KINDS."""
    if candidate.shape == CALIBRATED_KINDS[0]:
        return CALIBRATED_KINDS[0]
    return CALIBRATED_KINDS[2] if candidate.exchanges else CALIBRATED_KINDS[1]


def compared(
    group: GroupOp, model: PipelineModel, on: Machine, sizes: Sequence[tuple[int, int]]
) -> list[tuple[Candidate, list[float]]]:
    """Return the searched schedules of a group, each with microseconds at every size."""
    found: dict[Any, tuple[Candidate, list[float]]] = {}
    for size in sizes:
        for c in schedules(GroupFacts.of(group, model, size), on):
            key = (kind_of(c), c.tile, c.threads, c.vector)
            found.setdefault(key, (c, []))[1].append(c.microseconds)
    return [(c, us) for c, us in found.values() if len(us) == len(sizes)]


@dataclass(frozen=True)
class Draw(ModulePass):
    """Give every group the schedule chosen by `drawing`, and record its cost."""

    name = "draw"

    target: str
    sizes: tuple[tuple[int, int], ...]
    """Pictures to predict for, x first."""
    drawing: Drawing
    record: dict[str, Any] = field(default_factory=dict, compare=False)
    """Results of the last application: `predicted_us` per size (kernels added), the different `schedules`, and their
    `resident_blocks`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        on = machine(self.target)
        total, drawn, blocks = [0.0] * len(self.sizes), [], set()
        for pipeline in [o for o in op.body.block.ops if isinstance(o, PipelineOp)]:
            model = extract(pipeline)
            for group in [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]:
                candidate, microseconds = self._choose(compared(group, model, on, self.sizes))
                total = [a + b for a, b in zip(total, microseconds, strict=True)]
                members = [model.node_of[s.funcs[0]] for s in group.stages]
                give(group, candidate.by_itself(False), members)
                blocks.add(candidate.blocks)
                drawn.append([kind_of(candidate), candidate.tile, candidate.threads, candidate.vector])
        self.record.update(predicted_us=total, schedules=[d for i, d in enumerate(drawn) if d not in drawn[:i]])
        self.record["resident_blocks"] = sorted(blocks)

    def _choose(self, found: list[tuple[Candidate, list[float]]]) -> tuple[Candidate, list[float]]:
        d = self.drawing
        if d.best is not None:
            by_cost = sorted(found, key=lambda f: f[1][d.best])  # type: ignore[index]
            return by_cost[min(d.rank, len(by_cost) - 1)]
        alike = [f for f in found if kind_of(f[0]) == d.kind] or found
        return alike[int(d.position * len(alike))]


def passes_with_draw(target: str, draw: Draw) -> list[ModulePass]:
    """Return the standard passes, with drawn schedules in place of `tile`."""
    return [draw if isinstance(p, Tile) else p for p in standard_passes(target)]


def kinds_in(module: ModuleOp, target: str, sizes: tuple[tuple[int, int], ...]) -> list[str]:
    """Return the kinds of schedule that the search compares for any group of a pipeline."""
    from tilefuse.passes.pipeline import run_passes

    before = [p for p in standard_passes(target)]
    cut = next(i for i, p in enumerate(before) if isinstance(p, Tile))
    grouped, on, kinds = run_passes(module, before[:cut]), machine(target), set()
    for pipeline in [o for o in grouped.body.block.ops if isinstance(o, PipelineOp)]:
        model = extract(pipeline)
        for group in [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]:
            kinds |= {kind_of(c) for c, _ in compared(group, model, on, sizes)}
    return [k for k in CALIBRATED_KINDS if k in kinds]
