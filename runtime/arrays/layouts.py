"""Array layouts as functions over the grid, with the facts that a kernel may know at compile time.

Dimension d of a function of rank r is axis r-1-d of an array (dimension 0 is x, the last axis), except for
an interleaved picture: an array (height, width, channel) of a function (x, y, c).

What is written into a module before it is scheduled, so that kernels are specialised to it:

- `layout` of `img.input`, and the discardable attribute `output_layouts` of `img.return` (an ArrayAttr of one
  StridedLayoutAttr per output): strides in elements, x first, a number where it is fixed, `?` where it is
  known at the call only.
- `bounds` of `img.input`, and of the stage that gives an output: (min, extent) of small dimensions.
- the discardable attributes `img.align` of `img.input` (an i64) and `output_aligns` of `img.return` (an
  array of i64): bytes that the address where rows of outputs start, and every `?` stride, are a multiple
  of; 16, or the size of an element.
- read, not written: the discardable attribute `img.array_layout` of `img.input`, one of "auto" (which is
  what its absence means), "planar", "interleaved".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr

from tilefuse.dialects.img import axes
from tilefuse.dialects.img.attrs import Interval
from tilefuse.dialects.img.axes import INTERLEAVED as INTERLEAVED
from tilefuse.dialects.img.axes import MOST_CHANNELS
from tilefuse.dialects.img.axes import AxisOrder as AxisOrder
from tilefuse.dialects.img.axes import planar as planar
from tilefuse.dialects.img.ops import InputOp
from tilefuse.runtime.errors import CallError

ALIGNMENT = 16
"""Bytes: the widest load and store of a thread."""

_SMALL_POINTS = MOST_CHANNELS**2
"""Most points of all the dimensions together that kernels are specialised to."""

ARRAY_LAYOUT = "img.array_layout"
INPUT_ALIGN = "img.align"
OUTPUT_LAYOUTS = "output_layouts"
OUTPUT_ALIGNS = "output_aligns"


def declared_layout(op: InputOp) -> str:
    """Return the `img.array_layout` of an input: auto, planar or interleaved."""
    attribute = op.attributes.get(ARRAY_LAYOUT)
    return attribute.data if isinstance(attribute, StringAttr) else "auto"


def input_axis_order(op: InputOp, shape: Sequence[int]) -> AxisOrder | None:
    """Return the axis order of an array of this shape; None if both are possible and only reads can tell."""
    declared = declared_layout(op)
    if declared not in ("auto", "planar", "interleaved"):
        raise CallError(f"input '{op.sym_name.data}': layout '{declared}' is unknown; use auto, planar, interleaved")
    fixed = op.bounds.data[2] if op.bounds is not None and len(shape) == 3 else None
    return axes.axis_order(declared, shape, None if fixed is None else fixed[1])


class Picture(NamedTuple):
    """A buffer in a function's dimensions, x first. `strides` in elements."""

    extents: tuple[int, ...]
    strides: tuple[int, ...]


def picture(shape: Sequence[int], strides: Sequence[int], itemsize: int, order: AxisOrder) -> Picture:
    """View an array as a picture; strides in bytes must be multiples of `itemsize`.

    A stride over a dimension of extent 1 is never used; it becomes what it is in a contiguous buffer, so
    that kernels are not specialised to it.
    """
    extents = tuple(shape[a] for a in order)
    steps = [strides[a] // itemsize for a in order]
    for d, extent in enumerate(extents):
        if extent == 1 and d > 0:
            steps[d] = max((abs(s) * n for s, n in zip(steps[:d], extents[:d], strict=True)), default=0)
    if extents and extents[0] == 1:
        # One column: pixels are as far apart as their channels need, which is 1 for a planar picture.
        steps[0] = next((n for s, n in zip(steps[2:], extents[2:], strict=True) if s == 1 < n), 1)
    return Picture(extents, tuple(steps))


def contiguous(extents: Sequence[int], order: AxisOrder, itemsize: int) -> Picture:
    """Return a contiguous picture of these extents, in C order of its own axes."""
    shape = array_shape(extents, order)
    strides = [itemsize * prod(shape[a + 1 :]) for a in range(len(shape))]
    return picture(shape, strides, itemsize, order)


def array_shape(extents: Sequence[int], order: AxisOrder) -> tuple[int, ...]:
    """Return the array shape for dimensions of these extents."""
    shape = [0] * len(order)
    for d, axis in enumerate(order):
        shape[axis] = extents[d]
    return tuple(shape)


def reach(extents: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """Return the offsets of the lowest and highest element from the element of least coordinates."""
    steps = [(n - 1) * s for n, s in zip(extents, strides, strict=True)]
    return sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)


class BufferSpec(NamedTuple):
    """Layout of an input or output to which a kernel is specialised, dimensions x first."""

    strides: tuple[int | None, ...]
    """Strides in elements; None for strides that are arguments of the kernel."""
    bounds: tuple[Interval | None, ...]
    """(min, extent) of the small dimensions."""
    aligned: bool
    """Whether every row starts at a multiple of ALIGNMENT bytes: an output's own, or an input's where outputs start."""


def describe_layout(
    p: Picture, box: Sequence[Interval], pointer: int, itemsize: int, starts: Collection[int] = ()
) -> BufferSpec:
    """Return the spec of a buffer that holds `box`: the facts that a kernel may know.

    A stride is fixed if it is 1, or the step of x over a few channels. `starts`: the columns at which rows of tiles
    start, if not at its own least: lanes compute the same columns of all buffers.
    """
    packed = any(s == 1 and 1 < n <= MOST_CHANNELS for s, n in zip(p.strides[2:], p.extents[2:], strict=True))
    strides: list[int | None] = []
    for d, s in enumerate(p.strides):
        unit = s == 1 and 1 not in strides and (d < 2 or p.extents[d] > 1)
        strides.append(s if unit or (d == 0 and packed and 1 < s <= MOST_CHANNELS) else None)
    dynamic = [s for s, fixed in zip(p.strides, strides, strict=True) if fixed is None]
    rows = [pointer + (x - box[0][0]) * p.strides[0] * itemsize for x in starts] if box else []
    aligned = not any(v % ALIGNMENT for v in (*(rows or [pointer]), *(s * itemsize for s in dynamic)))
    return BufferSpec(tuple(strides), small_bounds(box), aligned)


def small_bounds(box: Sequence[Interval]) -> tuple[Interval | None, ...]:
    """Return the bounds that kernels are specialised to: of dimensions from z on, while a thread has few points.

    All points of these dimensions belong to one tile: their number is the product of the extents.
    """
    bounds: list[Interval | None] = [None] * len(box)
    points = 1
    for d, (low, extent) in enumerate(box):
        if d >= 2 and extent <= MOST_CHANNELS and points * extent <= _SMALL_POINTS:
            bounds[d] = (low, extent)
            points *= extent
    return tuple(bounds)


def temporary_spec(box: Sequence[Interval]) -> BufferSpec:
    """Return the spec of a function that the runtime allocates by `storage_strides`."""
    return BufferSpec((1, *(None,) * (len(box) - 1)) if box else (), small_bounds(box), True)


def storage_strides(extents: Sequence[int], itemsize: int) -> tuple[tuple[int, ...], int]:
    """Return strides (in elements) and bytes of a temporary: rows start at multiples of ALIGNMENT bytes."""
    strides: list[int] = []
    step = 1
    for d, n in enumerate(extents):
        strides.append(step)
        step *= n
        if d == 0:
            unit = max(1, ALIGNMENT // itemsize)
            step = -(-step // unit) * unit
    return tuple(strides), step * itemsize
