"""Whether the places of a group's stages, perhaps written by hand, fit its execution model and each other."""

from __future__ import annotations

from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level, Memory, Shape
from tilefuse.dialects.img.ops import GroupOp, StageOp

_PLACES = {
    Shape.BlockTile: ((Level.Block, Memory.Shared), (Level.Thread, Memory.Register)),
    Shape.WarpTile: ((Level.Warp, Memory.Register), (Level.Block, Memory.Register)),
}
"""Where each execution model can put a stage that is not the group's output."""


def check_places(group: GroupOp, model: PipelineModel) -> None:
    """Raise PipelineError, at the stage, for a place that the group's execution model does not have, or for
    shared memory that a stage would overwrite while an earlier one is still to be read from it."""
    assert group.schedule is not None
    execution = group.schedule.execution
    placed = [s for s in group.stages if s is not group.output_stage and s.place is not None]
    for stage in placed:
        assert stage.place is not None
        if stage.place.where not in _PLACES[execution]:
            here, *others = (
                f"#img.place<{level}, {memory}>" for level, memory in (stage.place.where, *_PLACES[execution])
            )
            raise PipelineError(
                f"stage '{stage.sym_name.data}': {here} is no place in group '{group.sym_name.data}', a {execution}; "
                f"write {' or '.join(others)}",
                stage,
            )
    if execution is Shape.BlockTile:
        _check_slots(group, model, [s for s in placed if s.place and s.place.where == (Level.Block, Memory.Shared)])


def _check_slots(group: GroupOp, model: PipelineModel, shared: list[StageOp]) -> None:
    """`shared` is in program order, which is the order of the block's phases; the output is the last phase."""
    id = {s: model.node_of[s.funcs[0]] for s in group.stages}
    phase = {id[s]: n for n, s in enumerate(shared)}

    def last_read(stage: StageOp) -> int:
        # what has no phase of its own, lives in registers and reads when the output is computed
        inside = (c for c in model.consumers(id[stage]) if c in id.values())
        return max((phase.get(c, len(shared)) for c in inside), default=phase[id[stage]])

    free = 1 + max((s.place.slot.data for s in shared if s.place), default=0)
    for n, later in enumerate(shared):
        for earlier in shared[:n]:
            assert earlier.place is not None
            assert later.place is not None
            slot = later.place.slot.data
            # values of different types have arrays of their own even in one slot
            same = any(a.type.storage == b.type.storage for a, b in zip(earlier.funcs, later.funcs, strict=False))
            if earlier.place.slot.data == slot and same and n <= last_read(earlier):
                first, second = earlier.sym_name.data, later.sym_name.data
                raise PipelineError(
                    f"stages '{first}' and '{second}' of group '{group.sym_name.data}' share slot {slot} of shared "
                    f"memory, but '{first}' is still read when '{second}' is computed or after; write slot = {free} in "
                    f"the place of '{second}'",
                    later,
                )
