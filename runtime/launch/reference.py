"""Target `reference`: the NumPy evaluator on a call's arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilefuse.dialects.img.ops import PipelineOp
from tilefuse.runtime.arrays.layouts import Picture
from tilefuse.runtime.arrays.strided import numpy_at
from tilefuse.runtime.call.binding import Signature
from tilefuse.runtime.call.boxes import CallBoxes
from tilefuse.runtime.call.scalars import Scalar


class ReferenceRunner:
    """Evaluate a pipeline, and copy the result to the outputs."""

    def __init__(
        self,
        pipeline: PipelineOp,
        signature: Signature,
        boxes: CallBoxes,
        inputs: Sequence[Picture],
        outputs: Sequence[Picture],
    ):
        self._pipeline = pipeline
        self._boxes = boxes
        self._inputs = list(zip(signature.inputs, inputs, strict=True))
        self._outputs = list(zip(signature.outputs, outputs, strict=True))

    def run(self, pointers: Sequence[int], params: Mapping[str, Scalar]) -> None:
        """Evaluate with the addresses of inputs and outputs."""
        from tilefuse.evaluator import evaluate
        from tilefuse.evaluator.carriers import bits_of_pixels, pixels_from_bits

        arrays: dict[str, np.ndarray] = {}
        for pointer, (slot, p) in zip(pointers, self._inputs, strict=False):
            arrays[slot.name] = pixels_from_bits(numpy_at(pointer, p, slot.itemsize), slot.element).T
        mins = {name: tuple(low for low, _ in box) for name, box in self._boxes.inputs.items()}
        found = evaluate(self._pipeline, arrays, dict(params), self._boxes.outputs, mins)
        for pointer, (slot, p) in zip(pointers[len(self._inputs) :], self._outputs, strict=True):
            numpy_at(pointer, p, slot.itemsize).T[...] = bits_of_pixels(found[slot.name], slot.element)
