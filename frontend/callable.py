"""`compile_to_callable`: a pipeline as a function of its inputs and outputs, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilefuse.frontend.arrays import no_memory
from tilefuse.frontend.buffer import Buffer
from tilefuse.frontend.compilable import Compilable
from tilefuse.frontend.errors import KindError, fail
from tilefuse.frontend.infer import boxes_read
from tilefuse.frontend.inputs import ImageParam, Param
from tilefuse.frontend.realize import BoundArguments, check_types
from tilefuse.frontend.target import target_name


class Callable:
    """A compiled pipeline: takes inputs and Params in order or by name, then a Buffer per output; returns 0.

    If an output is a bounds query, nothing is computed: inputs that are bounds queries get the box that is read of
    them.
    """

    def __init__(self, pipeline: Compilable, arguments: Sequence[Any], target: Any):
        self._pipeline, self._outputs = pipeline, list(pipeline.output_types())
        for argument in arguments:
            if not isinstance(argument, ImageParam | Param):
                fail(f"compile_to_callable takes a list of ImageParams and Params, and no {argument!r}", kind=KindError)
        self._inputs: dict[str, ImageParam | Param] = {a.name(): a for a in arguments}
        images, params = pipeline.inputs()
        for needed in (*images, *params):
            if isinstance(needed, ImageParam | Param) and needed.name() not in self._inputs:
                fail(f"'{needed.name()}' is an argument of the pipeline, and is not in the list of compile_to_callable")
        self._buffers = [image for image in images if isinstance(image, Buffer)]
        self._program = pipeline.program(target_name(target), {})

    def __call__(self, *given: Any, **named: Any) -> int:
        values = self._bound(given, named)
        buffers = {name: values.pop(name) for name in self._outputs}
        for name, value in buffers.items():
            if not isinstance(value, Buffer):
                fail(f"argument '{name}': {value!r} is not an instance of Buffer", kind=KindError)
        if any(buffer.is_bounds_query() for buffer in buffers.values()):
            self._answer(values, buffers)
            return 0
        check_types(self._pipeline, buffers)
        call = BoundArguments(self._buffers, ())
        for name, value in values.items():
            self._give(call, self._inputs[name], value)
        call.write(buffers, self._program)
        return 0

    def _bound(self, given: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        names = [*self._inputs, *self._outputs]
        if len(given) > len(names):
            fail(f"Expected at most {len(names)} positional arguments, but saw {len(given)}.")
        if not named and len(given) < len(names):
            fail(f"Expected exactly {len(names)} positional arguments, but saw {len(given)}.")
        values = dict(zip(names, given, strict=False))
        for name, value in named.items():
            if name not in names:
                fail(f"Unknown argument '{name}' specified via keyword.")
            if name in values:
                fail(f"Argument {name} specified multiple times.")
            values[name] = value
        for name in names:
            if name not in values:
                fail(f"Argument {name} was not specified by either positional or keyword argument.")
        return values

    @staticmethod
    def _give(call: BoundArguments, argument: ImageParam | Param, value: Any) -> None:
        name = argument.name()
        if isinstance(argument, Param):
            if not isinstance(value, bool | int | float | np.generic):
                fail(f"argument '{name}': {value!r} is not an instance of a number", kind=KindError)
            call.named[name] = value
            return
        if not isinstance(value, Buffer):
            fail(f"argument '{name}': {value!r} is not an instance of Buffer", kind=KindError)
        call.add_array(argument, value)

    def _answer(self, values: dict[str, Any], buffers: dict[str, Buffer]) -> None:
        """Answer the bounds queries among the inputs: set the boxes that the outputs read."""
        outputs = {name: tuple(zip(b.mins(), b.extents(), strict=True)) for name, b in buffers.items()}
        known = {n: v for n, v in values.items() if isinstance(v, Buffer)}
        boxes = {n: tuple(b.interval(d) for d in range(b.dimensions())) for n, b in known.items()}
        boxes |= {b.name(): tuple(b.interval(d) for d in range(b.dimensions())) for b in self._buffers}
        found = boxes_read(self._pipeline, outputs, boxes, {n: v for n, v in values.items() if n not in known})
        for name, buffer in known.items():
            if buffer.is_bounds_query() and name in found:
                buffer.array = no_memory(buffer.type(), [extent for _, extent in found[name]])
                buffer.set_min([low for low, _ in found[name]])
