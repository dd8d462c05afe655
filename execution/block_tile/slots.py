"""Check that stages of one shared-memory slot have disjoint lifetimes."""

from __future__ import annotations

from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Level, Memory
from tilefuse.dialects.img.ops import GroupOp, StageOp
from tilefuse.execution.places import placed_stages


def check_slots(group: GroupOp, model: PipelineModel) -> None:
    """Raise PipelineError if a stage would overwrite shared memory that is still to be read.

    Stages stand in program order, which is the order of the block's phases; the output is the last phase.
    """
    shared = [s for s in placed_stages(group) if s.place and s.place.where == (Level.Block, Memory.Shared)]
    id = {s: model.node_of[s.funcs[0]] for s in group.tiled}
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
