"""`realize`: run a pipeline from the language, into new or given Buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilefuse.dialects.img.axes import INTERLEAVED, AxisOrder, axis_order, planar
from tilefuse.frontend.buffer import Buffer
from tilefuse.frontend.errors import fail, in_halide
from tilefuse.frontend.expr import Expr
from tilefuse.frontend.inputs import Image, Param
from tilefuse.frontend.target import target_name
from tilefuse.frontend.walk import expr_text

if TYPE_CHECKING:
    from tilefuse.frontend.compilable import Compilable


def realize(pipeline: Compilable, sizes: Any, target: Any, options: dict[str, Any]) -> Any:
    """Compile and run a pipeline on its `set` inputs; return Buffers, or None if they were given.

    On a GPU, arrays of NumPy are copied there and back. If an input is an array of another library, what comes back is
    as a program gives it.
    """
    given = BoundArguments(*pipeline.inputs())
    names = list(pipeline.output_types())
    buffers = buffers_of(sizes, names)
    if not isinstance(target_name(target), str):
        fail("realize takes the sizes as one list, x first: realize([width, height])")
    size = None if sizes is None or buffers is not None else size_of(sizes)
    program = pipeline.program(target_name(target), options, given.layouts, ahead=False)
    if buffers is not None:
        check_types(pipeline, buffers)
        given.write(buffers, program)
        return None
    if size is None:
        boxes = program.output_boxes(**given.named, mins=given.mins)
        mins = {name: tuple(low for low, _ in box) for name, box in boxes.items()}
        extents = {name: tuple(extent for _, extent in box) for name, box in boxes.items()}
    else:
        mins, extents = {name: (0,) * len(size) for name in names}, dict.fromkeys(names, size)
    return given.computed(program, names, mins, extents)


class BoundArguments:
    """Call arguments from the `set` values of a pipeline's inputs and Params."""

    def __init__(self, images: Sequence[Image[Any]], params: Sequence[Param]):
        self.named: dict[str, Any] = {}
        self.mins: dict[str, tuple[int, ...]] = {}
        self.layouts: dict[str, str] = {}
        """Layout of the arrays of images that do not say it."""
        self._order: AxisOrder | None = None
        self._foreign = False
        for image in images:
            if image.array is None:
                name = image.name()
                fail(f"ImageParam '{name}' has no array: call {name}.set(array) before realize")
            self.add_array(image, image.array)
        for param in params:
            value = param.get()
            if value is None:
                fail(f"Param '{param.name()}' has no value: call set(value) first, or give a default")
            self.named[param.name()] = value

    def add_array(self, image: Image[Any], array: Any) -> None:
        """Bind a Buffer or array to an image."""
        name, layout = image.name(), image.layout
        if isinstance(array, Buffer):
            if any(array.mins()):
                self.mins[name] = tuple(array.mins())
            if layout == "auto" and image.rank() == 3:
                self.layouts[name] = layout = array.layout
            array = array.array
        self.named[name] = array
        self._foreign = self._foreign or not isinstance(array, np.ndarray)
        if image.rank() == 3 and self._order is None:
            # Pictures of three dimensions are written as the first one that is read lies.
            channels = image.bounds[2]
            self._order = axis_order(layout, tuple(array.shape), None if channels is None else channels[1])

    def _order_of(self, rank: int) -> AxisOrder:
        return INTERLEAVED if rank == 3 and self._order == INTERLEAVED else planar(rank)

    def computed(
        self, program: Any, names: Sequence[str], mins: dict[str, tuple[int, ...]], extents: dict[str, tuple[int, ...]]
    ) -> Any:
        """Compute new Buffers of these boxes, x first."""
        found = program(**self._there(program), sizes=extents, mins={**self.mins, **mins})
        if self._foreign:  # an array of another library was given
            return found
        made = []
        for name, array in zip(names, found if isinstance(found, tuple) else (found,), strict=True):
            rank = len(extents[name])
            layout = "interleaved" if rank == 3 and self._order_of(3) == INTERLEAVED else "planar"
            buffer = Buffer(_host(array), name=name, layout=layout)
            if any(mins[name]):
                buffer.set_min(mins[name])
            made.append(buffer)
        return made[0] if len(made) == 1 else tuple(made)

    def write(self, buffers: dict[str, Buffer], program: Any) -> None:
        """Run a program into Buffers, each over its own box."""
        mins = {name: tuple(buffer.mins()) for name, buffer in buffers.items()}
        views = {n: b.x_first().transpose(self._order_of(b.dimensions())) for n, b in buffers.items()}
        if not program.on_gpu:
            program(**self.named, out=views, mins={**self.mins, **mins})
            return
        there = {name: _device(np.zeros(view.shape, view.dtype)) for name, view in views.items()}
        program(**self._there(program), out=there, mins={**self.mins, **mins})
        for name, view in views.items():
            view[...] = _host(there[name])

    def _there(self, program: Any) -> dict[str, Any]:
        """Return the inputs on the program's device."""
        if not program.on_gpu:
            return self.named
        return {n: _device(v) if isinstance(v, np.ndarray) else v for n, v in self.named.items()}


def _device(array: np.ndarray) -> Any:
    import cupy

    return cupy.asarray(array)


def _host(array: Any) -> np.ndarray:
    """Return a host array: NumPy's as it is, CuPy's copied."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.get())


def buffers_of(sizes: Any, names: list[str]) -> dict[str, Buffer] | None:
    """Return the Buffers that `realize` writes, by output name; None if sizes were given instead."""
    found = list(sizes) if isinstance(sizes, list | tuple) else [sizes]
    if not found or not all(isinstance(b, Buffer) for b in found):
        return None
    if len(found) != len(names):
        fail(f"realize writes {len(names)} values ({', '.join(names)}), but {len(found)} Buffers are given")
    return dict(zip(names, found, strict=True))


def check_types(pipeline: Compilable, buffers: dict[str, Buffer]) -> None:
    """Raise PipelineError unless the outputs' types fit the Buffers."""
    for name, (type, rank) in pipeline.output_types().items():
        buffer = buffers[name]
        if (buffer.type(), buffer.dimensions()) != (type, rank):
            words = f"Output buffer {name} has type {type} but type of the buffer passed in is {buffer.type()}"
            fail(
                f"realize of '{name}' writes a Buffer of {type} with {rank} dimensions; this one has "
                f"{buffer.dimensions()} of {buffer.type()}" + (in_halide(words) if buffer.type() != type else "")
            )
        if buffer.is_bounds_query():
            fail(f"realize of '{name}' writes a Buffer, and this one is a bounds query, which has no memory")


def size_of(sizes: Any) -> tuple[Any, ...]:
    """Return `sizes` as a tuple, x first; PipelineError for arguments of Halide's `realize` that are not supported."""
    size = tuple(sizes) if isinstance(sizes, list | tuple) else (sizes,)
    for extent in size:
        if isinstance(extent, Expr):
            fail(
                f"realize takes numbers as sizes, and {expr_text(extent)} is an Expr; take them from the "
                "shape of the array, or leave the sizes out"
            )
    return size
