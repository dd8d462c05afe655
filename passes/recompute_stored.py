"""Recomputation of stored stages in the kernels that read them: part of `group-stages`.

`inline-stages` decides before stages are grouped, so it keeps stages with several readers: within a kernel they are
computed once. If such a stage is stored for other kernels, and reads only functions in memory, it may be cheaper to
recompute it in these kernels than to store and load it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from tilefuse.analysis.access import behind_boundaries, read_sites, reads
from tilefuse.analysis.machine import Machine
from tilefuse.analysis.model import Node, PipelineModel
from tilefuse.analysis.recomputation import Recomputation, may_be_inlined
from tilefuse.dialects.img.ops import Definition, StageOp
from tilefuse.passes.inline_stages import inline_at

AGAIN = 1.5
"""Evaluations of a stage for other kernels over its points, at most: what needs it at several places, and cannot
be one kernel with it, had better read it."""

GroupsWithOutputs = Sequence[tuple[Sequence[int], int]]
"""(members, output) of each group."""


@dataclass(frozen=True)
class Recomputed:
    """A stage, and the readers in other groups that are to recompute it."""

    stage: StageOp
    readers: frozenset[Definition]

    def apply(self) -> None:
        """Inline the stage into its readers; a stage without readers is erased."""
        sites = read_sites(self.stage) or []
        chosen = [site for site in sites if site[0] in self.readers]
        for i, site in enumerate(chosen):
            inline_at(self.stage, site, move=len(chosen) == len(sites) and i == len(chosen) - 1)
        if len(chosen) == len(sites):
            self.stage.detach()
            self.stage.erase()


def recomputed(
    model: PipelineModel, groups: GroupsWithOutputs, all_costs: Callable[[], Recomputation], machine: Machine
) -> Iterator[Recomputed]:
    """Yield the stored stages that are cheaper to recompute at their readers, last ones first.

    On a CPU these are only such as need not be stored then, as one kernel is left that reads them, or none and all the
    readers are stages. Each is to be applied before the next is drawn: the functions that it reads have other readers
    then. `all_costs` is called before the first, and only where a stage may be computed elsewhere: it takes time.
    """
    costs: Recomputation | None = None
    kernel_of: dict[Operation, int] = {model.nodes[id].op: n for n, (members, _) in enumerate(groups) for id in members}
    stored = {id for members, _ in groups for id in model.stored(members)}
    for number, (members, _) in reversed(list(enumerate(groups))):
        left = set(members)
        for id in reversed(model.stored(members)):
            node, stage = model.nodes[id], model.nodes[id].op
            if not isinstance(stage, StageOp) or not _may_be(model, node, stored):
                continue
            costs = costs or all_costs()
            evaluations = _evaluations(stage, costs)
            inside = {reader for reader in evaluations if kernel_of.get(reader) == number}
            points = math.prod(node.needed or (0,))
            chosen = {r: n for r, n in evaluations.items() if r not in inside and n <= AGAIN * points}
            unstored = len(chosen) + len(inside) == len(evaluations)
            undone = unstored and not inside
            known = [{behind_boundaries(read.source)[0].owner for read in reads(reader)} for reader in chosen]
            change = _StageToRecompute(
                node, points, evaluations=sum(chosen.values()) - undone * points,
                inputs=[p for p in model.producers(id) if not all(model.nodes[p].op in ops for ops in known)],
                kernels=len({kernel_of.get(r, r) for r in chosen}), unstored=unstored,
                removes_kernel=undone and left == {id},
                joins=not inside and len({kernel_of.get(r, r) for r in evaluations.keys() - chosen.keys()}) == 1,
            )  # fmt: skip
            nowhere = undone and all(isinstance(reader, StageOp) for reader in chosen)
            if chosen and (machine.is_gpu or change.joins or nowhere) and change.saving(model, costs, machine) > 0:
                left -= {id} if undone else set()
                yield Recomputed(stage, frozenset(chosen))


def _evaluations(stage: StageOp, costs: Recomputation) -> dict[Definition, int]:
    """Return the number of evaluations of a stage at each of its readers."""
    found: dict[Definition, int] = {}
    for site in read_sites(stage) or ():
        found[site[0]] = found.get(site[0], 0) + costs.evaluations(site, together=True)
    return found


def _may_be(model: PipelineModel, node: Node, stored: set[int]) -> bool:
    """Whether a stage may be computed elsewhere: it reads functions in memory alone."""
    if not isinstance(node.op, StageOp) or not may_be_inlined(node.op) or read_sites(node.op) is None:
        return False
    return all(model.nodes[p].is_input or p in stored for p in model.producers(node.id))


@dataclass(frozen=True)
class _StageToRecompute:
    """A stage of `points` points that kernels would compute instead of reading it."""

    node: Node
    points: int
    evaluations: int
    """Additional evaluations of the stage."""
    inputs: Sequence[int]
    """Nodes that the stage reads, and its readers do not yet."""
    kernels: int
    unstored: bool
    """Whether the stage is no longer stored, as no other kernel reads it."""
    removes_kernel: bool
    """Whether the kernel of the stage, which computes nothing else, is removed."""
    joins: bool
    """Whether one other kernel still reads the stage, and may be fused with its own: on a CPU the rows of both roll."""

    def saving(self, model: PipelineModel, costs: Recomputation, machine: Machine) -> float:
        """Return the microseconds saved."""
        read = [model.nodes[p] for p in self.inputs]
        inputs = sum(min(math.prod(p.needed or (self.points,)), self.points) * p.bytes for p in read)
        moved = (self.kernels + self.unstored + 2 * (self.joins and not machine.is_gpu)) * self.points * self.node.bytes
        bytes = moved - (self.kernels - self.removes_kernel) * inputs
        assert isinstance(self.node.op, StageOp)
        instructions = -self.evaluations * costs.cost(self.node.op)
        return machine.microseconds(instructions=instructions, bytes=bytes, kernels=self.removes_kernel)
