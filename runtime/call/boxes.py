"""Boxes of every input and output of a call, and the check that inputs hold all points that are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilefuse.analysis.bounds import Box, default_output_boxes, required_boxes
from tilefuse.analysis.index_reach import check_reach
from tilefuse.analysis.sizes import CallSizes
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import InputOp, PipelineOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.runtime.arrays.layouts import (
    INTERLEAVED,
    AxisOrder,
    array_shape,
    declared_layout,
    input_axis_order,
    planar,
)
from tilefuse.runtime.call.limits import FARTHEST_COORDINATE, check_limits, check_mins
from tilefuse.runtime.call.scalars import Scalar
from tilefuse.runtime.errors import CallError

_ENORMOUS = 1 << 24


def dim_name(dim: int) -> str:
    """Return `dimension 0 (x)`."""
    return f"dimension {dim} ({'xyzw'[dim]})" if dim < 4 else f"dimension {dim}"


@dataclass(frozen=True)
class Request:
    """Sizes that a call requests, by the names of inputs and outputs; extents and mins x first."""

    shapes: Mapping[str, tuple[int, ...]]
    """Shapes of the inputs, in the axes of their arrays."""
    out_shapes: Mapping[str, tuple[int, ...]]
    """Shapes of the outputs with an array from the caller."""
    sizes: Mapping[str, tuple[int, ...]]
    """Extents of the outputs that the caller gives."""
    mins: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class CallBoxes:
    """The boxes of a call, and the axis order of its arrays."""

    inputs: dict[str, Box]
    outputs: dict[str, Box]
    input_orders: dict[str, AxisOrder]
    output_orders: dict[str, AxisOrder]
    computed: dict[str, Box]
    """Computed boxes of the outputs, which are larger than the requested ones if other outputs read them."""


def input_ops(pipeline: PipelineOp) -> list[InputOp]:
    """Return the inputs in call order."""
    return [op for op in pipeline.body.block.ops if isinstance(op, InputOp)]


def rank_of(func_type: object) -> int:
    """Return the dimensions of a function type."""
    assert isinstance(func_type, FuncType)
    return func_type.rank.data


def resolve_boxes(pipeline: PipelineOp, request: Request, params: Mapping[str, Scalar]) -> CallBoxes:
    """Compute the boxes of a call. Raises CallError if an array is too small, or an output's size is unknown."""
    orders: dict[str, AxisOrder] = {}
    unclear: list[str] = []
    for op in input_ops(pipeline):
        name = op.sym_name.data
        order = input_axis_order(op, request.shapes[name])
        if order is None:
            unclear.append(name)
            order = planar(3)
        orders[name] = order
    try:
        return _with_orders(pipeline, request, params, orders)
    except CallError as error:
        if not unclear:
            raise
        shape = request.shapes[unclear[0]]
        raise CallError(
            f"input '{unclear[0]}' of shape {shape} may be planar (channel first) or interleaved (channel "
            "last), and as a planar picture it does not fit; say which with layout='interleaved' or "
            f"layout='planar' of the input ({error})"
        ) from None


def _with_orders(
    pipeline: PipelineOp, request: Request, params: Mapping[str, Scalar], orders: dict[str, AxisOrder]
) -> CallBoxes:
    inputs: dict[str, Box] = {}
    first_picture = next((orders[op.sym_name.data] for op in _pictures(pipeline)), planar(3))
    for op in input_ops(pipeline):
        name = op.sym_name.data
        extents = tuple(request.shapes[name][a] for a in orders[name])
        mins = _mins(request, name, len(extents), op)
        inputs[name] = tuple(zip(mins, extents, strict=True))
        _check_declared(op, inputs[name])
    output_orders = {
        name: first_picture if rank_of(f.type) == 3 else planar(rank_of(f.type))
        for name, f in pipeline.return_op.outputs
    }
    outputs = _output_boxes(pipeline, request, inputs, output_orders)
    boxes = CallBoxes(inputs, outputs, orders, output_orders, {})
    needed = _check_reads(pipeline, request, params, boxes)
    boxes.computed.update((name, needed[func]) for name, func in pipeline.return_op.outputs)
    return boxes


def _pictures(pipeline: PipelineOp) -> list[InputOp]:
    return [op for op in input_ops(pipeline) if rank_of(op.func.type) == 3]


def _mins(request: Request, name: str, rank: int, op: InputOp | None = None) -> tuple[int, ...]:
    given = request.mins.get(name)
    if given is not None:
        if len(given) != rank:
            raise CallError(f"mins of '{name}' take {rank} numbers, not {len(given)}")
        check_mins(name, given)
        return given
    declared = op.bounds.data if op is not None and op.bounds is not None else (None,) * rank
    return tuple(0 if d is None else d[0] for d in declared)


def _check_declared(op: InputOp, box: Box) -> None:
    for d, declared in enumerate(op.bounds.data if op.bounds is not None else ()):
        if declared is not None and declared != box[d]:
            raise CallError(
                f"input '{op.sym_name.data}': {dim_name(d)} is bound to {declared[1]} points from "
                f"{declared[0]}, but the array has {box[d][1]} from {box[d][0]}"
            )


