"""How a group's kernel is called: its name, its arguments in order, its grid.

The lowering and the runtime both ask here, so there is one description of a launch: the group itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import SSAValue

from tilefuse.analysis.access import behind_boundaries
from tilefuse.analysis.bounds import Box
from tilefuse.analysis.model import PipelineModel, extract, is_temporary, pipeline_of
from tilefuse.analysis.regions import Follow, alignment, follow_chain
from tilefuse.analysis.strides import static_strides
from tilefuse.dialects.img.ops import (
    GroupOp,
    PipelineOp,
    ReadOp,
)
from tilefuse.dialects.img.types import FuncType
from tilefuse.lowering.stored import anchor_box, stored_stages
from tilefuse.lowering.symbols import symbol


@dataclass(frozen=True)
class KernelArg:
    """One argument: a buffer or a scalar; `value` is the SSA value it holds.

    `inout`: what is read and written over. Workspaces come behind these (`lowering/workspaces.py`).
    """

    kind: Literal["input", "inout", "output", "scalar"]
    value: SSAValue


def groups_of(pipeline: PipelineOp) -> list[GroupOp]:
    """The groups of a pipeline: one per launch, in order."""
    return [op for op in pipeline.body.block.ops if isinstance(op, GroupOp)]


def kernel_name(group: GroupOp) -> str:
    """The symbol of the kernel: pipeline and group; that of another group where one kernel serves both."""
    shared = group.attributes.get("kernel")
    if isinstance(shared, StringAttr):
        return shared.data
    return function_of(group, "kernel")


def function_of(group: GroupOp, role: str) -> str:
    """The symbol of a function of the group itself, by its role (`symbols.ROLES`)."""
    return symbol(pipeline_of(group).sym_name.data, group.sym_name.data, role)


def kernel_args(group: GroupOp) -> list[KernelArg]:
    """Functions read from outside, in order of first use; then the results; then the scalars.

    An update's old functions, which its kernel writes over, come first; it takes from the results no more than their
    boxes.
    """
    inputs: dict[SSAValue, None] = {}
    scalars: dict[SSAValue, None] = {}

    def scalar(value: SSAValue) -> None:
        if not isinstance(value.owner, arith.ConstantOp):
            scalars[value] = None

    if group.update is not None:
        inputs.update(dict.fromkeys(group.update.olds))
        for value in (*group.update.mins, *group.update.extents):
            scalar(value)
    for stage in group.definitions:
        inside = {r for op in stage.body.walk() for r in op.results} | set(stage.body.block.args)
        for op in stage.body.walk():
            for value in op.operands:
                if value in inside:
                    continue
                if not isinstance(value.type, FuncType):
                    scalar(value)
                    continue
                assert isinstance(op, ReadOp)
                base, boundaries = behind_boundaries(value)
                if base.owner.parent_op() is not group:
                    inputs[base] = None
                for b in boundaries:
                    for v in (*b.mins, *b.extents, *([b.exterior] if b.exterior is not None else [])):
                        scalar(v)
    olds = group.update.olds if group.update is not None else ()
    return [
        *(KernelArg("inout" if v in olds else "input", v) for v in inputs),
        *(KernelArg("output", v) for v in group.funcs),
        *(KernelArg("scalar", v) for v in scalars),
    ]


def memref_type(value: SSAValue) -> MemRefType:
    """The kernel-level type of a function in memory: NumPy axis order, signless elements."""
    type = value.type
    assert isinstance(type, FuncType)
    strides = [NoneAttr() if s is None else IntAttr(s) for s in reversed(static_strides(value))]
    return MemRefType(type.storage, [DYNAMIC_INDEX] * type.rank.data, StridedLayoutAttr(ArrayAttr(strides), IntAttr(0)))


def threads(group: GroupOp) -> tuple[int, int, int]:
    """Threads of a block: x, y, z."""
    assert group.schedule is not None
    counts = [*group.schedule.thread_counts, 1, 1, 1]
    return (counts[0], counts[1], counts[2])


def tile_sizes(group: GroupOp) -> tuple[int, ...]:
    """Output points that one block computes, per dimension, x first."""
    assert group.schedule is not None
    return group.schedule.tile_sizes


def origin_alignment(group: GroupOp, model: PipelineModel | None = None) -> tuple[int, ...]:
    """Tile origins are multiples of this, per dimension: more than 1 for scaled accesses, and along x for vectors.

    Temporaries lie in memory so that columns which are multiples of a vector do at multiples of its size.
    """
    model = model or extract(pipeline_of(group))
    along_x, *others = (*alignment(follow_of(group, model), group.anchor.rank), 1)
    if group.schedule is not None and touches_temporaries(group):
        along_x = math.lcm(along_x, group.schedule.vector_width)
    return (along_x, *others)[: group.anchor.rank]


def follow_of(group: GroupOp, model: PipelineModel) -> dict[int, tuple[Follow, ...]]:
    """How the dimensions of each stage of a group follow its tile. Raises NotFusable for an illegal group."""
    members = [model.node_of[s.funcs[0]] for s in group.stages]
    return follow_chain(model, members, model.node_of[group.anchor.funcs[0]])


def touches_temporaries(group: GroupOp) -> bool:
    """Whether a kernel reads or writes what is neither an input nor an output of the pipeline."""
    return any(is_temporary(a.value, group) for a in kernel_args(group) if a.kind != "scalar")


def tiles(group: GroupOp, boxes: Sequence[Box]) -> list[int]:
    """Tiles per dimension that cover the boxes of the group's functions."""
    model = extract(pipeline_of(group))
    stored = stored_stages(group, model, follow_of(group, model))
    counts = []
    sizes, align = tile_sizes(group), origin_alignment(group, model)
    for (low, extent), t, a in zip(anchor_box(stored, boxes), sizes, align, strict=True):
        first = low // a * a
        counts.append(-(-(low + extent - first) // t))
    return counts


def grid(group: GroupOp, boxes: Sequence[Box]) -> tuple[int, int, int]:
    """Blocks: x, y, z (z counts all dimensions from the third on). `boxes`: those of the group's functions."""
    assert group.schedule is not None
    if group.update is not None:
        pure = tuple(boxes[0][d] for d in group.update.pure_dims)
        counts = [-(-extent // size) for (_, extent), size in zip(pure, tile_sizes(group), strict=True)]
    else:
        counts = tiles(group, boxes)
    if len(counts) > 1:
        counts[1] = -(-counts[1] // group.schedule.tiles_per_block)
    z = 1
    for n in counts[2:]:
        z *= n
    return (counts[0] if counts else 1, counts[1] if len(counts) > 1 else 1, z)
