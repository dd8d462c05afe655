"""Argument checks of the evaluator: inputs, parameters, output boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness
from xdsl.ir import SSAValue

from tilefuse.dialects.img.attrs import Box as Box
from tilefuse.dialects.img.elements import ELEMENTS, Array
from tilefuse.dialects.img.ops import InputOp, ParamOp, PipelineOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.evaluator.carriers import CARRIERS, carried, carry_array
from tilefuse.evaluator.errors import EvaluationError


def describe_box(box: Box) -> str:
    """Format `[0, 4) x [0, 3)`, x first."""
    return " x ".join(f"[{low}, {low + extent})" for low, extent in box) or "of one point"


def as_pipeline(module: PipelineOp | ModuleOp) -> PipelineOp:
    """Return the pipeline of a module, or the pipeline itself."""
    if isinstance(module, PipelineOp):
        return module
    found = [op for op in module.walk() if isinstance(op, PipelineOp)]
    if len(found) != 1:
        raise EvaluationError(f"the module holds {len(found)} pipelines; the evaluator takes one", module)
    return found[0]


def bound_inputs(
    pipeline: PipelineOp, inputs: Mapping[str, Array], mins: Mapping[str, Sequence[int]]
) -> Iterator[tuple[InputOp, Array, Box]]:
    """Return every input with its carried values and its box."""
    for op in pipeline.body.block.ops:
        if not isinstance(op, InputOp):
            continue
        name, type = op.sym_name.data, op.func.type
        if name not in inputs:
            raise EvaluationError(f"no array is given for input '{name}'", op)
        array = np.asarray(inputs[name])
        wanted, given = (
            ELEMENTS[type.element].dtype,
            array.dtype.name if array.dtype.isnative else array.dtype.str,
        )
        if given != wanted:
            raise EvaluationError(
                f"input '{name}' takes an array of {wanted}, not of {given}",
                op,
            )
        if array.ndim != type.rank.data:
            raise EvaluationError(f"input '{name}' has {type.rank.data} dimensions, the array has {array.ndim}", op)
        declared = op.bounds.data if op.bounds is not None else (None,) * array.ndim
        low = tuple(mins[name]) if name in mins else tuple(d[0] if d else 0 for d in declared)
        if len(low) != array.ndim:
            raise EvaluationError(f"input '{name}': {len(low)} mins for {array.ndim} dimensions", op)
        box = tuple(zip((int(m) for m in low), reversed(array.shape), strict=True))
        for dim, (have, fixed) in enumerate(zip(box, declared, strict=True)):
            if fixed is not None and fixed != have:
                raise EvaluationError(
                    f"input '{name}' is bound to {fixed[1]} points from {fixed[0]} in dimension {dim}, "
                    f"the array has {have[1]} from {have[0]}",
                    op,
                )
        yield op, carry_array(array, type.element), box


def bound_param(op: ParamOp, params: Mapping[str, int | float | bool]) -> Array:
    """Return the carried value of a parameter."""
    name, element = op.sym_name.data, op.element
    if name not in params:
        raise EvaluationError(f"no value is given for param '{name}'", op)
    value = params[name]
    if not isinstance(element, IntegerType):
        with np.errstate(over="ignore"):
            return np.asarray(carried(np.array(float(value), np.float64), op.value.type))
    width, number = element.width.data, int(value)
    low = -(2 ** (width - 1)) if element.signedness.data is Signedness.SIGNED else 0
    if number != value or not low <= number < low + 2**width:
        raise EvaluationError(f"param '{name}' is of type {element}, which {value!r} is not", op)
    return np.array(number % 2**width, np.uint64).astype(CARRIERS[op.value.type])


def output_box(pipeline: PipelineOp, name: str, func: SSAValue, boxes: Mapping[str, Sequence[tuple[int, int]]]) -> Box:
    """Return the box of one output."""
    assert isinstance(func.type, FuncType)
    rank = func.type.rank.data
    if name not in boxes:
        raise EvaluationError(
            f"no box is given for output '{name}'; name its min and extent in {rank} dimensions",
            pipeline.return_op,
        )
    box = tuple((int(low), int(extent)) for low, extent in boxes[name])
    if len(box) != rank or any(extent <= 0 for _, extent in box):
        raise EvaluationError(
            f"output '{name}': box {describe_box(box)} needs {rank} dimensions with positive extents",
            pipeline.return_op,
        )
    return box
