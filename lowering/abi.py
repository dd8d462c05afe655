"""Calling convention of a group's kernel: name, arguments in order, threads. The execution model gives the grid.

The lowering and the runtime both ask here, so there is one description of a launch: the group itself.
"""

from __future__ import annotations

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
from tilefuse.analysis.duplicates import read_planes
from tilefuse.analysis.model import is_temporary, pipeline_of
from tilefuse.analysis.strides import static_strides
from tilefuse.dialects.img.ops import (
    GroupOp,
    PipelineOp,
    ReadOp,
)
from tilefuse.dialects.img.types import FuncType
from tilefuse.lowering.symbols import function_symbol


@dataclass(frozen=True)
class KernelArg:
    """One kernel argument: a buffer or a scalar; `value` is its SSA value.

    `inout`: what is read and written over. Workspaces come behind these (`lowering/workspaces.py`).
    """

    kind: Literal["input", "inout", "output", "scalar"]
    value: SSAValue
    planes: tuple[int, ...] = ()
    """Per dimension of a function, the coordinate from which the kernel counts, so that groups may share it."""


def groups_of(pipeline: PipelineOp) -> list[GroupOp]:
    """Return the groups of a pipeline in order: one per launch."""
    return [op for op in pipeline.body.block.ops if isinstance(op, GroupOp)]


def kernel_name(group: GroupOp) -> str:
    """Return the kernel's symbol, from pipeline and group; identical kernels share the symbol of the first group."""
    shared = group.attributes.get("kernel")
    if isinstance(shared, StringAttr):
        return shared.data
    return function_of(group, "kernel")


def function_of(group: GroupOp, role: str) -> str:
    """Return the symbol of a function of the group, by its role (`symbols.ROLES`)."""
    return function_symbol(pipeline_of(group).sym_name.data, group.sym_name.data, role)


def kernel_args(group: GroupOp) -> list[KernelArg]:
    """List a kernel's arguments: functions read from outside in order of first use, then results, then scalars.

    An update's old functions come first. Where its kernel writes over them, it takes from the results no more than
    their boxes.
    """
    inputs: dict[SSAValue, None] = {}
    scalars: dict[SSAValue, None] = {}

    def scalar(value: SSAValue) -> None:
        if not isinstance(value.owner, arith.ConstantOp):
            scalars[value] = None

    if group.update is not None:
        inputs.update(dict.fromkeys(group.old_funcs if group.prologue is None else ()))
        for update in group.updates:
            for value in (*update.mins, *update.extents):
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
    written = {old for _, old in written_over(group)}
    planes = read_planes(group)

    def function(kind: Literal["input", "inout", "output"], value: SSAValue) -> KernelArg:
        assert isinstance(value.type, FuncType)
        known = planes.get(value, (None,) * value.type.rank.data)
        return KernelArg(kind, value, tuple(plane or 0 for plane in known))

    return [
        *(function("inout" if v in written else "input", v) for v in inputs),
        *(function("output", v) for v in group.funcs),
        *(KernelArg("scalar", v) for v in scalars),
    ]


def written_over(group: GroupOp) -> list[tuple[SSAValue, SSAValue]]:
    """Map each result of an update's group that is computed in place to the old function whose memory it takes.

    None where the kernel computes these itself, or stores something else in the update's place.
    """
    if group.update is None or group.fused_stages:
        return []
    return list(zip(group.funcs, group.old_funcs, strict=True))


def update_box(group: GroupOp, of_results: Box) -> Box:
    """Return an update's box in its own dimensions, from the box of its group's results."""
    return tuple(of_results[d] for d in group.permutation)


def memref_type(value: SSAValue) -> MemRefType:
    """Return the kernel-level type of a function in memory: NumPy axis order, signless elements."""
    type = value.type
    assert isinstance(type, FuncType)
    strides = [NoneAttr() if s is None else IntAttr(s) for s in reversed(static_strides(value))]
    return MemRefType(type.storage, [DYNAMIC_INDEX] * type.rank.data, StridedLayoutAttr(ArrayAttr(strides), IntAttr(0)))


def threads(group: GroupOp) -> tuple[int, int, int]:
    """Return the threads of a block: x, y, z."""
    assert group.schedule is not None
    counts = [*group.schedule.thread_counts, 1, 1, 1]
    return (counts[0], counts[1], counts[2])


def touches_temporaries(group: GroupOp) -> bool:
    """Whether a kernel reads or writes a function that is neither an input nor an output of the pipeline."""
    return any(is_temporary(a.value, group) for a in kernel_args(group) if a.kind != "scalar")