def _output_boxes(
    pipeline: PipelineOp,
    request: Request,
    inputs: Mapping[str, Box],
    orders: Mapping[str, AxisOrder],
) -> dict[str, Box]:
    extents: dict[str, tuple[int, ...]] = {}
    for name, func in pipeline.return_op.outputs:
        rank = rank_of(func.type)
        shape, size = request.out_shapes.get(name), request.sizes.get(name)
        if size is not None and len(size) != rank:
            raise CallError(f"sizes of output '{name}' take {rank} numbers, not {len(size)}")
        if size is not None and any(n <= 0 for n in size):
            raise CallError(f"sizes of output '{name}' are {size}; they must be positive")
        if size is not None and max(size, default=1) > FARTHEST_COORDINATE:
            raise CallError(f"output '{name}' is too large for an array: {size}")
        if shape is not None and 0 in shape:
            raise CallError(f"output '{name}': the array given as out= holds no points: its shape is {shape}")
        if shape is not None:
            extents[name] = tuple(shape[a] for a in orders[name])
            if size is not None and size != extents[name]:
                raise CallError(
                    f"out= of output '{name}' has shape {shape}, but sizes= asks for {array_shape(size, orders[name])}"
                )
        elif size is not None:
            extents[name] = size
    names = [name for name, _ in pipeline.return_op.outputs]
    known = all(n in extents and n in request.mins for n in names)
    default = {} if known else _default_boxes(pipeline, inputs, extents.keys() >= set(names))
    boxes: dict[str, Box] = {}
    for name, func in pipeline.return_op.outputs:
        rank = rank_of(func.type)
        low = tuple(m for m, _ in default.get(name, ((0, 0),) * rank))
        size = extents[name] if name in extents else tuple(n for _, n in default[name])
        if name in request.mins:
            given = _mins(request, name, rank)
            if name not in extents:
                # The largest box from there on.
                size = tuple(n - (g - m) for n, g, m in zip(size, given, low, strict=True))
                if any(n <= 0 for n in size):
                    raise CallError(f"output '{name}': from mins {given} on, no point can be computed")
            low = given
        boxes[name] = tuple(zip(low, size, strict=True))
    return boxes


def _default_boxes(pipeline: PipelineOp, inputs: Mapping[str, Box], optional: bool) -> dict[str, Box]:
    """Return the largest outputs. `optional`: the caller gives all extents, so only the mins are needed."""
    try:
        return default_output_boxes(pipeline, inputs)
    except PipelineError as error:
        small = _too_small(pipeline, inputs)
        if small is not None:
            name, dim, needed = small
            have = inputs[name][dim][1]
            raise CallError(
                f"input '{name}' is too small: {have} points in {dim_name(dim)}, and the smallest output "
                f"needs {needed}; give a larger array or a boundary condition"
            ) from None
        if optional:
            return {}
        raise CallError(error.message) from None


def _too_small(pipeline: PipelineOp, inputs: Mapping[str, Box]) -> tuple[str, int, int] | None:
    """Find the input and dimension that leave an output without a point, and the extent that suffices."""

    def fits(name: str, dim: int, extent: int) -> bool:
        grown = list(inputs[name])
        grown[dim] = (grown[dim][0], extent)
        try:
            default_output_boxes(pipeline, {**inputs, name: tuple(grown)})
        except PipelineError as error:
            # Fixed in this dimension; the next message is about another one.
            return error.message != message
        return True

    try:
        default_output_boxes(pipeline, inputs)
    except PipelineError as error:
        message = error.message
    for name, box in inputs.items():
        for dim, (_, extent) in enumerate(box):
            if not fits(name, dim, _ENORMOUS):
                continue
            low, high = extent, _ENORMOUS
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if fits(name, dim, middle) else (middle, high)
            return name, dim, high
    return None


def _check_reads(
    pipeline: PipelineOp, request: Request, params: Mapping[str, Scalar], boxes: CallBoxes
) -> dict[SSAValue, Box]:
    try:
        needed = required_boxes(pipeline, boxes.outputs, boxes.inputs, params)
        check_reach(pipeline, needed, CallSizes(boxes.inputs, params))
    except PipelineError as error:
        raise CallError(str(error)) from None
    check_limits(pipeline, needed, boxes.inputs, params)
    for op in input_ops(pipeline):
        name = op.sym_name.data
        for d, (low, extent) in enumerate(needed.get(op.func, ())):
            there, size = boxes.inputs[name][d]
            if low >= there and low + extent <= there + size:
                continue
            axis = boxes.input_orders[name][d]
            hint = ""
            if d == 2 and boxes.input_orders[name] == INTERLEAVED and declared_layout(op) == "auto":
                hint = "; it is read as an interleaved picture, layout='planar' of the input says otherwise"
            raise CallError(
                f"input '{name}' is read at {low} to {low + extent - 1} in {dim_name(d)}, but holds {there} "
                f"to {there + size - 1} (axis {axis} of shape {request.shapes[name]}); give a larger array, "
                f"a smaller output or a boundary condition{hint}"
            )
    return needed
