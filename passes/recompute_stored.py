"""Recomputation of stages in the kernels that read them, instead of storing them: part of `group-stages`.

`inline-stages` decides before anything is grouped, so it leaves what is read at several places: within a kernel it is
computed once. Of what is stored for other kernels all the same, it may take less time to compute it there once more
than to write it and read it back, if it reads nothing but what is in memory anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from tilefuse.analysis.access import read_sites
from tilefuse.analysis.machine import Machine
from tilefuse.analysis.model import Node, PipelineModel
from tilefuse.analysis.recomputation import Recomputation, may_be_inlined
from tilefuse.dialects.img.ops import StageOp
from tilefuse.passes.inline_stages import inline_at

AGAIN = 1.5
"""Evaluations of a stage for other kernels over its points, at most: what needs it at several places, and cannot
be one kernel with it, had better read it."""

Groups = Sequence[tuple[Sequence[int], int]]


@dataclass(frozen=True)
class Recomputed:
    """A stage, and the stages of other groups that are to compute it themselves."""

    stage: StageOp
    readers: frozenset[StageOp]

    def apply(self) -> None:
        """Compute the stage at its readers; what then reads it nowhere goes."""
        sites = read_sites(self.stage) or []
        chosen = [site for site in sites if site[0] in self.readers]
        for i, site in enumerate(chosen):
            inline_at(self.stage, site, move=len(chosen) == len(sites) and i == len(chosen) - 1)
        if len(chosen) == len(sites):
            self.stage.detach()
            self.stage.erase()


def recomputed(model: PipelineModel, groups: Groups, costs: Recomputation, machine: Machine) -> Iterator[Recomputed]:
    """Yield the stored stages that are computed faster where they are read, those that come last first."""
    group_of = {id: number for number, (members, _) in enumerate(groups) for id in members}
    stored = {id for members, _ in groups for id in model.stored(members)}
    for number, (members, _) in reversed(list(enumerate(groups))):
        for id in reversed(model.stored(members)):
            node, stage = model.nodes[id], model.nodes[id].op
            outside = [c for c in model.consumers(id) if group_of.get(c) != number]
            if not outside or not isinstance(stage, StageOp) or not _may_be(model, node, stored):
                continue
            again = _evaluations(stage, [model.nodes[c].op for c in outside], costs)
            points = math.prod(node.needed or (0,))
            chosen = {reader: n for reader, n in again.items() if n <= AGAIN * points}
            kernels = len({group_of[c] for c in outside if model.nodes[c].op in chosen})
            vanishes = list(members) == [id] and len(chosen) == len(outside)
            change = _Change(node, points, sum(chosen.values()), kernels)
            if chosen and change.saving(model, costs, machine, vanishes) > 0:
                yield Recomputed(stage, frozenset(chosen))


def _evaluations(stage: StageOp, readers: Sequence[Operation], costs: Recomputation) -> dict[StageOp, int]:
    """The number of times that a stage would be evaluated at each of those readers that may compute it themselves."""
    found: dict[StageOp, int] = {}
    for site in read_sites(stage) or ():
        if isinstance(site[0], StageOp) and site[0] in readers:
            found[site[0]] = found.get(site[0], 0) + costs.evaluations(site)
    return found


def _may_be(model: PipelineModel, node: Node, stored: set[int]) -> bool:
    """Whether a stage may be computed elsewhere, by what is in memory."""
    if node.is_output or not isinstance(node.op, StageOp) or not may_be_inlined(node.op):
        return False
    return all(model.nodes[p].is_input or p in stored for p in model.producers(node.id))


@dataclass(frozen=True)
class _Change:
    """A stage of `points` points, to be computed `evaluations` times in `kernels` that have read it."""

    node: Node
    points: int
    evaluations: int
    kernels: int

    def saving(self, model: PipelineModel, costs: Recomputation, machine: Machine, vanishes: bool) -> float:
        """Microseconds that it saves; `vanishes`: whether a kernel of the stage alone does."""
        read = [model.nodes[p] for p in model.producers(self.node.id)]
        inputs = sum(min(math.prod(p.needed or (self.points,)), self.points) * p.bytes for p in read)
        kernels = self.kernels - vanishes
        bytes = (self.kernels + vanishes) * self.points * self.node.bytes - kernels * inputs
        evaluations = self.evaluations - vanishes * self.points
        assert isinstance(self.node.op, StageOp)
        saved = bytes / machine.bytes_per_us + vanishes * machine.launch_us
        return saved - evaluations * costs.cost(self.node.op) / machine.instructions_per_us
