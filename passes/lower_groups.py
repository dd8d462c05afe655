"""`lower-groups`: lower every scheduled group to a kernel and its tile body (level 3 to level 4).

A warp-tiled body is left in operations on whole tiles, which `lower-warp-tiles` lowers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.duplicates import fingerprint
from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import PipelineModel, extract
from tilefuse.analysis.regions import NotFusable
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import Definition, GroupOp, PipelineOp, StageOp
from tilefuse.execution.base import group_error
from tilefuse.execution.code_length import check_length
from tilefuse.execution.few_tiles import share_few
from tilefuse.execution.registry import model_of
from tilefuse.lowering.abi import kernel_args, kernel_name

USUAL_CPU = "x86_64_avx512"


@dataclass(frozen=True)
class LowerGroups(ModulePass):
    """Lower every scheduled group to a kernel and its tile body, in standard dialects."""

    name = "lower-groups"

    warps: bool = True
    """Whether the target has warps; otherwise warp tiles become arrays and loops, with code short enough for a C
    compiler."""
    target: str = USUAL_CPU
    """CPU whose row says how much work one thread does before others would have begun; without warps."""
    skip: tuple[str, ...] = ()
    """Names of kernels that are lowered elsewhere, for which no functions are emitted."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        present = {f.sym_name.data for f in op.body.block.ops if isinstance(f, func.FuncOp)}
        for pipeline in [p for p in op.body.block.ops if isinstance(p, PipelineOp)]:
            groups = [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]
            for stage in pipeline.body.block.ops:
                if isinstance(stage, Definition):
                    what, by = ("stage", "group-stages") if isinstance(stage, StageOp) else ("update", "group-updates")
                    raise PipelineError(
                        f"{what} '{stage.sym_name.data}' is not in a group; run {by} before lower-groups", stage
                    )
            parallel = math.inf if self.warps else machine(self.target).parallel_instructions
            model = extract(pipeline, parallel_instructions=parallel)
            for group in groups:
                if (name := kernel_name(group)) in present:
                    raise PipelineError(
                        f"group '{group.sym_name.data}': there is a function @{name} already; a module is lowered once",
                        group,
                    )
            for first, *others in by_kernel(groups):
                for group in others:
                    group.attributes["kernel"] = StringAttr(kernel_name(first))
                if kernel_name(first) in self.skip:
                    continue
                check_length(first, model, warps=self.warps)
                for function in lower_group(first, model, _differing([first, *others], model)):
                    op.body.block.insert_op_before(function, pipeline)
                    if not self.warps and function.sym_name.data == kernel_name(first):
                        share_few(first, function, parallel)


def by_kernel(groups: Sequence[GroupOp]) -> list[list[GroupOp]]:
    """Map each kernel to the groups that it serves; it has the name of the first."""
    found: dict[Hashable, list[GroupOp]] = {}
    for group in groups:
        found.setdefault(fingerprint(group), []).append(group)
    return list(found.values())


def lower_group(
    group: GroupOp, model: PipelineModel, differing: Collection[SSAValue] = frozenset()
) -> list[func.FuncOp]:
    """Return the functions of one group's kernel; `differing` is the result of `_differing`."""
    if group.schedule is None:
        raise PipelineError(f"group '{group.sym_name.data}' has no schedule; run tile, or write one by hand", group)
    execution = model_of(group)
    execution.check_places(group, model)
    try:
        return execution.emit(group, model, differing)
    except NotFusable as error:
        raise group_error(group, error) from error


def _differing(groups: Sequence[GroupOp], model: PipelineModel) -> Collection[SSAValue]:
    """Find the functions of the first of a kernel's groups whose rows are vector-aligned in some of the groups only.

    Empty if all rows of the first do: then its launches have a version of the tile body without checks of alignment,
    and launches of others a version in which rows are moved by elements.
    """
    functions = [[a.value for a in kernel_args(g) if a.kind != "scalar"] for g in groups]
    starts = [[model.nodes[model.node_of[f]].aligned for f in row] for row in functions]
    if all(starts[0]):
        return frozenset()
    return frozenset(f for f, *places in zip(functions[0], *starts, strict=True) if len(set(places)) > 1)
