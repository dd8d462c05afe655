"""`infer_input_bounds`: the input sizes that outputs of given sizes need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilefuse.frontend.arrays import zeros
from tilefuse.frontend.buffer import Buffer
from tilefuse.frontend.errors import fail
from tilefuse.frontend.inputs import Image, ImageParam
from tilefuse.frontend.realize import buffers_of, size_of

if TYPE_CHECKING:
    from tilefuse.dialects.img.attrs import Box
    from tilefuse.frontend.compilable import Compilable


def infer_input_bounds(pipeline: Compilable, sizes: Any) -> None:
    """Set every ImageParam without array to a Buffer of zeros, as large as outputs of these sizes read."""
    images, params = pipeline.inputs()
    names = list(pipeline.output_types())
    buffers = buffers_of(sizes, names)
    if buffers is not None:
        outputs = {name: tuple(zip(b.mins(), b.extents(), strict=True)) for name, b in buffers.items()}
    else:
        outputs = dict.fromkeys(names, tuple((0, int(n)) for n in size_of(sizes)))
    given = {p.name(): value for p in params if (value := p.get()) is not None}
    needed = boxes_read(pipeline, outputs, {image.name(): _box_of(image) for image in images}, given)
    for image in images:
        if isinstance(image, ImageParam) and image.array is None:
            _set_to_zeros(image, needed.get(image.name()))


def boxes_read(
    pipeline: Compilable, outputs: Mapping[str, Box], inputs: Mapping[str, Box], params: Mapping[str, Any]
) -> dict[str, Box]:
    """Compute the box of each input that outputs of these boxes read; `inputs`: boxes that are set already."""
    from tilefuse.runtime.call.inferred import input_boxes

    return input_boxes(pipeline.to_module(), outputs, inputs, params)


def _box_of(image: Image[Any]) -> Box:
    """Return the box of an input that is set; else the declared one, with one point in unbounded dimensions."""
    if isinstance(image, Buffer):
        return tuple(image.interval(d) for d in range(image.rank()))
    if image.array is not None:
        buffer = image.array if isinstance(image.array, Buffer) else Buffer(image.array, layout=image.layout)
        return tuple(buffer.interval(d) for d in range(image.rank()))
    return tuple((0, 1) if fixed is None else fixed for fixed in image.bounds)


def _set_to_zeros(image: ImageParam, box: Box | None) -> None:
    if box is None:
        fail(f"nothing of ImageParam '{image.name()}' is read by outputs of these sizes")
    box = tuple(fixed or interval for fixed, interval in zip(image.bounds, box, strict=True))
    buffer = Buffer(zeros(image.type(), [extent for _, extent in box]), name=image.name())
    if any(low for low, _ in box):
        buffer.set_min([low for low, _ in box])
    image.set(buffer)
