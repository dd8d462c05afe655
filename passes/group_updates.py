"""`group-updates`: put every update into a group of its own, with the stages that its kernel computes beside it.

    %f = img.group "f" { %f_1 = img.stage "f" (%x, %y) -> f32 { ... }  img.yield %f_1 ... }
    %f1 = img.update "f_update" (%x, %y) over (%r in [%lo, %n]) of (%c = %f : !img.func<2xf32>) combine [add] { ... }
    %relu = img.group "relu" { %relu_1 = img.stage "relu" ... reads %f1[%x, %y] ... }
    =>
    %relu = img.group "f_update" {
      %f = img.stage "f" ...
      %f1 = img.update "f_update" ... of (%c = %f : ...) ...
      %relu_1 = img.stage "relu" ...
      img.yield %relu_1 : !img.func<2xf32>
    } : !img.func<2xf32>

A stage that only initialises an update is computed where the update starts from its values (its prologue). The only
reader of an update, at the same point, is computed where the update's result would be stored (its epilogue). Neither
then has a kernel of its own, nor do its values go through memory. This needs an update whose dimensions are all pure,
so that each point belongs to one thread; on GPUs a stage may also initialise the tables of threads (`scatter` with
`thread_tables = 1`). The only reader of a recurrence is stored in the recurrence's place, on GPUs also if it reads a
transposed point (the block stores it through shared memory), on CPUs also if lines across memory become rows (through
an array of a thread). On CPUs updates along the same lines, such as those of a filter down all columns and up again,
are one group: a kernel takes a strip of lines through all of them, together with prologue and epilogue.

Stages that already share a group with others stay there. Stages of more than a few instructions have their own kernel,
since they would be computed inline for every point of a thread; on CPUs so have stages with several gathers, such as
reads past the edges, without which other kernels compute most columns. On GPUs so have stages next to reductions over
many terms, or an unknown number of them, whose time exceeds the saving by far. The kernel overwrites the old functions:
`copy-updated` has copied them if other operations read them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.access import StageRead, accesses
from tilefuse.analysis.index import GeneralIndex, Index
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.analysis.machine import check_target, machine
from tilefuse.analysis.updates import UpdateFacts
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import Definition, GroupOp, PipelineOp, StageOp, UpdateOp, YieldOp, prints
from tilefuse.dialects.img.ops.group import permutation_of
from tilefuse.dialects.options import check_numbers
from tilefuse.execution.registry import models

COST_OF_GATHER = 12.0
"""Instructions of a CPU's read of points that are not adjacent, for each vector, whose lanes are loaded one by one."""


