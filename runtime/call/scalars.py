"""Scalars of a call: checks of parameters, and evaluation of the scalars between the stages.

A scalar expression means what it means in a stage, so it is computed by the evaluator, as a stage of rank 0.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilefuse.analysis.bounds import Box
from tilefuse.dialects.img.elements import FLOATS
from tilefuse.dialects.img.ops import (
    BoundaryOp,
    ExtentOp,
    InputOp,
    MinOp,
    ParamOp,
    PipelineOp,
    ReadOp,
    ReturnOp,
    StageOp,
    UpdateOp,
    WriteOp,
    YieldOp,
)
from tilefuse.runtime.errors import CallError, CallTypeError

Scalar = int | float | bool


def checked(op: ParamOp, value: Any) -> Scalar:
    """Convert `value` to a parameter's type. Raises CallError if it does not fit."""
    name, element = op.sym_name.data, op.element
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.bool_):
        value = bool(value)
    if not isinstance(value, Real):
        raise CallTypeError(f"param '{name}' takes a number of type {element}, not a {type(value).__name__}")
    if isinstance(element, IntegerType):
        if not isinstance(value, Integral):
            raise CallTypeError(f"param '{name}' takes an integer of type {element}, not {value!r}")
        low, high = _integer_range(element)
        if not low <= int(value) <= high:
            raise CallError(f"param '{name}' is {value}, outside of {element}: {low} to {high}")
        return bool(value) if element.width.data == 1 else int(value)
    facts = FLOATS[element]
    limit = facts.limits[1]
    try:
        number = float(value)
    except OverflowError:  # of an integer
        number = math.inf
    if (math.isfinite(number) and abs(number) > limit) or (math.isinf(number) and value != number):
        raise CallError(f"param '{name}' is {value}, outside of {element}: at most {limit}")
    return facts.rounded(number) if facts.is_narrow_float else number


def _integer_range(element: IntegerType) -> tuple[int, int]:
    width = element.width.data
    if element.signedness.data == Signedness.SIGNED:
        return -(2 ** (width - 1)), 2 ** (width - 1) - 1
    return 0, 2**width - 1


def distinct(params: Mapping[str, Scalar], names: Sequence[str]) -> tuple[Scalar | str, ...]:
    """Return a hashable key of the values of some parameters, in any order of the call.

    Floats by their text: -0.0 equals 0.0, and NaN does not equal itself.
    """
    return tuple([v.hex() if isinstance(v := params[n], float) else v for n in names])


def params_in_boxes(pipeline: PipelineOp) -> tuple[str, ...]:
    """Find the parameters on which an index or a boundary's box depends, so that they determine sizes."""
    params = [op for op in pipeline.body.block.ops if isinstance(op, ParamOp)]
    return tuple(op.sym_name.data for op in params if _reaches_box(op.value))


def _reaches_box(value: SSAValue) -> bool:
    seen: set[SSAValue] = set()
    waiting = [value]
    while waiting:
        v = waiting.pop()
        if v in seen:
            continue
        seen.add(v)
        for use in v.uses:
            op = use.operation
            if isinstance(op, ReadOp | UpdateOp) or (isinstance(op, BoundaryOp) and v is not op.exterior):
                return True
            if isinstance(op, WriteOp) and v in op.indices:
                return True
            if not isinstance(op, StageOp | YieldOp | WriteOp):
                waiting.extend(op.results)
    return False


def params_of(values: Sequence[SSAValue]) -> list[str]:
    """Return the names of the parameters on which scalars depend."""
    ops = {op: None for v in values for op in _slice(v)}
    return [op.sym_name.data for op in ops if isinstance(op, ParamOp)]


def _slice(value: SSAValue) -> list[Operation]:
    """Return the ops between the stages that compute `value`, in order, each once."""
    ordered: dict[Operation, None] = {}

    def visit(v: SSAValue) -> None:
        op = v.owner
        assert isinstance(op, Operation)
        if op in ordered or isinstance(op, InputOp):
            return
        for operand in op.operands:
            visit(operand)
        ordered[op] = None

    visit(value)
    return list(ordered)


def evaluate_scalars(
    values: Sequence[SSAValue], boxes: Mapping[str, Box], params: Mapping[str, Scalar]
) -> list[Scalar]:
    """Evaluate the scalars of a pipeline in a call. Integers are unsigned, indices signed."""
    results: dict[SSAValue, Scalar] = {}
    rest = []
    for v in values:
        if isinstance(v.owner, ParamOp):
            results[v] = params[v.owner.sym_name.data]
        else:
            rest.append(v)
    if rest:
        results.update(zip(rest, _evaluate(rest, boxes, params), strict=True))
    return [results[v] for v in values]


def _evaluate(values: Sequence[SSAValue], boxes: Mapping[str, Box], params: Mapping[str, Scalar]) -> list[Scalar]:
    from tilefuse.evaluator import evaluate

    head: list[Operation] = []
    stages: list[Operation] = []
    copies: dict[SSAValue, SSAValue] = {}
    used: dict[str, Scalar] = {}
    for op in {op: None for v in values for op in _slice(v)}:
        if isinstance(op, MinOp | ExtentOp):
            assert isinstance(op.input.owner, InputOp)
            low, extent = boxes[op.input.owner.sym_name.data][op.dim.value.data]
            new: Operation = arith.ConstantOp(IntegerAttr(extent if isinstance(op, ExtentOp) else low, IndexType()))
            copies[op.value] = new.results[0]
        else:
            new = op.clone(copies)
            if isinstance(op, ParamOp):
                used[op.sym_name.data] = params[op.sym_name.data]
        head.append(new)
    for n, v in enumerate(values):
        result, body = copies[v], []
        element: Attribute = v.type
        if isinstance(element, IndexType):
            cast = arith.IndexCastOp(result, i64)
            body, result, element = [cast], cast.result, IntegerType(64, Signedness.SIGNED)
        elif isinstance(element, IntegerType) and element.width.data > 1:
            element = IntegerType(element.width.data, Signedness.UNSIGNED)
        block = Block([*body, YieldOp([result])])
        stages.append(StageOp(f"scalar {n}", [element], Region(block)))
    outputs = [(f"s{n}", stage.results[0]) for n, stage in enumerate(stages)]
    pipeline = PipelineOp("scalars", Region(Block([*head, *stages, ReturnOp(outputs)])))
    found = evaluate(pipeline, {}, used, {name: () for name, _ in outputs}, {})
    return [found[name][()].item() for name, _ in outputs]


_WORD = 2**64 - 1


def word(value: Scalar, type: Attribute) -> int:
    """Encode a scalar in the low bytes of 64 bits, as a kernel takes it (narrow floats as float)."""
    if isinstance(type, IntegerType | IndexType):
        return int(value) & _WORD
    if isinstance(type, Float64Type):
        return int.from_bytes(struct.pack("<d", value), "little")
    with np.errstate(over="ignore"):
        single = np.float32(value)
    return int.from_bytes(struct.pack("<f", single), "little")
