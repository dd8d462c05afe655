"""Ahead-of-time compilation for the most likely form of call."""

from __future__ import annotations

from tilefuse.analysis.bounds import Box
from tilefuse.dialects.img.ops import InputOp, PipelineOp
from tilefuse.runtime.arrays.layouts import (
    INTERLEAVED,
    AxisOrder,
    BufferSpec,
    array_shape,
    contiguous,
    declared_layout,
    describe_layout,
    planar,
)
from tilefuse.runtime.call.binding import Signature
from tilefuse.runtime.call.boxes import Request, input_ops, rank_of, resolve_boxes
from tilefuse.runtime.call.scalars import params_in_boxes
from tilefuse.runtime.errors import CallError

_EXTENT = 1024
_CHANNELS = 3


def likely_specs(pipeline: PipelineOp, signature: Signature) -> tuple[dict[str, BufferSpec], list[BufferSpec]] | None:
    """Return the specs of a call with contiguous arrays, planar RGB if pictures; None if no such call is possible."""
    if (signature.params.keys() - signature.defaults.keys()).intersection(params_in_boxes(pipeline)):
        return None
    params = {name: signature.defaults.get(name, 1) for name in signature.params}
    shapes = {}
    for op in input_ops(pipeline):
        order = INTERLEAVED if declared_layout(op) == "interleaved" else planar(rank_of(op.func.type))
        shapes[op.sym_name.data] = array_shape(_extents(op), order)
    try:
        boxes = resolve_boxes(pipeline, Request(shapes, {}, {}, {}), params)
    except CallError:
        return None

    def spec(box: Box, order: AxisOrder, itemsize: int) -> BufferSpec:
        return describe_layout(contiguous([n for _, n in box], order, itemsize), box, 0, itemsize)

    inputs = {s.name: spec(boxes.inputs[s.name], boxes.input_orders[s.name], s.itemsize) for s in signature.inputs}
    outputs = [spec(boxes.outputs[s.name], boxes.output_orders[s.name], s.itemsize) for s in signature.outputs]
    return inputs, outputs


def _extents(op: InputOp) -> list[int]:
    rank = rank_of(op.func.type)
    declared = op.bounds.data if op.bounds is not None else (None,) * rank
    usual = [_EXTENT if d < 2 else _CHANNELS for d in range(rank)]
    return [u if d is None else d[1] for u, d in zip(usual, declared, strict=True)]
