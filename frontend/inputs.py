"""Inputs of a pipeline: ImageParam and Param, and their common base with Buffer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from tilefuse.dialects.diagnostics import SourcePosition, user_position
from tilefuse.dialects.img.types import MAX_RANK
from tilefuse.frontend.errors import KindError, fail
from tilefuse.frontend.expr import I32, Expr, as_expr, constant, node, type_name
from tilefuse.frontend.schedule import SCHEDULING, ScheduleCall, recorder
from tilefuse.frontend.sources import Named, Source
from tilefuse.frontend.types import Type

LAYOUTS = ("auto", "planar", "interleaved")


Size = TypeVar("Size", Expr, int)
"""Number, of a Buffer, or Expr, of an ImageParam whose sizes are known at the call."""


class Dimension(Generic[Size]):
    """One dimension of an input's box."""

    def __init__(self, image: Image[Size], index: int):
        self._image: Image[Size] = image
        self._index = index

    @property
    def index(self) -> int:
        """Return the number of the dimension."""
        return self._index

    def min(self) -> Size:
        """Return the first coordinate."""
        return self._image.interval(self._index)[0]

    def extent(self) -> Size:
        """Return the extent."""
        return self._image.interval(self._index)[1]

    def max(self) -> Size:
        """Return the last coordinate."""
        return self.min() + self.extent() - 1

    def set_stride(self, stride: int | None) -> Dimension[Size]:
        """Set the stride of a dimension: 1 of the third means interleaved pictures; arrays give the others."""
        if self._index == 2 and stride == 1:
            self._image.layout = "interleaved"
        return self

    def set_bounds(self, min: int, extent: int) -> Dimension[Size]:
        """Promise this min and extent of the box: they are constants for the compiler."""
        self._image.bounds[self._index] = checked_bounds(self._image.name(), min, extent)
        return self

    def set_estimate(self, min: Any, extent: Any) -> Dimension[Size]:
        """Optimise for this min and extent, which calls need not have; the default is the output's size.

        Expressions say nothing here.
        """
        if isinstance(min, int) and isinstance(extent, int):
            self._image.estimates[self._index] = checked_bounds(self._image.name(), min, extent)
        return self


def checked_bounds(name: str, min: Any, extent: Any) -> tuple[int, int]:
    """Check that (min, extent) are integers, with a positive extent; else PipelineError."""
    if not isinstance(min, int) or not isinstance(extent, int):
        fail(f"the bounds of '{name}' are two integers (min, extent), not {min!r} and {extent!r}")
    if extent <= 0:
        fail(f"the bounds of '{name}' have the extent {extent}; it must be positive")
    return min, extent


class Image(Source, Generic[Size]):
    """A function backed by an array with a box: base of ImageParam and Buffer."""

    bounds: list[tuple[int, int] | None]
    """(min, extent) of the dimensions that are fixed."""
    estimates: list[tuple[int, int] | None]
    """(min, extent) of the dimensions for which schedules are chosen."""
    array: Any
    """The array that `realize` reads."""

    def __setitem__(self, key: Any, value: Any) -> None:
        what = f"{self._kind} '{self._name}'"
        fail(f"{what} is read by a pipeline, and not written; define a Func: f[x, y] = ...", kind=KindError)

    def __init__(self, kind: str, type: Type | None, dimensions: int, name: str | None, prefix: str, layout: str):
        super().__init__(kind, name, prefix)
        if type is None:  # undefined
            self._type, self._rank, self.layout, self.bounds, self.array = Type(), 0, layout, [], None
            self.estimates = []
            return
        if not isinstance(type, Type):
            fail(f"{kind} '{self._name}' takes a type, as UInt(8), not {type!r}")
        type.check_pixel(f"{kind} '{self._name}'")
        if not isinstance(dimensions, int) or not 0 <= dimensions <= MAX_RANK:
            fail(f"{kind} '{self._name}' has 0 to {MAX_RANK} dimensions, not {dimensions!r}")
        if layout not in LAYOUTS:
            fail(f"{kind} '{self._name}': the layout '{layout}' is unknown; use {', '.join(LAYOUTS)}")
        if layout == "interleaved" and dimensions != 3:
            fail(f"{kind} '{self._name}': only pictures of 3 dimensions (x, y, channel) can be interleaved")
        self._type, self._rank, self.layout = type, dimensions, layout
        self.bounds, self.estimates, self.array = [None] * dimensions, [None] * dimensions, None

    def value_types(self) -> tuple[Type, ...]:
        return (self._type,)

    def rank(self) -> int:
        return self._rank

    def type(self) -> Type:
        """Return the pixel type."""
        return self._type

    def dimensions(self) -> int:
        """Return the number of dimensions."""
        return self._rank

    def defined(self) -> bool:
        """Return True."""
        return True

    @abstractmethod
    def interval(self, index: int) -> tuple[Size, Size]:
        """Return (min, extent) of a dimension."""

    def dim(self, index: int) -> Dimension[Size]:
        """Return dimension `index`; 0 is x."""
        if not 0 <= index < self._rank:
            fail(f"{self._kind} '{self._name}' has {self._rank} dimensions; there is no dim({index})")
        return Dimension(self, index)

    def width(self) -> Size:
        """Return the extent in x."""
        return self.dim(0).extent()

    def height(self) -> Size:
        """Return the extent in y."""
        return self.dim(1).extent()

    def left(self) -> Size:
        """Return the first x."""
        return self.dim(0).min()

    def right(self) -> Size:
        """Return the last x."""
        return self.dim(0).max()

    def top(self) -> Size:
        """Return the first y."""
        return self.dim(1).min()

    def bottom(self) -> Size:
        """Return the last y."""
        return self.dim(1).max()


