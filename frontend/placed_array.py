"""Placement of an array: the axis and the first coordinate of each dimension, and views of parts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from tilefuse.dialects.img.axes import INTERLEAVED, AxisOrder, axis_order, planar
from tilefuse.frontend.errors import fail
from tilefuse.frontend.inputs import Dimension, Image


class BufferDimension(Dimension[int]):
    """One dimension of a Buffer: its box and its stride."""

    def stride(self) -> int:
        """Return the elements from a point to the next."""
        assert isinstance(self._image, PlacedArray)
        return int(self._image.x_first().strides[self._index]) // self._image.type().bytes()


class PlacedArray(Image[int]):
    """An array with the axis and the min of each dimension: base of Buffer."""

    _array: np.ndarray | None
    _view: tuple[np.ndarray, str, np.ndarray] | None
    _drawn_as: str
    """Layout of the axes in notebooks."""

    @property
    def array(self) -> np.ndarray:
        """Return the wrapped array; PipelineError for an undefined Buffer."""
        if self._array is None:
            fail(f"Buffer '{self._name}' is undefined: it has no array")
        return self._array

    @array.setter
    def array(self, array: np.ndarray | None) -> None:
        self._array = array

    def defined(self) -> bool:
        """Whether the Buffer wraps an array."""
        return self._array is not None

    def interval(self, index: int) -> tuple[int, int]:
        """Return (min, extent) of a dimension: the min is 0, unless `set_min` or `set_bounds` changed it."""
        fixed = self.bounds[index]
        if fixed is not None:
            return fixed
        return 0, int(self.array.shape[self._order()[index]])

    def _known_order(self, layout: str | None = None) -> AxisOrder | None:
        channels = self.bounds[2] if self._rank == 3 else None
        return axis_order(layout or self.layout, self.array.shape, None if channels is None else channels[1])

    def _order(self) -> AxisOrder:
        """Return the array axis of each dimension."""
        order = self._known_order()
        if order is None:
            fail(
                f"Buffer '{self._name}' of shape {self.array.shape} may be planar (channel first) or interleaved "
                "(channel last); say which with layout='interleaved' or layout='planar'"
            )
        return order

    def x_first(self) -> np.ndarray:
        """Return the array with its axes in dimension order, without a copy."""
        seen = self._view
        if seen is None or seen[0] is not self._array or seen[1] != self.layout:
            self._view = seen = (self.array, self.layout, self.array.transpose(self._order()))
        return seen[2] if self.layout != "auto" else self.array.transpose(self._order())

    def dim(self, index: int) -> BufferDimension:
        """Return dimension `index`; 0 is x."""
        super().dim(index)
        return BufferDimension(self, index)

    def channels(self) -> int:
        """Return the extent of the third dimension; 1 if there is none, as in Halide."""
        return self.dim(2).extent() if self._rank > 2 else 1

    def mins(self) -> list[int]:
        """Return the first coordinates, x first."""
        return [self.dim(d).min() for d in range(self._rank)]

    def extents(self) -> list[int]:
        """Return the extents, x first."""
        return [self.dim(d).extent() for d in range(self._rank)]

    def set_min(self, mins: Sequence[int]) -> None:
        """Set the first coordinates, x first; values stay."""
        extents = self.extents()
        if len(mins) > self._rank:
            fail(f"Buffer '{self._name}' has {self._rank} dimensions, but set_min is given {len(mins)} numbers")
        starts = [*(int(m) for m in mins), *self.mins()[len(mins) :]]
        self._place(self.x_first(), starts, extents)

    def translate(self, *by: Any) -> None:
        """Shift the coordinates: `translate(dimension, by)`, or `translate([by in x, by in y, ...])`."""
        moves = list(by[0]) if len(by) == 1 else [int(by[1]) if d == by[0] else 0 for d in range(self._rank)]
        moves += [0] * (self._rank - len(moves))
        self._place(self.x_first(), [m + b for m, b in zip(self.mins(), moves, strict=True)], self.extents())

    def _place(self, view: np.ndarray, mins: Sequence[int], extents: Sequence[int]) -> None:
        """Replace the array by `view`, whose axes are dimensions x first, with these mins."""
        interleaved = view.ndim == self._rank == 3 and self._order() == INTERLEAVED
        # (1, 0, 2) undoes itself
        self.array = view.transpose(INTERLEAVED if interleaved else planar(view.ndim))
        self.layout, self._rank = "interleaved" if interleaved else "planar", view.ndim
        self._drawn_as = self.layout
        shifted = any(mins)
        self.bounds = [(m, n) if shifted else None for m, n in zip(mins, extents, strict=True)]

    def crop(self, dimension: Any, min: int | None = None, extent: int | None = None) -> None:
        """Keep a part: `crop(dimension, min, extent)`, or `crop([(min, extent), ...])`; coordinates stay."""
        if min is None or extent is None:
            wanted = list(dimension)
        else:
            wanted = self._with(int(dimension), (int(min), int(extent)))
        wanted += [self.interval(d) for d in range(len(wanted), self._rank)]
        cuts = []
        for d, (low, extent) in enumerate(wanted):
            first, size = self.interval(d)
            if low < first or extent < 0 or low + extent > first + size:
                fail(
                    f"Buffer '{self._name}' has the points {first} to {first + size - 1} in dimension {d}; a crop to "
                    f"{low} to {low + extent - 1} does not lie in it"
                )
            cuts.append(slice(low - first, low - first + extent))
        self._place(self.x_first()[tuple(cuts)], [m for m, _ in wanted], [n for _, n in wanted])

    def _with(self, dimension: int, interval: tuple[int, int]) -> list[tuple[int, int]]:
        self.dim(dimension)
        return [interval if d == dimension else self.interval(d) for d in range(self._rank)]

    def slice(self, dimension: int, pos: int | None = None) -> None:
        """Keep one point of a dimension, by default its first, and drop the dimension."""
        low, extent = self.interval(self.dim(dimension).index)
        at = low if pos is None else int(pos)
        if not low <= at < low + extent:
            fail(f"Buffer '{self._name}' has the points {low} to {low + extent - 1} in dimension {dimension}, not {at}")
        rest = [self.interval(d) for d in range(self._rank) if d != dimension]
        cut: tuple[Any, ...] = tuple(at - low if d == dimension else np.s_[:] for d in range(self._rank))
        self._place(np.asarray(self.x_first()[cut]), [m for m, _ in rest], [n for _, n in rest])

    def embed(self, dimension: int, pos: int = 0) -> None:
        """Insert a dimension of one point."""
        rest = [self.interval(d) for d in range(self._rank)]
        rest.insert(dimension, (int(pos), 1))
        self._place(np.expand_dims(self.x_first(), dimension), [m for m, _ in rest], [n for _, n in rest])

    def add_dimension(self) -> None:
        """Append a dimension of one point."""
        self.embed(self._rank)

    def transpose(self, *order: Any) -> None:
        """Exchange two dimensions, `transpose(0, 1)`, or permute all, `transpose([2, 0, 1])`."""
        places = list(range(self._rank))
        if len(order) == 1:
            places = [int(d) for d in order[0]]
        else:
            places[order[0]], places[order[1]] = places[order[1]], places[order[0]]
        if sorted(places) != list(range(self._rank)):
            fail(f"Buffer '{self._name}' has {self._rank} dimensions, which {places} is no order of")
        dims = [places.index(d) for d in range(self._rank)]
        boxes = [self.interval(d) for d in dims]
        view = self.x_first().transpose(dims)
        self.array, self.layout = self.x_first().transpose(planar(self._rank)), "planar"
        self._place(view, [m for m, _ in boxes], [n for _, n in boxes])

    def reverse_axes(self) -> Self:
        """Return a Buffer of the same memory with its dimensions reversed."""
        return self.transposed(list(planar(self._rank)))

    @abstractmethod
    def _again(self) -> Self:
        """Return another Buffer of the same memory."""

    def _changed(self, method: str, *args: Any) -> Self:
        made = self._again()
        getattr(made, method)(*args)
        return made

    def cropped(self, dimension: Any, min: int | None = None, extent: int | None = None) -> Self:
        """Return a cropped view of the same memory; see `crop`."""
        return self._changed("crop", dimension, min, extent)

    def sliced(self, *where: Any) -> Self:
        """Return a sliced view of the same memory; see `slice`."""
        return self._changed("slice", *where)

    def embedded(self, *where: Any) -> Self:
        """Return an embedded view of the same memory; see `embed`."""
        return self._changed("embed", *where)

    def transposed(self, *order: Any) -> Self:
        """Return a transposed view of the same memory; see `transpose`."""
        return self._changed("transpose", *order)

    def translated(self, *by: Any) -> Self:
        """Return a translated view of the same memory; see `translate`."""
        return self._changed("translate", *by)
