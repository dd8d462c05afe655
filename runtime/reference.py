"""Target `reference`: the NumPy evaluator on the arrays of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilefuse.dialects.img.ops import PipelineOp
from tilefuse.runtime.binding import Signature
from tilefuse.runtime.boxes import CallBoxes
from tilefuse.runtime.launch import numpy_at
from tilefuse.runtime.layouts import Picture
from tilefuse.runtime.scalars import Number


class ReferenceRunner:
    """Evaluates a pipeline, and copies the result into the outputs."""

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

    def run(self, pointers: Sequence[int], params: Mapping[str, Number]) -> None:
        """Evaluate with the addresses of inputs and outputs."""
        from tilefuse.evaluator import evaluate

        arrays: dict[str, np.ndarray] = {}
        for pointer, (slot, p) in zip(pointers, self._inputs, strict=False):
            arrays[slot.name] = _decoded(numpy_at(pointer, p, slot.itemsize), slot.dtype).T
        mins = {name: tuple(low for low, _ in box) for name, box in self._boxes.inputs.items()}
        found = evaluate(self._pipeline, arrays, dict(params), self._boxes.outputs, mins)
        for pointer, (slot, p) in zip(pointers[len(self._inputs) :], self._outputs, strict=True):
            numpy_at(pointer, p, slot.itemsize).T[...] = _encoded(found[slot.name], slot.dtype)


def _decoded(bits: np.ndarray, dtype: str) -> np.ndarray:
    """Elements from their bits; bfloat16, the upper half of a float32, as float32."""
    if dtype == "bfloat16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(dtype)


def _encoded(values: np.ndarray, dtype: str) -> np.ndarray:
    values = np.ascontiguousarray(values)
    if dtype == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.view(f"u{values.itemsize}")
