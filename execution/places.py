"""Check that the places of a group's stages, perhaps set by hand, exist in its execution model."""

from __future__ import annotations

from collections.abc import Sequence

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level, Memory
from tilefuse.dialects.img.ops import GroupOp, StageOp


def placed_stages(group: GroupOp) -> list[StageOp]:
    """Return the stages that have a place and are not the output."""
    return [s for s in group.tiled if s is not group.output and s.place is not None]


def check_places(group: GroupOp, places: Sequence[tuple[Level, Memory]]) -> None:
    """Raise PipelineError, at the stage, for a place outside `places`."""
    assert group.schedule is not None
    for stage in placed_stages(group):
        assert stage.place is not None
        if stage.place.where in places:
            continue
        here, *others = (f"#img.place<{level}, {memory}>" for level, memory in (stage.place.where, *places))
        remedy = f"write {' or '.join(others)}" if others else "it has none; leave the place out"
        raise PipelineError(
            f"stage '{stage.sym_name.data}': {here} is no place in group '{group.sym_name.data}', a "
            f"{group.schedule.model}; {remedy}",
            stage,
        )
