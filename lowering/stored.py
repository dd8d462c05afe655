"""Stored stages of a group: how tiles share their points, and the tiles that a call needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilefuse.analysis.bounds import Box
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, follow_chain
from tilefuse.dialects.img.ops import GroupOp, StageOp


@dataclass(frozen=True)
class Stored:
    """A stage whose values leave its group."""

    stage: StageOp
    follow: tuple[Follow, ...]
    """Relation of its dimensions to the tile's."""
    results: tuple[tuple[int, int], ...]
    """Numbers of each stored value in the stage and in the group."""

    @property
    def first(self) -> int:
        """Position of the stage's first function among the group's; all its functions have one box."""
        return self.results[0][1]


def follow_of(group: GroupOp, model: PipelineModel) -> dict[int, tuple[Follow, ...]]:
    """Map the dimensions of each stage of a group to its tile. Raises NotFusable for an illegal group."""
    members = [model.node_of[s.funcs[0]] for s in group.tiled]
    return follow_chain(model, members, model.node_of[group.anchor.funcs[0]])


def stored_stages(group: GroupOp, model: PipelineModel, follow: Mapping[int, tuple[Follow, ...]]) -> list[Stored]:
    """Return the stages that a group stores, the anchor first.

    What gives the terms of an update stands for their sum: of as many dimensions as the update has pure coordinates.
    """
    if group.steps and group.update is not None:
        dimensions = follow[model.node_of[group.anchor.funcs[0]]][: group.update.rank]
        return [Stored(group.anchor, dimensions, tuple((i, i) for i in range(len(group.funcs))))]
    values = list(group.yield_op.values)
    return [
        Stored(
            stage,
            follow[model.node_of[stage.funcs[0]]],
            tuple((i, values.index(f)) for i, f in enumerate(stage.funcs) if f in values),
        )
        for stage in reversed(group.stored)
    ]


def anchor_box(stored: Sequence[Stored], boxes: Sequence[Box | None]) -> Box:
    """Return the box in anchor coordinates whose tiles cover the given boxes, one for each function of the group.

    None stands for a function that is not needed. Kernels compute the same box (`execution/cover.py`).
    """
    anchor = stored[0]
    found: dict[int, tuple[int, int]] = {}
    for s in stored:
        if (box := boxes[s.first]) is None:
            continue
        for (low, extent), f in zip(box, s.follow, strict=True):
            if f.dim is not None:
                num, den = f.ratio.numerator, f.ratio.denominator
                first, end = low * den // num, -(-(low + extent) * den // num)
                old = found.get(f.dim, (first, end))
                found[f.dim] = (min(first, old[0]), max(end, old[1]))
    own = boxes[anchor.first] or _declared(anchor.stage)
    return tuple(
        own[d] if f.dim is None else (found[d][0], found[d][1] - found[d][0]) for d, f in enumerate(anchor.follow)
    )


def a_point(stored: Stored, box: Box) -> Box:
    """Return the box of one stored point that a tile of `box`, in anchor coordinates, has."""
    declared = _declared(stored.stage)
    return tuple(
        (declared[d][0] if f.dim is None else box[f.dim][0] * f.ratio.numerator // f.ratio.denominator, 1)
        for d, f in enumerate(stored.follow)
    )


def _declared(stage: StageOp) -> Box:
    """Return a stage's declared box in dimensions that are not tiled; (0, 1) in the others."""
    bounds = stage.bounds.data if stage.bounds is not None else (None,) * stage.rank
    return tuple((0, 1) if b is None else b for b in bounds)
