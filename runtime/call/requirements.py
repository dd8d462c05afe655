"""Check of a call's requirements before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilefuse.analysis.bounds import Box, required_boxes
from tilefuse.analysis.requirements import check_of, points_of
from tilefuse.analysis.sizes import CallSizes
from tilefuse.dialects.diagnostics import PipelineError, located
from tilefuse.dialects.img.ops import RequireOp
from tilefuse.runtime.call.boxes import CallBoxes, Request, resolve_boxes
from tilefuse.runtime.call.scalars import Scalar, evaluate_scalars
from tilefuse.runtime.compile.specialize import find_pipeline
from tilefuse.runtime.errors import CallError


class Requirements:
    """The conditions of a pipeline; conditions on points have programs of their own."""

    def __init__(self, module: ModuleOp, program_of: Callable[[ModuleOp], Callable[..., Any]]):
        self._pipeline = find_pipeline(module)
        self._conditions = self._pipeline.requirements
        self._programs = {
            number: program_of(check_of(module, number))
            for number, op in enumerate(self._conditions)
            if op.guarded is not None
        }

    def check(self, request: Request, inputs: Mapping[str, Any], params: Mapping[str, Scalar], stream: Any) -> None:
        """Raise CallError if a call violates a requirement. `inputs`: the arrays, by name."""
        boxes = resolve_boxes(self._pipeline, request, params)
        starts = {name: at for name, at in request.mins.items() if name in inputs}
        call = {**inputs, **params, "stream": stream, "mins": starts}
        for number, op in enumerate(self._conditions):
            if op.guarded is None:
                holds, *numbers = evaluate_scalars([op.condition, *op.numbers], boxes.inputs, params)
                if not holds:
                    raise CallError(located(op, op.refusal(numbers)))
            elif (box := self._points_of(op, boxes, params)) is not None:
                self._check_points(number, op, box, call)

    def _points_of(self, op: RequireOp, boxes: CallBoxes, params: Mapping[str, Scalar]) -> Box | None:
        try:
            needed = required_boxes(self._pipeline, boxes.outputs, boxes.inputs, params)
        except PipelineError as error:
            raise CallError(str(error)) from None
        return points_of(op, needed, CallSizes(boxes.inputs, params))

    def _check_points(self, number: int, op: RequireOp, box: Box, call: Mapping[str, Any]) -> None:
        """Raise CallError unless condition `number` holds in a box; `call`: inputs, Params and all other arguments."""
        names = [str(n) for n in range(1 + len(op.numbers))]
        mins = call["mins"] | dict.fromkeys(names, tuple(low for low, _ in box))
        extents = dict.fromkeys(names, tuple(extent for _, extent in box))
        found = self._programs[number](**{**call, "mins": mins}, sizes=extents)
        holds, *numbers = (_host(array) for array in (found if isinstance(found, tuple) else (found,)))
        if not holds.all():
            at = np.unravel_index(int(np.argmin(holds)), holds.shape)
            raise CallError(located(op, op.refusal([array[at].item() for array in numbers])))


def _host(array: Any) -> np.ndarray:
    """Return a host array: NumPy's as it is, CuPy's or torch's copied after all streams are done."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "get"):
        import cupy

        cupy.cuda.runtime.deviceSynchronize()
        return np.asarray(array.get())
    import torch

    if array.is_cuda:
        torch.cuda.synchronize(array.device)
    return np.asarray(array.cpu())
