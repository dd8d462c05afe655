"""Facts of a group before it has a schedule, from which an execution model chooses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.points import nominal_extents
from tilefuse.analysis.regions import Follow, follow_chain
from tilefuse.dialects.img.ops import GroupOp


def nominal_box(model: PipelineModel, output: int, extent: Sequence[int]) -> tuple[int, ...]:
    """The extents that costs are computed for: declared ones, else those of a picture, or what is needed, if less."""
    node = model.nodes[output]
    picture = nominal_extents(node.bounds, extent)
    # a halo around the picture counts as none: it is small, and stages of a chain are alike without it
    needed = node.needed or picture
    return tuple(
        n if declared is not None else min(n, needed[d])
        for d, (n, declared) in enumerate(zip(picture, node.bounds, strict=True))
    )


@dataclass(frozen=True)
class GroupFacts:
    """Stages that are to be one kernel, by their nodes in the light model."""

    model: PipelineModel
    members: Sequence[int]
    output: int
    extent: Sequence[int] = ()
    """The picture to optimise for, x first."""

    @classmethod
    def of(cls, group: GroupOp, model: PipelineModel, extent: Sequence[int] = ()) -> GroupFacts:
        """The facts of a group that stands in the IR."""
        members = [model.node_of[s.funcs[0]] for s in group.stages]
        return cls(model, members, model.node_of[group.anchor.funcs[0]], extent)

    @property
    def rank(self) -> int:
        """Dimensions of the output."""
        return self.model.nodes[self.output].rank

    @property
    def bounds(self) -> tuple[tuple[int, int] | None, ...]:
        """(min, extent) of each output dimension that is declared."""
        return self.model.nodes[self.output].bounds

    @cached_property
    def box(self) -> tuple[int, ...]:
        """The extents, in the output's coordinates, that costs are computed for: what all that is stored takes."""
        box = list(nominal_box(self.model, self.output, self.extent))
        for id in self.model.stored(self.members):
            if id != self.output:
                for n, f in zip(nominal_box(self.model, id, self.extent), self.follow[id], strict=True):
                    if f.dim is not None:
                        box[f.dim] = max(box[f.dim], math.ceil(n / f.ratio))
        return tuple(box)

    @cached_property
    def follow(self) -> Mapping[int, tuple[Follow, ...]]:
        """How the dimensions of each member follow the tile. Raises NotFusable for an illegal group."""
        return follow_chain(self.model, self.members, self.output)
