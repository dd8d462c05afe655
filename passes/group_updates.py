"""`group-updates`: every update gets a group of its own.

    %h1 = img.update "hist_update" (%y) over (%r in [%lo, %n]) of (%h = %h0 : !img.func<2xui32>) { ... }
    =>
    %h1 = img.group "hist_update" {
      %u = img.update "hist_update" ...
      img.yield %u : !img.func<2xui32>
    } : !img.func<2xui32>

The kernel writes over the old functions. `copy-updated` has seen to it that nobody else reads these.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass

from tilefuse.dialects.img.ops import GroupOp, PipelineOp, UpdateOp, YieldOp


@dataclass(frozen=True)
class GroupUpdates(ModulePass):
    """Put each update that stands in the pipeline into a group."""

    name = "group-updates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in [p for p in op.body.block.ops if isinstance(p, PipelineOp)]:
            for update in [u for u in pipeline.body.block.ops if isinstance(u, UpdateOp)]:
                _form_group(update)


def _form_group(update: UpdateOp) -> None:
    body = Block()
    group = GroupOp(update.sym_name.data, update.result_types, Region(body))
    group.location = update.location
    outer = update.parent_block()
    assert outer is not None
    outer.insert_op_before(group, update)
    for inner, result in zip(update.funcs, group.funcs, strict=True):
        inner.replace_all_uses_with(result)
        result.name_hint = inner.name_hint
    update.detach()
    body.add_ops([update, YieldOp(list(update.funcs))])
