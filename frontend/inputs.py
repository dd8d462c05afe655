"""Inputs of a pipeline, given by its caller: ImageParam and Param, and what Buffers have in common with them."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np

from tilefuse.dialects.diagnostics import SourcePosition, user_position
from tilefuse.dialects.img.types import MAX_RANK
from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import I32, Expr, node, type_name
from tilefuse.frontend.schedule import SCHEDULING, ScheduleCall, recorder
from tilefuse.frontend.sources import Source
from tilefuse.frontend.types import Type

LAYOUTS = ("auto", "planar", "interleaved")


Size = TypeVar("Size", Expr, int)
"""Of an ImageParam sizes are Exprs, known at the call; of a Buffer they are numbers."""


class Dimension(Generic[Size]):
    """One dimension of an input: its box."""

    def __init__(self, image: Image[Size], index: int):
        self._image: Image[Size] = image
        self._index = index

    @property
    def index(self) -> int:
        """Which dimension it is."""
        return self._index

    def min(self) -> Size:
        """The first coordinate."""
        return self._image.interval(self._index)[0]

    def extent(self) -> Size:
        """How many points there are."""
        return self._image.interval(self._index)[1]

    def max(self) -> Size:
        """The last coordinate."""
        return self.min() + self.extent() - 1

    def set_bounds(self, min: int, extent: int) -> Dimension[Size]:
        """Promise that the box has this min and extent: they are constants for the compiler."""
        self._image.bounds[self._index] = checked_bounds(self._image.name(), min, extent)
        return self

    def set_estimate(self, min: int, extent: int) -> Dimension[Size]:
        """Nothing: for what size schedules are chosen is `extent=` of compile."""
        return self


def checked_bounds(name: str, min: Any, extent: Any) -> tuple[int, int]:
    """(min, extent) as integers; PipelineError unless they are, with a positive extent."""
    if not isinstance(min, int) or not isinstance(extent, int):
        fail(f"the bounds of '{name}' are two integers (min, extent), not {min!r} and {extent!r}")
    if extent <= 0:
        fail(f"the bounds of '{name}' have the extent {extent}; it must be positive")
    return min, extent


class Image(Source, Generic[Size]):
    """Common part of ImageParam and Buffer: a function with a box, given by an array."""

    def __init__(self, kind: str, type: Type, dimensions: int, name: str | None, prefix: str, layout: str):
        super().__init__(kind, name, prefix)
        if not isinstance(type, Type):
            fail(f"{kind} '{self._name}' takes a type, as UInt(8), not {type!r}")
        if type.is_handle():
            fail(f"{kind} '{self._name}' cannot be of handles: there are no pointers in pipelines")
        if not isinstance(dimensions, int) or not 0 <= dimensions <= MAX_RANK:
            fail(f"{kind} '{self._name}' has 0 to {MAX_RANK} dimensions, not {dimensions!r}")
        if layout not in LAYOUTS:
            fail(f"{kind} '{self._name}': the layout '{layout}' is unknown; use {', '.join(LAYOUTS)}")
        if layout == "interleaved" and dimensions != 3:
            fail(f"{kind} '{self._name}': only pictures of 3 dimensions (x, y, channel) can be interleaved")
        self._type, self._rank = type, dimensions
        self.layout = layout
        self.bounds: list[tuple[int, int] | None] = [None] * dimensions
        """(min, extent) of the dimensions that are fixed."""
        self.array: Any = None
        """The array that `realize` reads."""

    def value_types(self) -> tuple[Type, ...]:
        return (self._type,)

    def rank(self) -> int:
        return self._rank

    def type(self) -> Type:
        """The type of a pixel."""
        return self._type

    def dimensions(self) -> int:
        """The number of dimensions."""
        return self._rank

    def defined(self) -> bool:
        """Always true."""
        return True

    def interval(self, index: int) -> tuple[Size, Size]:
        """(min, extent) of a dimension."""
        raise NotImplementedError

    def dim(self, index: int) -> Dimension[Size]:
        """Dimension `index`, 0 is x."""
        if not 0 <= index < self._rank:
            fail(f"{self._kind} '{self._name}' has {self._rank} dimensions; there is no dim({index})")
        return Dimension(self, index)

    def width(self) -> Size:
        """The extent in x."""
        return self.dim(0).extent()

    def height(self) -> Size:
        """The extent in y."""
        return self.dim(1).extent()

    def left(self) -> Size:
        """The first x."""
        return self.dim(0).min()

    def right(self) -> Size:
        """The last x."""
        return self.dim(0).max()

    def top(self) -> Size:
        """The first y."""
        return self.dim(1).min()

    def bottom(self) -> Size:
        """The last y."""
        return self.dim(1).max()


class ImageParam(Image[Expr]):
    """A picture given at each call.

    `type`: of a pixel. `dimensions`: 2 for (x, y), 3 for (x, y, channel). `layout`: how an array of three
    axes is read, `planar` as (channel, height, width), `interleaved` as (height, width, channel); `auto`
    goes by the shape. Neither is a copy.
    """

    def __init__(self, type: Type, dimensions: int, name: str | None = None, layout: str = "auto"):
        self.schedule_calls: list[ScheduleCall] = []
        """Scheduling calls, which are ignored."""
        super().__init__("ImageParam", type, dimensions, name, "p", layout)

    def interval(self, index: int) -> tuple[Expr, Expr]:
        """(min, extent) of a dimension, known at the call."""
        data = (self, index)
        return node("image_min", I32, (), data), node("image_extent", I32, (), data)

    def channels(self) -> Expr:
        """The extent of the third dimension; 1 if there is none, as in Halide."""
        return self.dim(2).extent() if self._rank > 2 else Expr(1)

    def __getattr__(self, name: str) -> Any:
        if name in SCHEDULING:
            return recorder(self, self._name, self.schedule_calls, name)
        raise AttributeError(f"an ImageParam has no attribute '{name}'")

    def set(self, array: Any) -> None:
        """The array that `realize` reads (a Buffer, or an array of any library)."""
        self.array = array.array if isinstance(array, Image) else array

    def get(self) -> Any:
        """The array that was set; None if none was."""
        return self.array

    def reset(self) -> None:
        """Forget the array."""
        self.array = None


class Param(Expr):
    """A scalar given at each call: `Param(type)`, `Param(type, name)`, `Param(type, default)`, or all."""

    __slots__ = ("_default", "_name", "_value", "named", "order", "position")

    def __init__(self, type: Type, name: Any = None, default: Any = None):
        if name is not None and not isinstance(name, str):
            name, default = None, name
        if not isinstance(type, Type):
            fail(f"a Param takes a type, as Float(32), not {type!r}")
        if type.is_handle():
            fail("a Param cannot be a handle: there are no pointers in pipelines")
        source = Source("Param", name, "k")
        self._type, self.op, self.args, self.data = type, "param", (), self
        self._name, self.named, self.order = source.name(), source.named, source.order
        self.position: SourcePosition = user_position()
        self._default = None if default is None else self._checked(default)
        self._value: Any = None

    def _checked(self, value: Any) -> int | float:
        type = self._type
        if isinstance(value, str) or np.ndim(value):
            fail(f"Param '{self._name}' takes a number of type {type}, not a {type_name(value)}")
        try:
            if type.is_float():
                return float(value)
            fits = int(value) == value and type.can_represent(int(value))
        except (TypeError, ValueError, OverflowError):  # no number; nan and inf are no integers
            fits = False
        if not fits:
            fail(f"Param '{self._name}' is of type {type}, which {value!r} is not")
        return int(value)

    def name(self) -> str:
        """Name by which a compiled pipeline takes the value."""
        return self._name

    def default(self) -> int | float | None:
        """Default value where a call gives none."""
        return self._default

    def set(self, value: Any) -> None:
        """The value that `realize` uses."""
        self._value = self._checked(value)

    def get(self) -> int | float | None:
        """The value that was set, else the default."""
        return self._default if self._value is None else self._value