class Promise(NamedTuple):
    """Promise that a dimension's `image_min` or `image_extent` equals a value of the call."""

    what: str
    dimension: int
    value: Expr
    position: SourcePosition


class ImageDimension(Dimension[Expr]):
    """One dimension of an ImageParam, whose box the call gives."""

    def set_bounds(self, min: Any, extent: Any) -> ImageDimension:
        """Promise min and extent: numbers are compile-time constants; a call that violates Exprs is refused."""
        if isinstance(min, Expr) or isinstance(extent, Expr):
            return self.set_min(min).set_extent(extent)
        super().set_bounds(min, extent)
        return self

    def set_min(self, min: Any) -> ImageDimension:
        """Promise the first coordinate: a number, or an Expr of Params and sizes."""
        return self._promise("image_min", min)

    def set_extent(self, extent: Any) -> ImageDimension:
        """Promise the extent: a number, or an Expr of Params and sizes."""
        return self._promise("image_extent", extent)

    def _promise(self, what: str, value: Any) -> ImageDimension:
        assert isinstance(self._image, ImageParam)
        self._image.promises.append(Promise(what, self._index, as_expr(value), user_position()))
        return self


class ImageParam(Image[Expr]):
    """A picture passed at each call.

    `type`: of a pixel. `dimensions`: 2 for (x, y), 3 for (x, y, channel). `layout`: how an array of three
    axes is read, `planar` as (channel, height, width), `interleaved` as (height, width, channel); `auto`
    goes by the shape. Neither is a copy.
    """

    def __init__(self, type: Type | None = None, dimensions: int = 0, name: str | None = None, layout: str = "auto"):
        self.schedule_calls: list[ScheduleCall] = []
        """Scheduling calls, which are ignored."""
        self.promises: list[Promise] = []
        """Conditions that calls must keep."""
        super().__init__("ImageParam", type, dimensions, name, "p", layout)

    def defined(self) -> bool:
        """Whether it has a type: `ImageParam()` has none."""
        return not self._type.is_handle()

    def __repr__(self) -> str:
        kind = type_name(self)
        if not self.defined():
            return f"<halide.{kind} {kind}()>"
        return f"<halide.{kind} '{self._name}', dims: {self._rank}, type: {self._type}>"

    def interval(self, index: int) -> tuple[Expr, Expr]:
        """Return (min, extent) of a dimension, known at the call."""
        data = (self, index)
        return node("image_min", I32, (), data), node("image_extent", I32, (), data)

    def dim(self, index: int) -> ImageDimension:
        """Return dimension `index`; 0 is x."""
        super().dim(index)
        return ImageDimension(self, index)

    def set_estimates(self, estimates: Sequence[tuple[int, int]]) -> ImageParam:
        """Optimise for pictures of these (min, extent), x first."""
        if len(estimates) != self._rank:
            fail(f"ImageParam '{self._name}' has {self._rank} dimensions, and {len(estimates)} are estimated")
        for index, (min, extent) in enumerate(estimates):
            self.dim(index).set_estimate(min, extent)
        return self

    def channels(self) -> Expr:
        """Return the extent of the third dimension; 1 if there is none, as in Halide."""
        return self.dim(2).extent() if self._rank > 2 else Expr(1)

    def __getattr__(self, name: str) -> Any:
        if name in SCHEDULING:
            return recorder(self, self._name, self.schedule_calls, name)
        raise AttributeError(f"an ImageParam has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *SCHEDULING])

    def set(self, array: Any) -> None:
        """Set the array that `realize` reads: a Buffer, with its box, or an array of any library."""
        self.array = array

    def get(self) -> Any:
        """Return the Buffer or array that was set; None if none was."""
        return self.array

    def parameter(self) -> ImageParam:
        """Return the input itself, for `deserialize_pipeline`."""
        return self

    def reset(self) -> None:
        """Drop the array that was set."""
        self.array = None


class OutputImageParam(ImageParam):
    """Result of `Func.output_buffer()`: promises about the box of an output."""

    def __init__(self, func: Source | None = None):
        self.func = func
        if func is None:
            super().__init__()
            return
        super().__init__(func.value_types()[0], func.rank(), func.name())

    def dim(self, index: int) -> OutputDimension:
        """Return dimension `index`; 0 is x."""
        super().dim(index)
        return OutputDimension(self, index)

    def set(self, array: Any) -> None:
        """Raise PipelineError: outputs are passed to `realize`."""
        fail(f"Func '{self._name}' is an output; give the Buffer that it is written to to realize(buffer)")


class OutputDimension(ImageDimension):
    """One dimension of an output."""

    def set_bounds(self, min: Any, extent: Any) -> OutputDimension:
        """Promise that the output is requested over exactly this min and extent."""
        assert isinstance(self._image, OutputImageParam)
        func: Any = self._image.func
        func.bound(func.args()[self._index], min, extent)
        return self


class Param(Expr):
    """A scalar passed at each call: `Param(type)`, `Param(type, name)`, `Param(type, default)`, or all."""

    __slots__ = ("_default", "_name", "_range", "_value", "named", "order", "position")

    def __init__(self, type: Type, name: Any = None, value: Any = None):
        if name is not None and not isinstance(name, str):
            name, value = None, name
        if not isinstance(type, Type):
            fail(f"a Param takes a type, as Float(32), not {type!r}")
        type.check_pixel("a Param")
        source = Named("Param", name, "k")
        self._type, self.op, self.args, self.data = type, "param", (), self
        self._name, self.named, self.order = source.name(), source.named, source.order
        self.position: SourcePosition = user_position()
        self._default = None if value is None else self._checked(value)
        self._value: Any = None
        self._range: list[int | float | None] = [None, None]

    def __repr__(self) -> str:
        return f"<halide.Param '{self._name}' type {self._type}>"

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
        """Return the name by which a compiled pipeline takes the value."""
        return self._name

    def parameter(self) -> Param:
        """Return the input itself, for `deserialize_pipeline`."""
        return self

    def default(self) -> int | float | None:
        """Return the default for calls that give no value."""
        return self._default

    def set(self, value: Any) -> None:
        """Set the value that `realize` uses."""
        self._value = self._checked(value)

    def get(self) -> int | float | None:
        """Return the value that was set, else the default."""
        return self._default if self._value is None else self._value

    def set_range(self, least: Any, greatest: Any) -> None:
        """Promise that values lie between two numbers; calls with other values are refused."""
        self._range = [None if bound is None else self._checked(bound) for bound in (least, greatest)]

    def set_min_value(self, least: Any) -> None:
        """Promise a lower bound of the values."""
        self.set_range(least, self._range[1])

    def set_max_value(self, greatest: Any) -> None:
        """Promise an upper bound of the values."""
        self.set_range(self._range[0], greatest)

    def min_value(self) -> Expr:
        """Return the promised lower bound; an undefined Expr if there is none."""
        return self._bound(0)

    def max_value(self) -> Expr:
        """Return the promised upper bound; an undefined Expr if there is none."""
        return self._bound(1)

    def _bound(self, which: int) -> Expr:
        value = self._range[which]
        return Expr() if value is None else constant(self._type, value)

    def set_estimate(self, value: Any) -> None:
        """Ignore an estimate: schedules do not depend on the values of Params."""
