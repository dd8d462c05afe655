"""Buffer: an array with named dimensions and mins, as an input of a pipeline or what `realize` writes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilefuse.dialects.img.axes import INTERLEAVED, AxisOrder, axis_order, planar
from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import Expr, type_name
from tilefuse.frontend.inputs import Image
from tilefuse.frontend.sources import as_key
from tilefuse.frontend.types import Type, type_of_dtype


class Buffer(Image[int]):
    """An array as an input of a pipeline: `Buffer(array)`, or `Buffer(type, [width, height])` for zeros.

    The array's axes are reversed: x is the last one (but see `layout` of ImageParam). It is not copied. At integers,
    `buffer[x, y]` is a number that can be read and assigned; at Exprs it is an Expr.
    """

    def __init__(
        self,
        array: Any,
        sizes: Sequence[int] | str | None = None,
        name: str | Sequence[int] | None = None,
        layout: str = "auto",
    ):
        if isinstance(sizes, str):
            sizes, name = None, sizes
        if isinstance(array, Type):
            if sizes is None:
                fail("Buffer(type, sizes) takes the sizes too, x first")
            order = name if isinstance(name, list | tuple) else range(len(sizes))
            array, layout = _zeros(array, sizes, order), "planar"
        if isinstance(array, Buffer):
            array, layout = array.array, array.layout
        if isinstance(array, list | tuple | int | float):
            fail(f"a Buffer wraps an array, not a {type_name(array)}; use numpy.asarray(...) with a dtype")
        given = np.asarray(array)
        super().__init__(
            "Buffer", type_of_dtype(given.dtype), given.ndim, name if isinstance(name, str) else None, "b", layout
        )
        self.array = given

    @staticmethod
    def make_interleaved(type: Type, width: int, height: int, channels: int, name: str | None = None) -> Buffer:
        """Zeros of three dimensions, the channels of a pixel side by side in memory."""
        made = Buffer(type, [width, height, channels], [2, 0, 1])
        return made if name is None else made.set_name(name)

    @staticmethod
    def make_scalar(type: Type, name: str | None = None) -> Buffer:
        """One zero, without dimensions."""
        return Buffer(type, [], name)

    @staticmethod
    def make_with_shape_of(other: Buffer, name: str | None = None) -> Buffer:
        """Zeros of the type, sizes and mins of another."""
        made = Buffer(np.zeros_like(other.array), name, layout=other.layout)
        made.bounds = list(other.bounds)
        return made

    # --- where it lies --------------------------------------------------------------------------------------

    def interval(self, index: int) -> tuple[int, int]:
        """(min, extent) of a dimension: the min is 0, unless `set_min` or `set_bounds` says otherwise."""
        fixed = self.bounds[index]
        if fixed is not None:
            return fixed
        return 0, int(self.array.shape[self._order()[index]])

    def _known_order(self) -> AxisOrder | None:
        channels = self.bounds[2] if self._rank == 3 else None
        return axis_order(self.layout, self.array.shape, None if channels is None else channels[1])

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
        view: np.ndarray = self.array.transpose(self._order())
        return view

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
        shifted = any(mins)
        self.bounds = [(m, n) if shifted else None for m, n in zip(mins, extents, strict=True)]

    # --- parts of it ----------------------------------------------------------------------------------------

    def crop(self, *box: Any) -> None:
        """Keep a part: `crop(dimension, min, extent)`, or `crop([(min, extent), ...])`; coordinates stay."""
        wanted = list(box[0]) if len(box) == 1 else self._with(int(box[0]), (int(box[1]), int(box[2])))
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

    def slice(self, dimension: int, position: int | None = None) -> None:
        """Keep one point of a dimension, its first if none is given, and drop the dimension."""
        low, extent = self.interval(self.dim(dimension).index)
        at = low if position is None else int(position)
        if not low <= at < low + extent:
            fail(f"Buffer '{self._name}' has the points {low} to {low + extent - 1} in dimension {dimension}, not {at}")
        rest = [self.interval(d) for d in range(self._rank) if d != dimension]
        cut: tuple[Any, ...] = tuple(at - low if d == dimension else np.s_[:] for d in range(self._rank))
        self._place(np.asarray(self.x_first()[cut]), [m for m, _ in rest], [n for _, n in rest])

    def embed(self, dimension: int, position: int = 0) -> None:
        """Put in a dimension of one point."""
        rest = [self.interval(d) for d in range(self._rank)]
        rest.insert(dimension, (int(position), 1))
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

    def _changed(self, method: str, *args: Any) -> Buffer:
        made = Buffer(self)
        made.bounds = list(self.bounds)
        getattr(made, method)(*args)
        return made

    def cropped(self, *box: Any) -> Buffer:
        """A Buffer of the same memory; see `crop`."""
        return self._changed("crop", *box)

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
        if not all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in keys):
            return None
        if len(keys) != self._rank:
            fail(f"Buffer '{self._name}' has {self._rank} dimensions, but is read at {len(keys)} coordinates")
        for d, k in enumerate(keys):
            low, extent = self.interval(d)
            if not low <= k < low + extent:
                fail(f"Buffer '{self._name}' has the points {low} to {low + extent - 1} in dimension {d}, not {k}")
        return tuple(int(k) - self.interval(d)[0] for d, k in enumerate(keys))

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

        return html(self._name, str(self._type), self.array, self._known_order())

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.array, dtype=dtype, copy=True) if copy else np.asarray(self.array, dtype=dtype)


def _dtype(type: Type) -> np.dtype:
    if type.is_bfloat():
        fail("NumPy has no bfloat16")
    if type.is_bool():
        return np.dtype(np.bool_)
    return np.dtype(f"{'f' if type.is_float() else 'i' if type.is_int() else 'u'}{type.bytes()}")


def _zeros(type: Type, sizes: Sequence[int], order: Sequence[int]) -> np.ndarray:
    """Zeros with x as the last axis; `order`: the dimensions by how near their points lie in memory."""
    if sorted(order) != list(range(len(sizes))):
        fail(f"Buffer(type, sizes, storage_order): {list(order)} is no order of {len(sizes)} dimensions")
    stored = [int(d) for d in reversed(order)]
    array = np.zeros(tuple(int(sizes[d]) for d in stored), _dtype(type))
    return array.transpose([stored.index(d) for d in planar(len(sizes))])
