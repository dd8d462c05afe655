"""Facts about an unscheduled group, from which execution models choose schedules."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilefuse.analysis.access import reads
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.points import nominal_domain, nominal_extents
from tilefuse.analysis.regions import Follow, follow_chain
from tilefuse.analysis.tables import looked_up
from tilefuse.analysis.updates import UpdateFacts
from tilefuse.dialects.img.ops import Definition, GroupOp, UpdateOp

HALO = 1.25
"""Factor on an extent up to which needed points beyond it count as halo; beyond it readers scale, or shift far."""


def nominal_box(
    model: PipelineModel, output: int, extent: Sequence[int], *, planes: bool = False, far: bool = False
) -> tuple[int, ...]:
    """Return the extents for which costs are computed: declared ones, else the picture's, cut to the needed ones.

    `far`: what is needed counts too if it is more than a halo larger. `planes`: dimensions that `extent` does not tell
    count as what is needed; else as a point, as the models of updates have it, which were fitted so.
    """
    node = model.nodes[output]
    picture = nominal_extents(node.bounds, extent)
    # a halo around the picture counts as none: it is small, and stages of a chain are alike without it
    needed = node.needed or picture

    def points(d: int, n: int) -> int:
        if node.bounds[d] is not None:
            return n
        if (planes and d >= len(extent)) or (far and needed[d] > HALO * n):
            return needed[d]
        return min(n, needed[d])

    return tuple(itertools.starmap(points, enumerate(picture)))


@dataclass(frozen=True)
class UpdateWork:
    """Work of an update for a picture of nominal size."""

    pure: tuple[int, ...]
    """Points along each pure coordinate."""
    domain: tuple[int, ...]
    """Extents of the reduction domain, innermost first."""
    bytes: float
    """Bytes of its reads, without any reuse in caches."""
    instructions: float
    """Instructions of all points."""

    @property
    def steps(self) -> int:
        """Number of points of the domain."""
        return math.prod(self.domain)


@dataclass(frozen=True)
class GroupFacts:
    """The stages, or the update, of one kernel, as nodes of the light model."""

    model: PipelineModel
    members: Sequence[int]
    output: int
    extent: Sequence[int] = ()
    """The picture to optimise for, x first."""
    fused_nodes: Sequence[int] = ()
    """The prologue and epilogue of an update, which are not among the members."""
    earlier_nodes: Sequence[int] = ()
    """The updates before the last one, which are not among the members either."""
    has_prologue: bool = False
    """Whether a fused stage gives the initial values of the update, so that none are read from memory."""
    permutation: tuple[int, ...] = ()
    """Per dimension of an update, the corresponding dimension of the group's results (the epilogue may transpose)."""
    summed: UpdateOp | None = None
    """The update whose steps compute the members; the output gives the steps' terms."""
    far_boxes: bool = False
    """Whether costs use the true size of boxes that extend far beyond the picture, as merges of groups with several
    outputs need it. Else all boxes count as large as the picture, so that similar stages get equal tiles."""

    @classmethod
    def of(cls, group: GroupOp, model: PipelineModel, extent: Sequence[int] = ()) -> GroupFacts:
        """Collect the facts of a group in the IR."""
        output = model.node_of[group.output.funcs[0]]
        if group.steps and group.update is not None:
            steps = [model.node_of[s.funcs[0]] for s in group.steps]
            return cls(model, steps, output, extent, summed=group.update)
        beside = [model.node_of[s.funcs[0]] for s in group.fused_stages]
        earlier = [model.node_of[u.funcs[0]] for u in group.earlier_updates]
        members = [output] if beside or earlier else [model.node_of[s.funcs[0]] for s in group.definitions]
        permutation = group.permutation if group.update is not None else ()
        return cls(model, members, output, extent, beside, earlier, group.prologue is not None, permutation)

    @cached_property
    def stored(self) -> list[int]:
        """The members that the kernel stores; the last one is the anchor."""
        return self.model.stored(self.members)

    @cached_property
    def tables(self) -> Mapping[int, int]:
        """The members that others read at data-dependent places, each with one such reader."""
        return looked_up(self.model, self.members)

    @cached_property
    def picture_bytes(self) -> float:
        """Bytes of the output, and of the functions that the members read, as far as they are needed."""
        nodes = self.model.nodes
        read = {p for id in self.members for p in nodes[id].offsets if p not in self.members}
        total = sum(math.prod(nodes[id].needed or self.box) * nodes[id].bytes for id in read)
        return total + math.prod(self.box) * nodes[self.output].bytes

    @property
    def definition(self) -> Definition:
        """The anchor or the update."""
        op = self.model.nodes[self.output].op
        assert isinstance(op, Definition)
        return op

    @cached_property
    def update(self) -> UpdateFacts:
        """The update of the group, if it has one."""
        assert isinstance(self.definition, UpdateOp)
        return UpdateFacts(self.definition)

    @property
    def earlier_updates(self) -> list[UpdateOp]:
        """The updates before the last one."""
        found = [self.model.nodes[id].op for id in self.earlier_nodes]
        return [op for op in found if isinstance(op, UpdateOp)]

    @cached_property
    def update_work(self) -> UpdateWork:
        """The work of the group's update."""
        op = self.update.update
        needed = self.model.nodes[self.output].needed or nominal_extents((None,) * op.rank, self.extent)
        points = nominal_domain(op, needed, self.extent)
        pure, domain = points[: len(op.pure)], points[len(op.pure) :]
        nodes, own = self.model.nodes, set(op.currents)
        read = sum(nodes[self.model.node_of[r.source]].bytes for r in reads(op) if r.source not in own)
        each = sum(instruction_cost(inner) for inner in op.body.block.ops) + 4.0
        count = float(math.prod(points))
        return UpdateWork(pure, domain, count * (read or nodes[self.output].bytes), count * each)

    @property
    def why_not_by_points(self) -> str | None:
        """Explain in one sentence why an update's points are not final one by one, if its fused stages need this."""
        op = self.update.update
        if self.fused_nodes and len(op.pure) != op.rank:
            return "a stage is fused with it, and not all its dimensions are pure coordinates"
        return None

    @property
    def has_only_prologue(self) -> bool:
        """Whether the prologue is the only stage fused with the update."""
        return self.has_prologue and len(self.fused_nodes) == 1

    @property
    def ends_bytes(self) -> float:
        """Bytes of an update's point that are read before its first step, and stored after the last."""
        own, nodes = self.model.nodes[self.output].bytes, self.model.nodes
        if not self.fused_nodes:
            return 2.0 * own
        others = (a.producer for id in self.fused_nodes for a in nodes[id].accesses if a.producer != self.output)
        read = sum(nodes[producer].bytes for producer in dict.fromkeys(others)) + (0 if self.has_prologue else own)
        last = self.fused_nodes[-1]
        return float(read + (nodes[last].bytes if self.output < last else own))

    @property
    def domain(self) -> int:
        """Number of the output's last dimensions that are an update's domain, if its steps compute the members."""
        return len(self.summed.domain) if self.summed is not None else 0

    @property
    def rank(self) -> int:
        """Dimensions of the output."""
        return self.model.nodes[self.output].rank

    @property
    def bounds(self) -> tuple[tuple[int, int] | None, ...]:
        """(min, extent) of each output dimension that is declared."""
        return self.model.nodes[self.output].bounds

    def own_box(self, id: int) -> tuple[int, ...]:
        """Return the extents, in a member's own coordinates, for which the cost of storing it alone is computed."""
        is_update = isinstance(self.definition, UpdateOp)
        return nominal_box(self.model, id, self.extent, planes=not is_update, far=self.far_boxes)

    @cached_property
    def box(self) -> tuple[int, ...]:
        """The extents, in output coordinates, for which costs are computed: of all stored stages together."""
        box = list(self.own_box(self.output))
        for id in self.stored:
            if id != self.output:
                for n, f in zip(self.own_box(id), self.follow[id], strict=True):
                    if f.dim is not None:
                        box[f.dim] = max(box[f.dim], math.ceil(n / f.ratio))
        return tuple(box)

    @cached_property
    def follow(self) -> Mapping[int, tuple[Follow, ...]]:
        """The map of each member's dimensions to the tile. Raises NotFusable for an illegal group."""
        return follow_chain(self.model, self.members, self.output)
