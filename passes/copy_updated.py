"""`copy-updated`: copy old functions of an update that have other readers, so that its kernel can write in place.

%h1 = img.update "u" (%x) of (%c = %f : ...) { ... }    // and others read %f, or %f is an input
=>
%copy = img.stage "u_old" (%x) -> f32 { %v = img.read %f[%x] ...; img.yield %v : f32 }
%h1 = img.update "u" (%x) of (%c = %copy : ...) { ... }
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.access import free_name
from tilefuse.dialects.img.copies import copied_read, copy_stage
from tilefuse.dialects.img.ops import Definition, GroupOp, PipelineOp, UpdateOp


@dataclass(frozen=True)
class CopyUpdated(ModulePass):
    """Copy functions that an update would overwrite, but that other operations read."""

    name = "copy-updated"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                for update in [u for u in pipeline.body.walk() if isinstance(u, UpdateOp)]:
                    _copy(pipeline, update)


def _copy(pipeline: PipelineOp, update: UpdateOp) -> None:
    for number, old in enumerate(update.old_funcs):
        if isinstance(old.owner, Definition | GroupOp) and len(list(old.uses)) == 1:
            continue
        taken = {op.sym_name.data for op in pipeline.body.walk() if isinstance(op, Definition)}
        stage = copy_stage(free_name(f"{update.sym_name.data}_old", taken), old)
        stage.location = update.location
        anchor = update.parent_op() if isinstance(update.parent_op(), GroupOp) else update
        block = pipeline.body.block
        assert anchor is not None
        block.insert_op_before(stage, anchor)
        update.operands[len(update.mins) + len(update.extents) + number] = stage.funcs[0]


def copied(group: GroupOp) -> SSAValue | None:
    """Return the function that a group copies; None if the group does more than copy."""
    stages = list(group.stages)
    if group.update is not None or len(stages) != 1:
        return None
    read = copied_read(stages[0])
    return None if read is None else read.source
