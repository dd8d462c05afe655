"""Specialisation: known facts about a call's buffers are written into a copy of the module before scheduling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilefuse.analysis.access import defining_op
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import BoxAttr, Interval
from tilefuse.dialects.img.copies import copy_stage
from tilefuse.dialects.img.ops import Definition, ExtentOp, GroupOp, InputOp, MinOp, ParamOp, PipelineOp, StageOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.runtime.arrays.layouts import ALIGNMENT, INPUT_ALIGN, OUTPUT_ALIGNS, OUTPUT_LAYOUTS, BufferSpec


def find_pipeline(module: ModuleOp) -> PipelineOp:
    """Return the one pipeline of a module; PipelineError if there is none, or more than one."""
    found = [op for op in module.body.block.ops if isinstance(op, PipelineOp)]
    if len(found) != 1:
        raise PipelineError(f"a module must have one img.pipeline; this module has {len(found)}", module)
    return found[0]


def give_outputs_stages(pipeline: PipelineOp) -> None:
    """Give each output a stage of its own: a copy if it is an input, a boundary, an update, or returned twice."""
    returned = pipeline.return_op
    names = {op.sym_name.data for op in pipeline.body.walk() if isinstance(op, InputOp | ParamOp | Definition)}
    seen: set[SSAValue] = set()
    for index, (name, func) in enumerate(returned.outputs):
        owner = func.owner
        by_stage = isinstance(defining_op(func) if isinstance(owner, GroupOp) else owner, StageOp)
        if by_stage and func not in seen:
            seen.add(func)
            continue
        fresh = name
        while fresh in names:
            fresh += "_out"
        names.add(fresh)
        stage = copy_stage(fresh, func)
        stage.location = returned.location
        Rewriter.insert_op(stage, InsertPoint.before(returned))
        returned.operands[index] = stage.funcs[0]


def specialize(
    module: ModuleOp,
    inputs: Mapping[str, BufferSpec],
    outputs: Sequence[BufferSpec],
) -> ModuleOp:
    """Specialise a copy of `module` to the layouts of inputs (by name) and outputs (in order)."""
    copy = module.clone()
    pipeline = find_pipeline(copy)
    for op in pipeline.body.block.ops:
        if isinstance(op, InputOp):
            _specialize_input(op, inputs[op.sym_name.data])
    returned = pipeline.return_op
    returned.attributes[OUTPUT_LAYOUTS] = ArrayAttr([_layout(spec.strides) for spec in outputs])
    aligns = [_align(spec, f) for spec, f in zip(outputs, returned.funcs, strict=True)]
    returned.attributes[OUTPUT_ALIGNS] = DenseArrayBase.from_list(i64, aligns)
    for spec, func in zip(outputs, returned.funcs, strict=True):
        stage = defining_op(func)
        assert isinstance(stage, StageOp)
        stage.bounds = _bounds(stage.bounds, spec.bounds)
    return copy


def _specialize_input(op: InputOp, spec: BufferSpec) -> None:
    op.layout = _layout(spec.strides)
    op.bounds = _bounds(op.bounds, spec.bounds)
    op.attributes[INPUT_ALIGN] = IntegerAttr(_align(spec, op.func), i64)
    if op.bounds is not None:
        _write_out_sizes(op, op.bounds.data)


def _write_out_sizes(op: InputOp, bounds: Sequence[Interval | None]) -> None:
    """Replace an input's sizes by constants where its bounds give them, so that reductions have known extents."""
    for size in [use.operation for use in op.func.uses]:
        if isinstance(size, MinOp | ExtentOp) and (known := bounds[size.dim.value.data]) is not None:
            constant = arith.ConstantOp(IntegerAttr(known[isinstance(size, ExtentOp)], IndexType()))
            constant.location = size.location
            Rewriter.replace_op(size, constant)


def _align(spec: BufferSpec, func: SSAValue) -> int:
    assert isinstance(func.type, FuncType)
    return ALIGNMENT if spec.aligned else element_bytes(func.type.element)


def _layout(strides: Sequence[int | None]) -> StridedLayoutAttr:
    return StridedLayoutAttr([NoneAttr() if s is None else IntAttr(s) for s in strides])


def _bounds(declared: BoxAttr | None, known: Sequence[Interval | None]) -> BoxAttr | None:
    """Merge the declared bounds with other known bounds."""
    if declared is not None:
        known = [k if d is None else d for d, k in zip(declared.data, known, strict=True)]
    return BoxAttr(tuple(known)) if any(known) else None
