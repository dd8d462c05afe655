"""Construction of groups from a pipeline's stages, once the partition is decided."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue, Use

from tilefuse.analysis.access import boundaries_over
from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.ops import BoundaryOp, GroupOp, PipelineOp, StageOp, YieldOp


def form_groups(pipeline: PipelineOp, model: PipelineModel, groups: Sequence[tuple[Sequence[int], int]]) -> None:
    """Gather stages into groups, each given by its members and its anchor as node ids."""
    formed = [form_group(model, members, anchor) for members, anchor in groups]
    if any(len(group.stored) > 1 for group in formed):
        # what reads one stage of a group may stand before another one
        _order(pipeline.body.block)


def form_group(model: PipelineModel, members: Sequence[int], anchor: int) -> GroupOp:
    """Move the stages into a group in place of its anchor."""
    stages = [_stage(model, id) for id in members]
    last = _stage(model, anchor)
    body = Block()
    leaving = [f for s in stages for f in s.funcs if s is last or any(_uses(f, stages, inside=False))]
    group = GroupOp(last.sym_name.data, [f.type for f in leaving], Region(body))
    group.location = last.location
    outer = last.parent_block()
    assert outer is not None
    outer.insert_op_after(group, last)
    inner: dict[SSAValue, SSAValue] = {}
    for stage in stages:
        over = list(boundaries_over(list(stage.funcs)))
        stage.detach()
        body.add_op(stage)
        for boundary in over if stage is not last else ():
            _move_in(boundary, stages, body, inner)
    for function, result in zip(leaving, group.funcs, strict=True):
        for use in list(function.uses):
            if not _is_inside(use.operation, stages, body):
                use.operation.operands[use.index] = result
        result.name_hint = function.name_hint
    body.add_op(YieldOp(leaving))
    return group


def _stage(model: PipelineModel, id: int) -> StageOp:
    op = model.nodes[id].op
    assert isinstance(op, StageOp)
    return op


def _uses(function: SSAValue, stages: Collection[StageOp], *, inside: bool) -> Iterator[Use]:
    """Yield the uses of a function, through boundaries too, by the stages of a group, or by all others."""
    for use in function.uses:
        if isinstance(use.operation, BoundaryOp):
            yield from _uses(use.operation.func, stages, inside=inside)
        elif (use.operation.parent_op() in stages) is inside:
            yield use


def _move_in(boundary: BoundaryOp, stages: Collection[StageOp], body: Block, inner: dict[SSAValue, SSAValue]) -> None:
    """Move a boundary over a stage into the group; if it has outside readers, copy it.

    `inner`: of the functions of such boundaries those that the group has instead.
    """
    moved = boundary
    if any(_uses(boundary.func, stages, inside=False)):
        if not any(_uses(boundary.func, stages, inside=True)):
            return
        moved = boundary.clone()
        moved.func.name_hint = boundary.func.name_hint
        for use in list(boundary.func.uses):
            if use.operation.parent_op() in stages:
                use.operation.operands[use.index] = moved.func
        inner[boundary.func] = moved.func
    else:
        boundary.detach()
    for i, operand in enumerate(moved.operands):
        moved.operands[i] = inner.get(operand, operand)
    body.add_op(moved)


def _is_inside(op: Operation, stages: Collection[StageOp], body: Block) -> bool:
    return op.parent_op() in stages or op.parent_block() is body


def _order(block: Block) -> None:
    """Move the operands of an operation before it, and keep the order otherwise."""
    from tilefuse.analysis.graph import uses_first  # late: networkx takes long to import

    def uses(op: Operation) -> Iterator[Operation]:
        owners = (value.owner for inner in op.walk() for value in inner.operands)
        return (o for o in owners if isinstance(o, Operation) and o is not op and o.parent_block() is block)

    ops = list(block.ops)
    ordered = uses_first(ops, uses)
    if ordered != ops:
        for op in ops:
            op.detach()
        block.add_ops(ordered)
