"""Array layouts of a call, as its kernels are specialised and as they are passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tilefuse.runtime.arrays.kinds import ArrayView
from tilefuse.runtime.arrays.layouts import (
    ALIGNMENT,
    BufferSpec,
    Picture,
    array_shape,
    contiguous,
    describe_layout,
    picture,
    temporary_spec,
)
from tilefuse.runtime.call.binding import Signature, check_output
from tilefuse.runtime.call.boxes import CallBoxes


class CallLayouts(NamedTuple):
    """The pictures of a call, in signature order, and the facts to which kernels are specialised."""

    inputs: list[Picture]
    outputs: list[Picture]
    input_specs: dict[str, BufferSpec]
    output_specs: list[BufferSpec]
    out_shapes: tuple[tuple[int, ...], ...]
    """Shapes of outputs, in the axes of their arrays."""
    may_host: list[bool]
    """Whether each output may hold temporaries until it is written."""


def call_layouts(
    signature: Signature, boxes: CallBoxes, views: Sequence[ArrayView], given: Mapping[str, ArrayView]
) -> CallLayouts:
    """Compute the layouts of the inputs `views`, of the outputs in `given`, and of new outputs."""
    found = CallLayouts([], [], {}, [], (), [])
    starts = {box[0][0] for box in boxes.computed.values() if box}
    for slot, v in zip(signature.inputs, views, strict=True):
        p = picture(v.shape, v.strides, slot.itemsize, boxes.input_orders[slot.name])
        found.inputs.append(p)
        found.input_specs[slot.name] = describe_layout(p, boxes.inputs[slot.name], v.pointer, slot.itemsize, starts)
    out_shapes = []
    for slot in signature.outputs:
        box, order, v_out = boxes.outputs[slot.name], boxes.output_orders[slot.name], given.get(slot.name)
        extents = [n for _, n in box]
        if v_out is None:
            p = contiguous(extents, order, slot.itemsize)
        else:
            p = picture(v_out.shape, v_out.strides, slot.itemsize, order)
            check_output(slot, v_out, p)
        found.outputs.append(p)
        found.may_host.append(v_out is None or v_out.pointer % ALIGNMENT == 0)
        out_shapes.append(array_shape(extents, order))
        spec = describe_layout(p, box, v_out.pointer if v_out else 0, slot.itemsize)
        if (computed := boxes.computed[slot.name]) != box:
            # More is computed than requested: it goes to a temporary, unless one kernel has all that reads it.
            spec = temporary_spec(computed)._replace(aligned=spec.aligned)
        found.output_specs.append(spec)
    return found._replace(out_shapes=tuple(out_shapes))
