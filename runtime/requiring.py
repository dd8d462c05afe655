"""Programs that ask something of a call: it is refused, before anything is written, if that does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilefuse.analysis.bounds import Box, required_boxes
from tilefuse.analysis.requirements import check_of, drop_requirements, points_of, refusal, requirements_of
from tilefuse.analysis.sizes import CallSizes
from tilefuse.dialects.diagnostics import PipelineError, located
from tilefuse.dialects.img.ops import RequireOp
from tilefuse.runtime.arrays import view
from tilefuse.runtime.boxes import CallBoxes, Request, resolve
from tilefuse.runtime.compiled import Settings
from tilefuse.runtime.errors import CallError
from tilefuse.runtime.program import Program
from tilefuse.runtime.scalars import Number, evaluate_scalars
from tilefuse.runtime.specialize import find_pipeline


class RequiringProgram(Program):
    """A program that computes conditions first, by programs of their own, and then what it is for."""

    def __init__(self, module: ModuleOp, settings: Settings):
        self._full = module.clone()
        asking_for_nothing = module.clone()
        drop_requirements(asking_for_nothing)
        super().__init__(asking_for_nothing, settings)
        self._asking = find_pipeline(self._full)
        self._checks: dict[int, Program] = {
            number: Program(check_of(module, number), settings)
            for number, op in enumerate(requirements_of(self._asking))
            if op.guarded is not None
        }

    def __call__(
        self,
        *arrays: Any,
        out: Any = None,
        sizes: Any = None,
        mins: Any = None,
        stream: Any = None,
        **named: Any,
    ) -> Any:
        """As of any program; CallError, before anything is written, if the call does not fulfil what is required."""
        signature = self._signature
        inputs, params = signature.bind(arrays, named)
        shapes = {slot.name: view(a, slot.what).shape for a, slot in zip(inputs, signature.inputs, strict=True)}
        given = signature.per_output(out, "out") if out is not None else {}
        out_shapes = {name: view(array, f"out= of output '{name}'").shape for name, array in given.items()}
        low = signature.mins(mins)
        boxes = resolve(self._pipeline, Request(shapes, out_shapes, signature.sizes(sizes), low), params)
        given_inputs = dict(zip((slot.name for slot in signature.inputs), inputs, strict=True))
        starts = {name: at for name, at in low.items() if name in given_inputs}
        call = {**given_inputs, **params, "stream": stream, "mins": starts}
        for number, op in enumerate(requirements_of(self._asking)):
            if op.guarded is None:
                holds, *numbers = evaluate_scalars([op.condition, *op.numbers], boxes.inputs, params)
                if not holds:
                    raise CallError(located(op, refusal(op, numbers)))
            elif (box := self._points_of(op, boxes, params)) is not None:
                self._check_points(number, op, box, call)
        return super().__call__(*arrays, out=out, sizes=sizes, mins=mins, stream=stream, **named)

    def _points_of(self, op: RequireOp, boxes: CallBoxes, params: Mapping[str, Number]) -> Box | None:
        try:
            needed = required_boxes(self._asking, boxes.outputs, boxes.inputs, params)
        except PipelineError as error:
            raise CallError(str(error)) from None
        return points_of(op, needed, CallSizes(boxes.inputs, params))

    def _check_points(self, number: int, op: RequireOp, box: Box, call: Mapping[str, Any]) -> None:
        """CallError unless condition `number` holds in a box; `call`: the inputs, Params and all else of the call."""
        names = [str(n) for n in range(1 + len(op.numbers))]
        mins = call["mins"] | dict.fromkeys(names, tuple(low for low, _ in box))
        extents = dict.fromkeys(names, tuple(extent for _, extent in box))
        found = self._checks[number](**{**call, "mins": mins}, sizes=extents)
        holds, *numbers = (_host(array) for array in (found if isinstance(found, tuple) else (found,)))
        if not holds.all():
            at = np.unravel_index(int(np.argmin(holds)), holds.shape)
            raise CallError(located(op, refusal(op, [array[at].item() for array in numbers])))

    def __reduce__(self) -> tuple[Any, ...]:
        load, (_, settings) = super().__reduce__()
        return load, (self._text_of(self._full), settings)


def _host(array: Any) -> np.ndarray:
    """An array of NumPy as it is; one of CuPy or torch copied, once all streams are done."""
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
