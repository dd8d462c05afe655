"""Buffer: an array with named dimensions and mins, as an input of a pipeline or what `realize` writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tilefuse.dialects.img.axes import INTERLEAVED, AxisOrder, axis_order, planar
from tilefuse.frontend.arrays import no_memory, zeros
from tilefuse.frontend.errors import PointError, ValueKindError, fail
from tilefuse.frontend.expr import Expr, type_name
from tilefuse.frontend.inputs import Dimension, Image
from tilefuse.frontend.sources import as_key
from tilefuse.frontend.types import Type, type_of_dtype


class BufferDimension(Dimension[int]):
    """One dimension of a Buffer: its box, and how far apart its points lie."""

    def stride(self) -> int:
        """Elements from a point to the next."""
        assert isinstance(self._image, Buffer)
        return int(self._image.x_first().strides[self._index]) // self._image.type().bytes()


class Buffer(Image[int]):
    """An array as an input of a pipeline, or what `realize` gives: `Buffer(array)`, `Buffer(type, [width, height])`.

    The array's axes are reversed, so that x is the last one, unless `reverse_axes=False`, or `layout="interleaved"`
    for a picture (height, width, channel); `layout="auto"` goes by the shape. The array is not copied, and
    `numpy.asarray(buffer)` gives it back. At integers, `buffer[x, y]` is a number that can be read and assigned; at
    Exprs it is an Expr. Of a type, sizes x first, an order of storage (the innermost dimension first) and a name it is
    all zeros. `Buffer()` is undefined.
    """

    def __init__(
        self,
        array: Any = None,
        *more: Any,
        type: Type | None = None,
        sizes: Sequence[int] | None = None,
        storage_order: Sequence[int] | None = None,
        name: str | None = None,
        reverse_axes: bool = True,
        layout: str | None = None,
    ):
        array = array if type is None else type
        for given in more:
            if isinstance(given, str):
                name = given
            elif isinstance(given, bool):
                reverse_axes = given
            elif sizes is None:
                sizes = given
            else:
                storage_order = given
        self._array: np.ndarray | None = None
        self._query = False
        self._view: tuple[np.ndarray, str, np.ndarray] | None = None
        self._drawn_as = layout or "auto"
        if array is None:
            super().__init__("Buffer", None, 0, name, "b", "planar")
            return
        wrapped, layout = _given_array(array, sizes, storage_order, layout)
        if not reverse_axes:
            wrapped = wrapped.transpose(planar(wrapped.ndim))
        super().__init__("Buffer", type_of_dtype(wrapped.dtype), wrapped.ndim, name, "b", layout)
        self.array = wrapped
        if isinstance(array, Buffer):
            self.bounds, self._query = list(array.bounds), array._query

    @property
    def array(self) -> np.ndarray:
        """The array that it wraps; PipelineError of an undefined Buffer."""
        if self._array is None:
            fail(f"Buffer '{self._name}' is undefined: it has no array")
        return self._array

    @array.setter
    def array(self, array: np.ndarray | None) -> None:
        self._array = array

    def defined(self) -> bool:
        """Whether it wraps an array."""
        return self._array is not None

    def __repr__(self) -> str:
        if not self.defined():
            return "<undefined halide.Buffer>"
        dims = (self.dim(d) for d in range(self._rank))
        shape = ",".join(f"[{d.min()},{d.extent()},{d.stride()}]" for d in dims)
        return f"<halide.Buffer of type {self._type} shape:[{shape}]>"

    @staticmethod
    def make_bounds_query(type: Type, sizes: Sequence[int], name: str | None = None) -> Buffer:
        """A Buffer without memory: for `infer_input_bounds`."""
        made = Buffer(no_memory(type, sizes), name=name)
        made._query = True
        return made

    def is_bounds_query(self) -> bool:
        """Whether it has no memory."""
        return self._query

    @staticmethod
    def make_interleaved(type: Type, width: int, height: int, channels: int, name: str | None = None) -> Buffer:
        """Zeros of three dimensions, the channels of a pixel side by side in memory."""
        return Buffer(type, [width, height, channels], [2, 0, 1], name=name)

    @staticmethod
    def make_scalar(type: Type, name: str | None = None) -> Buffer:
        """One zero, without dimensions."""
        return Buffer(type, [], name=name)

    @staticmethod
    def make_with_shape_of(other: Buffer, name: str | None = None) -> Buffer:
        """Zeros of the type, sizes and mins of another."""
        made = Buffer(np.zeros_like(other.array), name=name, layout=other.layout)
        made.bounds = list(other.bounds)
        return made

    # --- where it lies --------------------------------------------------------------------------------------

    def interval(self, index: int) -> tuple[int, int]:
        """(min, extent) of a dimension: the min is 0, unless `set_min` or `set_bounds` says otherwise."""
        fixed = self.bounds[index]
        if fixed is not None:
            return fixed
        return 0, int(self.array.shape[self._order()[index]])

    def _known_order(self, layout: str | None = None) -> AxisOrder | None:
        channels = self.bounds[2] if self._rank == 3 else None
        return axis_order(layout or self.layout, self.array.shape, None if channels is None else channels[1])

    def _order(self) -> AxisOrder:
        """The axis of the array that each dimension is."""
        order = self._known_order()
        if order is None:
            fail(
                f"Buffer '{self._name}' of shape {self.array.shape} may be planar (channel first) or interleaved "
                "(channel last); say which with layout='interleaved' or layout='planar'"
            )
        return order

    def x_first(self) -> np.ndarray:
        """The array with its axes in the order of the dimensions, without a copy."""
        seen = self._view
        if seen is None or seen[0] is not self._array or seen[1] != self.layout:
            self._view = seen = (self.array, self.layout, self.array.transpose(self._order()))
        return seen[2] if self.layout != "auto" else self.array.transpose(self._order())

    def dim(self, index: int) -> BufferDimension:
        """Dimension `index`, 0 is x."""
        super().dim(index)
        return BufferDimension(self, index)

    def channels(self) -> int:
        """The extent of the third dimension; 1 if there is none, as in Halide."""
        return self.dim(2).extent() if self._rank > 2 else 1

    def mins(self) -> list[int]:
        """The least coordinates, x first."""
        return [self.dim(d).min() for d in range(self._rank)]

    def extents(self) -> list[int]:
        """The sizes, x first."""
        return [self.dim(d).extent() for d in range(self._rank)]

    def set_min(self, mins: Sequence[int]) -> None:
        """Let it begin at these coordinates, x first; what is in it stays."""
        extents = self.extents()
        if len(mins) > self._rank:
            fail(f"Buffer '{self._name}' has {self._rank} dimensions, but set_min is given {len(mins)} numbers")
        starts = [*(int(m) for m in mins), *self.mins()[len(mins) :]]
        self._place(self.x_first(), starts, extents)

    def translate(self, *by: Any) -> None:
        """Move it: `translate(dimension, by)`, or `translate([by in x, by in y, ...])`."""
        moves = list(by[0]) if len(by) == 1 else [int(by[1]) if d == by[0] else 0 for d in range(self._rank)]
        moves += [0] * (self._rank - len(moves))
        self._place(self.x_first(), [m + b for m, b in zip(self.mins(), moves, strict=True)], self.extents())

    def _place(self, view: np.ndarray, mins: Sequence[int], extents: Sequence[int]) -> None:
        """Hold `view`, whose axes are dimensions x first, from `mins` on."""
        interleaved = view.ndim == self._rank == 3 and self._order() == INTERLEAVED
        # (1, 0, 2) undoes itself
        self.array = view.transpose(INTERLEAVED if interleaved else planar(view.ndim))
        self.layout, self._rank = "interleaved" if interleaved else "planar", view.ndim
        self._drawn_as = self.layout
        shifted = any(mins)
        self.bounds = [(m, n) if shifted else None for m, n in zip(mins, extents, strict=True)]

    # --- parts of it ----------------------------------------------------------------------------------------

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
        """Keep one point of a dimension, its first if none is given, and drop the dimension."""
        low, extent = self.interval(self.dim(dimension).index)
        at = low if pos is None else int(pos)
        if not low <= at < low + extent:
            fail(f"Buffer '{self._name}' has the points {low} to {low + extent - 1} in dimension {dimension}, not {at}")
        rest = [self.interval(d) for d in range(self._rank) if d != dimension]
        cut: tuple[Any, ...] = tuple(at - low if d == dimension else np.s_[:] for d in range(self._rank))
        self._place(np.asarray(self.x_first()[cut]), [m for m, _ in rest], [n for _, n in rest])

    def embed(self, dimension: int, pos: int = 0) -> None:
        """Put in a dimension of one point."""
        rest = [self.interval(d) for d in range(self._rank)]
        rest.insert(dimension, (int(pos), 1))
        self._place(np.expand_dims(self.x_first(), dimension), [m for m, _ in rest], [n for _, n in rest])

    def add_dimension(self) -> None:
        """Put in a last dimension of one point."""
        self.embed(self._rank)

    def transpose(self, *order: Any) -> None:
        """Exchange two dimensions, `transpose(0, 1)`, or say for each where it goes, `transpose([2, 0, 1])`."""
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

    def reverse_axes(self) -> Buffer:
        """A Buffer of the same memory with its dimensions in reverse."""
        return self.transposed(list(planar(self._rank)))

    def _changed(self, method: str, *args: Any) -> Buffer:
        made = Buffer(self)
        getattr(made, method)(*args)
        return made

    def cropped(self, dimension: Any, min: int | None = None, extent: int | None = None) -> Buffer:
        """A Buffer of the same memory; see `crop`."""
        return self._changed("crop", dimension, min, extent)

    def sliced(self, *where: Any) -> Buffer:
        """A Buffer of the same memory; see `slice`."""
        return self._changed("slice", *where)

    def embedded(self, *where: Any) -> Buffer:
        """A Buffer of the same memory; see `embed`."""
        return self._changed("embed", *where)

    def transposed(self, *order: Any) -> Buffer:
        """A Buffer of the same memory; see `transpose`."""
        return self._changed("transpose", *order)

    def translated(self, *by: Any) -> Buffer:
        """A Buffer of the same memory; see `translate`."""
        return self._changed("translate", *by)

    # --- what is in it --------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        place = self._place_of(key)
        return super().__getitem__(key) if place is None else self.x_first()[place].item()

    def __setitem__(self, key: Any, value: Any) -> None:
        place = self._place_of(key)
        if place is None:
            fail(f"Buffer '{self._name}' is assigned at integers, as in {self._name}[3, 4] = 5, not at {key!r}")
        self.x_first()[place] = self._number(value)

    def _place_of(self, key: Any) -> tuple[int, ...] | None:
        """The indices into the array of a point given in integers; None if it is not."""
        keys = as_key(key)
        for k in keys:
            if type(k) is not int and not isinstance(k, np.integer):
                return None
        if len(keys) != self._rank:
            what = f"Buffer '{self._name}' has {self._rank} dimensions, but is read at {len(keys)} coordinates"
            fail(what, kind=ValueKindError)
        if self.is_bounds_query():
            fail(f"Buffer '{self._name}' is a bounds query, which has no values")
        place = []
        for d, (k, fixed, extent) in enumerate(zip(keys, self.bounds, self.x_first().shape, strict=True)):
            low = 0 if fixed is None else fixed[0]
            if not 0 <= k - low < extent:
                what = f"index {k} is out of bounds for axis {d} with min={low}, extent={extent}"
                fail(f"Buffer '{self._name}': {what}", kind=PointError)
            place.append(int(k) - low)
        return tuple(place)

    def __iter__(self) -> Iterator[Any]:
        """The values, of one dimension."""
        if self._rank != 1:
            fail(f"Buffer '{self._name}' has {self._rank} dimensions; only one is iterated over", kind=ValueKindError)
        return iter(self.x_first().tolist())

    def _number(self, value: Any) -> Any:
        if isinstance(value, Expr) and value.op == "const":
            value = value.data
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, bool | int | float):
            fail(f"a value of Buffer '{self._name}' is a number, not {value!r}")
        if not self._type.is_float() and not self._type.can_represent(value):
            fail(f"Buffer '{self._name}' is of type {self._type}, which {value} is not")
        return value

    def fill(self, value: Any) -> None:
        """Make all values this one."""
        self.array[...] = self._number(value)

    def copy(self) -> Buffer:
        """A Buffer of the same values, sizes and mins, with memory of its own."""
        made = Buffer(np.array(self.array, order="K"), layout=self.layout)
        made.bounds = list(self.bounds)
        return made

    def copy_from(self, other: Buffer) -> None:
        """Take over the values at all coordinates that both have."""
        boxes = [(a, b) for a, b in zip(self._boxes(), other._boxes(), strict=True)]
        low = [max(a[0], b[0]) for a, b in boxes]
        high = [min(a[0] + a[1], b[0] + b[1]) for a, b in boxes]
        own = tuple(np.s_[p - a[0] : max(q, p) - a[0]] for p, q, (a, _) in zip(low, high, boxes, strict=True))
        theirs = tuple(np.s_[p - b[0] : max(q, p) - b[0]] for p, q, (_, b) in zip(low, high, boxes, strict=True))
        self.x_first()[own] = other.x_first()[theirs]

    def _boxes(self) -> list[tuple[int, int]]:
        return [self.interval(d) for d in range(self._rank)]

    def all_equal(self, value: Any) -> bool:
        """Whether all values are this one."""
        return bool(np.all(self.array == value))

    def contains(self, coordinates: Sequence[int]) -> bool:
        """Whether a point lies in it."""
        return all(m <= c < m + n for c, (m, n) in zip(coordinates, self._boxes(), strict=True))

    def for_each_element(self, function: Any) -> None:
        """Call `function` with each point, a list of coordinates, x fastest."""
        spans = [range(m, m + n) for m, n in reversed(self._boxes())]
        for point in itertools.product(*spans):
            function(list(reversed(point)))

    def number_of_elements(self) -> int:
        """How many values there are."""
        return int(self.array.size)

    def size_in_bytes(self) -> int:
        """Bytes of all values."""
        return int(self.array.nbytes)

    def set_name(self, name: str) -> Buffer:
        """Give it a name; gives the Buffer."""
        self._name, self.named = name, True
        return self

    # --- Halide's devices: the memory is always the host's, and programs copy it where they run --------------

    def copy_to_host(self) -> None:
        """Nothing: the values are on the host."""

    def copy_to_device(self, *_: Any) -> int:
        """Nothing: programs copy what they read."""
        return 0

    def device_sync(self) -> int:
        """Nothing: what `realize` has written is there."""
        return 0

    def has_device_allocation(self) -> bool:
        """Always false."""
        return False

    def device_dirty(self) -> bool:
        """Always false."""
        return False

    def host_dirty(self) -> bool:
        """Always false."""
        return False

    def set_host_dirty(self, dirty: bool = True) -> None:
        """Nothing: what is assigned is seen by the next call."""

    # --- for other libraries --------------------------------------------------------------------------------

    def same_as(self, other: Buffer) -> bool:
        """Whether both are of the same memory."""
        return self.array is other.array or bool(np.shares_memory(self.array, other.array))

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        """The array for other libraries, as in `torch.from_dlpack(buffer)`, without a copy."""
        asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        # NumPy before 2.1 takes `stream` alone
        return self.array.__dlpack__(**{name: value for name, value in asked.items() if value is not None})

    def __dlpack_device__(self) -> tuple[int, int]:
        """(type, number) of the device that the array is on, as DLPack numbers them: the CPU."""
        type_, number = self.array.__dlpack_device__()
        return int(type_), int(number)

    def _repr_html_(self) -> str:
        """For notebooks: its picture, if it is one, and its type and sizes."""
        from tilefuse.frontend.pictures import html  # late: only notebooks ask for it

        return html(self._name, str(self._type), self.array, self._known_order(self._drawn_as))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """The array, reversed axes and all: `numpy.asarray(buffer)[y, x]`."""
        if copy:
            return np.array(self.array, dtype=dtype, copy=True)
        found = np.asarray(self.array, dtype=dtype)
        if copy is False and found is not self.array:
            raise ValueError(f"values of Buffer '{self._name}' as {found.dtype} are a copy")
        return found


def _given_array(
    array: Any, sizes: Sequence[int] | None, order: Sequence[int] | None, layout: str | None
) -> tuple[np.ndarray, str]:
    """The array that a Buffer is made of, and how its axes are read."""
    if isinstance(array, Type):
        if sizes is None:
            fail("Buffer(type, sizes) takes the sizes too, x first")
        return zeros(array, sizes, order), "planar"
    if isinstance(array, Buffer):
        return array.array, array.layout
    if isinstance(array, list | tuple | int | float):
        fail(f"a Buffer wraps an array, not a {type_name(array)}; use numpy.asarray(...) with a dtype")
    return np.asarray(array), layout or "planar"
