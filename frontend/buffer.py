"""Buffer: an array with named dimensions and mins, as input of a pipeline or result of `realize`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tilefuse.dialects.img.axes import planar
from tilefuse.frontend.arrays import no_memory, zeros
from tilefuse.frontend.errors import PointError, ValueKindError, fail
from tilefuse.frontend.expr import Expr, type_name
from tilefuse.frontend.placed_array import PlacedArray
from tilefuse.frontend.sources import as_key
from tilefuse.frontend.types import Type, type_of_dtype


class Buffer(PlacedArray):
    """An array as input of a pipeline or result of `realize`: `Buffer(array)`, `Buffer(type, [width, height])`.

    The array's axes are reversed, so that x is the last one, unless `reverse_axes=False`, or `layout="interleaved"`
    for a picture (height, width, channel); `layout="auto"` goes by the shape. The array is not copied, and
    `numpy.asarray(buffer)` gives it back. At integers, `buffer[x, y]` is a number that can be read and assigned; at
    Exprs it is an Expr. Of a type, sizes x first, an order of storage (the innermost dimension first) and a name it is
    all zeros. `Buffer()` is undefined.
    """

    # many parameters: those of Halide's constructors, of which there are several
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
        self._array = self._view = None
        self._query = False
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

    def __repr__(self) -> str:
        if not self.defined():
            return "<undefined halide.Buffer>"
        dims = (self.dim(d) for d in range(self._rank))
        shape = ",".join(f"[{d.min()},{d.extent()},{d.stride()}]" for d in dims)
        return f"<halide.Buffer of type {self._type} shape:[{shape}]>"

    @staticmethod
    def make_bounds_query(type: Type, sizes: Sequence[int], name: str | None = None) -> Buffer:
        """Make a Buffer without memory, for `infer_input_bounds`."""
        made = Buffer(no_memory(type, sizes), name=name)
        made._query = True
        return made

    def is_bounds_query(self) -> bool:
        """Whether the Buffer has no memory."""
        return self._query

    @staticmethod
    def make_interleaved(type: Type, width: int, height: int, channels: int, name: str | None = None) -> Buffer:
        """Make zeros of three dimensions, with the channels of a pixel adjacent in memory."""
        return Buffer(type, [width, height, channels], [2, 0, 1], name=name)

    @staticmethod
    def make_scalar(type: Type, name: str | None = None) -> Buffer:
        """Make a single zero, without dimensions."""
        return Buffer(type, [], name=name)

    @staticmethod
    def make_with_shape_of(other: Buffer, name: str | None = None) -> Buffer:
        """Make zeros of another Buffer's type, sizes and mins."""
        made = Buffer(np.zeros_like(other.array), name=name, layout=other.layout)
        made.bounds = list(other.bounds)
        return made

    def _again(self) -> Buffer:
        return Buffer(self)

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
        """Return the array indices of a point given in integers; None for any other key."""
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
        """Iterate over the values of a 1-D Buffer."""
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
        """Set all values to one."""
        self.array[...] = self._number(value)

    def copy(self) -> Buffer:
        """Return a copy with its own memory."""
        made = Buffer(np.array(self.array, order="K"), layout=self.layout)
        made.bounds = list(self.bounds)
        return made

    def copy_from(self, other: Buffer) -> None:
        """Copy the values at all coordinates that both Buffers have."""
        boxes = [(a, b) for a, b in zip(self._boxes(), other._boxes(), strict=True)]
        low = [max(a[0], b[0]) for a, b in boxes]
        high = [min(a[0] + a[1], b[0] + b[1]) for a, b in boxes]
        own = tuple(np.s_[p - a[0] : max(q, p) - a[0]] for p, q, (a, _) in zip(low, high, boxes, strict=True))
        theirs = tuple(np.s_[p - b[0] : max(q, p) - b[0]] for p, q, (_, b) in zip(low, high, boxes, strict=True))
        self.x_first()[own] = other.x_first()[theirs]

    def _boxes(self) -> list[tuple[int, int]]:
        return [self.interval(d) for d in range(self._rank)]

    def all_equal(self, value: Any) -> bool:
        """Whether all values equal this one."""
        return bool(np.all(self.array == value))

    def contains(self, coordinates: Sequence[int]) -> bool:
        """Whether a point lies in the Buffer."""
        return all(m <= c < m + n for c, (m, n) in zip(coordinates, self._boxes(), strict=True))

    def for_each_element(self, function: Any) -> None:
        """Call `function` with each point, a list of coordinates, x fastest."""
        spans = [range(m, m + n) for m, n in reversed(self._boxes())]
        for point in itertools.product(*spans):
            function(list(reversed(point)))

    def number_of_elements(self) -> int:
        """Return the number of values."""
        return int(self.array.size)

    def size_in_bytes(self) -> int:
        """Return the bytes of all values."""
        return int(self.array.nbytes)

    def set_name(self, name: str) -> Buffer:
        """Name the Buffer; return it."""
        self._name, self.named = name, True
        return self

    # --- Halide's devices: the memory is always the host's, and programs copy it where they run --------------

    def copy_to_host(self) -> None:
        """Do nothing: values are on the host."""

    def copy_to_device(self, *_: Any) -> int:
        """Do nothing: programs copy the arrays that they read."""
        return 0

    def device_sync(self) -> int:
        """Do nothing: results of `realize` are complete."""
        return 0

    def has_device_allocation(self) -> bool:
        """Return False."""
        return False

    def device_dirty(self) -> bool:
        """Return False."""
        return False

    def host_dirty(self) -> bool:
        """Return False."""
        return False

    def set_host_dirty(self, dirty: bool = True) -> None:
        """Do nothing: the next call sees all assigned values."""

    # --- for other libraries --------------------------------------------------------------------------------

    def same_as(self, other: Buffer) -> bool:
        """Whether both Buffers share their memory."""
        return self.array is other.array or bool(np.shares_memory(self.array, other.array))

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        """Export the array to other libraries without a copy, as in `torch.from_dlpack(buffer)`."""
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        # NumPy before 2.1 takes `stream` alone
        return self.array.__dlpack__(**{name: value for name, value in options.items() if value is not None})

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return (type, number) of the array's device, in DLPack's numbering: the CPU."""
        type_, number = self.array.__dlpack_device__()
        return int(type_), int(number)

    def _repr_html_(self) -> str:
        """Format for notebooks: type, sizes, and the picture if it is one."""
        if not self.defined():
            return "<div>Buffer, undefined</div>"
        from tilefuse.frontend.pictures import array_html  # late: only notebooks ask for it

        return array_html(self._name, str(self._type), self.array, self._known_order(self._drawn_as))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """Return the array with its axes in memory order: `numpy.asarray(buffer)[y, x]`."""
        if copy:
            return np.array(self.array, dtype=dtype, copy=True)
        found = np.asarray(self.array, dtype=dtype)
        if copy is False and found is not self.array:
            raise ValueError(f"values of Buffer '{self._name}' as {found.dtype} are a copy")
        return found


def _given_array(
    array: Any, sizes: Sequence[int] | None, order: Sequence[int] | None, layout: str | None
) -> tuple[np.ndarray, str]:
    """Return the array of a new Buffer, and the order of its axes."""
    if isinstance(array, Type):
        if sizes is None:
            fail("Buffer(type, sizes) takes the sizes too, x first")
        return zeros(array, sizes, order), "planar"
    if isinstance(array, Buffer):
        return array.array, array.layout
    if isinstance(array, list | tuple | int | float):
        fail(f"a Buffer wraps an array, not a {type_name(array)}; use numpy.asarray(...) with a dtype")
    return np.asarray(array), layout or "planar"