@dataclass(frozen=True)
class GroupUpdates(ModulePass):
    """Put each update into a group, with the stages that are fused with it."""

    name = "group-updates"

    target: str = "h200"
    """Machine whose costs decide: a GPU's model or arch, or cpu."""
    max_instructions: float = 24.0
    """Instructions per point, including reads, up to which a stage is fused with an update as prologue or epilogue; 0
    for none."""
    max_steps: int = 768
    """Points of a reduction domain up to which GPUs fuse stages with the reduction. For larger domains a separate
    kernel for the initial values costs next to nothing, and the reduction overlaps with its end."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_numbers(self, max_instructions=0, max_steps=0)
        check_target(self.target, self.name)
        for pipeline in [p for p in op.body.block.ops if isinstance(p, PipelineOp)]:
            for update in [u for u in pipeline.body.block.ops if isinstance(u, UpdateOp)]:
                if isinstance(update.parent_op(), PipelineOp):
                    self._form_group(self._together(update))

    def _together(self, update: UpdateOp) -> Sequence[UpdateOp]:
        """Return the update, and the updates behind it that a kernel takes with it."""
        warps = machine(self.target).is_gpu
        return max((model.updates_to_fuse(update, warps=warps) for model in models()), key=len)

    def _form_group(self, updates: Sequence[UpdateOp]) -> None:
        update, several = updates[-1], len(updates) > 1
        finish = self._finish(update, several)
        initial = self._initial(updates[0]) if several or self._starts_inside(update, finish) else None
        last: Definition = update if finish is None else finish
        leaving = {f: outer for f, outer in _outside(last).items() if finish is None or any(True for _ in outer.uses)}
        body = Block()
        group = GroupOp(update.sym_name.data, [f.type for f in leaving], Region(body))
        group.location = update.location
        at = last if isinstance(last.parent_op(), PipelineOp) else last.parent_op()
        assert at is not None
        outer_block = at.parent_block()
        assert outer_block is not None
        outer_block.insert_op_before(group, at)
        for (inner, outer), result in zip(leaving.items(), group.funcs, strict=True):
            outer.replace_all_uses_with(result)
            result.name_hint = inner.name_hint
        for definition in (initial, *updates, finish):
            if definition is not None:
                _take(definition)
                body.add_op(definition)
        body.add_op(YieldOp(list(leaving)))

    def _starts_inside(self, update: UpdateOp, finish: StageOp | None) -> bool:
        """Whether a kernel may start from a stage's values: each point in registers, or each pure one in a table."""
        if not self._has_few_steps(update):
            return False
        if len(update.pure) == update.rank:
            return True
        facts = UpdateFacts(update)
        alone = finish is None and not facts.reads_itself and machine(self.target).is_gpu
        return alone and any(model.fits_initial_values(update) for model in models())

    def _initial(self, update: UpdateOp) -> StageOp | None:
        """Return the stage that gives all old functions, and nothing else."""
        stage = _alone(update.old_funcs[0])
        if stage is None or not self._is_short(stage):
            return None
        given = [outer for outer in _outside(stage).values()]
        users = [use.operation for f in given for use in f.uses]
        same = sorted(given, key=id) == sorted(update.old_funcs, key=id)
        return stage if same and all(user is update for user in users) else None

    def _finish(self, update: UpdateOp, several: bool) -> StageOp | None:
        """Return the stage that alone reads an update's results, at the point that it computes or a transposed one."""
        readers = {use.operation.parent_op() for f in update.funcs for use in f.uses}
        stage = readers.pop() if len(readers) == 1 else None
        if not isinstance(stage, StageOp) or stage.rank != update.rank or not self._is_short(stage):
            return None
        permutations = {permutation_of(use.operation, stage) for f in update.funcs for use in f.uses}
        given = list(_outside(stage).values())
        if None in permutations or len(permutations) > 1 or not given or _alone(given[0]) is not stage:
            return None
        if len(update.pure) == update.rank:
            return stage if permutations == {tuple(range(update.rank))} and self._has_few_steps(update) else None
        warps = machine(self.target).is_gpu
        finished = any(model.fuses_reader(update, stage, warps=warps, several=several) for model in models())
        return stage if finished else None

    def _has_few_steps(self, update: UpdateOp) -> bool:
        if not machine(self.target).is_gpu:
            return True
        extents = [integer_constant(dimension.extent) for dimension in update.domain]
        return None not in extents and math.prod(n for n in extents if n is not None) <= self.max_steps

    def _is_short(self, stage: StageOp) -> bool:
        gathered = 1.0 if machine(self.target).is_gpu else COST_OF_GATHER
        cost = sum(instruction_cost(op) for op in stage.body.block.ops)
        cost += sum(gathered if _is_gathered(read) else 1.0 for read in accesses(stage))
        return stage.place is None and cost <= self.max_instructions and not prints(stage)


def _is_gathered(read: StageRead) -> bool:
    """Whether adjacent points of a stage read points of a function that are not adjacent, or may lie past its edges.

    Kernels of updates have no version for points whose reads lie inside of all edges.
    """
    x = read.indices[0] if read.indices else Index(None)
    straight = isinstance(x, Index) and (x.var is None or x.ratio == 1)
    follows_data = any(isinstance(i, GeneralIndex) and i.data_dependent for i in read.indices)
    return not straight or follows_data or any(0 in b.dims.get_values() for b in read.boundaries)


def _alone(function: SSAValue) -> StageOp | None:
    """Return the stage that gives a function, in the pipeline itself or in an unscheduled group of its own."""
    op = function.owner
    if isinstance(op, GroupOp):
        if op.schedule is not None or op.update is not None or len(op.body.block.ops) != 2:
            return None
        return op.anchor
    return op if isinstance(op, StageOp) and isinstance(op.parent_op(), PipelineOp) else None


def _outside(definition: Definition) -> dict[SSAValue, SSAValue]:
    """Return the functions of a definition that leave its group, each with the group's result for it."""
    group = definition.parent_op()
    if not isinstance(group, GroupOp):
        return {f: f for f in definition.funcs}
    return {f: result for f, result in zip(group.yield_op.values, group.funcs, strict=True) if f in definition.funcs}


def _take(definition: Definition) -> None:
    """Take a definition out of its group, and redirect uses of the group's results to its functions."""
    group: Operation | None = definition.parent_op()
    for inner, outer in _outside(definition).items():
        if outer is not inner:
            outer.replace_all_uses_with(inner)
    definition.detach()
    if isinstance(group, GroupOp):
        group.detach()
        group.erase()
