"""Array libraries, one class each: an `ArrayView` of an array, and new arrays.

To add a kind, write a class with the methods of `ArrayKind` and a case in `_find_kind`. Nothing here
copies pixels, and no array library but NumPy is imported unless an array of it is given.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from tilefuse.dialects.img.elements import array_dtype
from tilefuse.runtime.errors import CallError, CallMemoryError, CallTypeError

Device = tuple[str, int]
"""("cpu", 0) or ("cuda", ordinal)."""

CPU: Device = ("cpu", 0)


def device_name(device: Device) -> str:
    """Return `CPU` or `GPU 0`."""
    return "the CPU" if device[0] == "cpu" else f"GPU {device[1]}"


class ArrayView(NamedTuple):
    """Memory layout of an array. Axes in the array's own order; strides in bytes.

    `pointer` is the address of the element with all indices 0, which for a negative stride is not the
    lowest one. `owner` keeps the memory alive.
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: Device
    writable: bool
    kind: ArrayKind
    owner: Any


class ArrayKind(Protocol):
    """One array library."""

    name: str

    def view(self, array: Any, what: str) -> ArrayView:
        """View the memory of `array`. Raises CallTypeError, which names it `what`, if its memory is not usable."""

    def describe(self, array: Any) -> tuple[int, Hashable] | None:
        """Return an array's address and the other facts of `view`; None if it must be viewed each time."""

    def address(self, array: Any) -> int:
        """Return the address of an array made by `empty`."""

    def empty(self, shape: Sequence[int], dtype: str, device: Device, stream: int | None, like: Any) -> Any:
        """Return a new contiguous array that may be written on `stream`; None stands for the current one."""

    def current_stream(self, device: Device) -> int | None:
        """Return the library's current stream; None if it has none."""


_DTYPE_NAMES: dict[Any, str] = {}


def dtype_name(dtype: Any) -> str:
    """Return `float32`, `bool`, or `>f4` for another byte order; other dtypes by their own text."""
    name = _DTYPE_NAMES.get(dtype)
    if name is None:
        text = str(dtype).removeprefix("torch.")
        native = getattr(dtype, "isnative", True)
        _DTYPE_NAMES[dtype] = name = text if native else str(dtype.str)
    return name


@functools.cache
def numpy_dtype(name: str, what: str) -> np.dtype:
    """Return the NumPy dtype of an element; dtypes that NumPy lacks come from ml_dtypes if installed."""
    try:
        return array_dtype(name)
    except ImportError:
        raise CallTypeError(
            f"{what} is {name}, which NumPy and CuPy lack; install ml_dtypes, or use torch tensors"
        ) from None


_DATA_OFFSET = object.__basicsize__
"""Offset of the data pointer in NumPy's C struct `PyArrayObject_fields`: it follows the object's header."""


def _interface_address(array: np.ndarray) -> int:
    pointer: int = array.__array_interface__["data"][0]
    return pointer


def _struct_address(array: np.ndarray) -> int:
    return ctypes.c_void_p.from_address(id(array) + _DATA_OFFSET).value or 0


def _address_reader() -> Callable[[np.ndarray], int]:
    """Return the fastest way to an array's address: `__array_interface__` makes a dict, which takes 2 us.

    `id` is an object's address in CPython alone.
    """
    probe = np.empty(1, np.uint8)
    reads = sys.implementation.name == "cpython" and _struct_address(probe) == _interface_address(probe)
    return _struct_address if reads else _interface_address


class NumpyKind:
    """numpy.ndarray."""

    name = "NumPy"
    address = staticmethod(_address_reader())

    def view(self, array: Any, what: str) -> ArrayView:
        if isinstance(array, np.ma.MaskedArray):
            raise CallTypeError(f"{what} is a masked array, whose mask would be lost; pass array.filled(...)")
        pointer = self.address(array)
        dtype = dtype_name(array.dtype)
        return ArrayView(pointer, array.shape, array.strides, dtype, CPU, array.flags.writeable, self, array)

    def describe(self, array: Any) -> tuple[int, Hashable] | None:
        if type(array) is not np.ndarray:
            return None
        layout = (array.shape, array.strides, array.dtype, array.flags.writeable)
        return self.address(array), layout

    def empty(self, shape: Sequence[int], dtype: str, device: Device, stream: int | None, like: Any) -> Any:
        return np.empty(shape, numpy_dtype(dtype, "an output"))

    def current_stream(self, device: Device) -> int | None:
        return None


@functools.cache
def _cupy() -> Any:
    import cupy

    return cupy


class CupyKind:
    """cupy.ndarray."""

    name = "CuPy"

    def view(self, array: Any, what: str) -> ArrayView:
        data = array.data
        device = ("cuda", data.device_id)
        dtype = dtype_name(array.dtype)
        return ArrayView(data.ptr, array.shape, array.strides, dtype, device, True, self, array)

    def describe(self, array: Any) -> tuple[int, Hashable] | None:
        data = array.data
        return data.ptr, (array.shape, array.strides, array.dtype, data.device_id)

    def address(self, array: Any) -> int:
        pointer: int = array.data.ptr
        return pointer

    def empty(self, shape: Sequence[int], dtype: str, device: Device, stream: int | None, like: Any) -> Any:
        cupy = _cupy()
        is_current = stream is None or stream == self.current_stream(device)
        if is_current and cupy.cuda.runtime.getDevice() == device[1]:
            return cupy.ndarray(tuple(shape), numpy_dtype(dtype, "an output"))
        from tilefuse.runtime.cuda.devices import on_stream

        # CuPy's pool orders reuse by stream, so the memory must come from the stream that writes it.
        with on_stream(device[1], stream):
            return cupy.ndarray(tuple(shape), numpy_dtype(dtype, "an output"))

    def current_stream(self, device: Device) -> int | None:
        pointer: int = _current_stream()(device[1]).ptr
        return pointer


@functools.cache
def _current_stream() -> Callable[[int], Any]:
    stream: Callable[[int], Any] = _cupy().cuda.get_current_stream
    return stream


@functools.cache
def _strided() -> Any:
    import torch

    return torch.strided


class TorchKind:
    """torch.Tensor, on the CPU or a CUDA GPU."""

    name = "torch"

    def view(self, array: Any, what: str) -> ArrayView:
        where = array.device
        if where.type not in ("cpu", "cuda"):
            raise CallTypeError(f"{what} is a torch tensor on '{where}'; only cpu and cuda tensors can be used")
        if array.requires_grad:
            raise CallTypeError(f"{what} requires grad, which would be lost; pass tensor.detach()")
        if str(array.layout) != "torch.strided" or array.is_neg():
            raise CallTypeError(f"{what} is a torch tensor without plain strided memory; make it dense first")
        size = array.element_size()
        strides = tuple(size * s for s in array.stride())
        device = CPU if where.type == "cpu" else ("cuda", where.index)
        shape, dtype = tuple(array.shape), dtype_name(array.dtype)
        return ArrayView(array.data_ptr(), shape, strides, dtype, device, True, self, array)

    def describe(self, array: Any) -> tuple[int, Hashable] | None:
        if array.requires_grad or array.is_neg() or array.layout is not _strided():
            return None
        return array.data_ptr(), (array.shape, array.stride(), array.dtype, array.device)

    def address(self, array: Any) -> int:
        pointer: int = array.data_ptr()
        return pointer

    def empty(self, shape: Sequence[int], dtype: str, device: Device, stream: int | None, like: Any) -> Any:
        import torch

        place = torch.device("cpu") if device == CPU else torch.device("cuda", device[1])
        make = dict(dtype=getattr(torch, dtype), device=place)
        try:
            if device == CPU or stream in (None, self.current_stream(device)):
                return torch.empty(tuple(shape), **make)
            # torch's allocator orders reuse by stream too.
            with torch.cuda.stream(torch.cuda.ExternalStream(stream, device=place)):
                return torch.empty(tuple(shape), **make)
        except RuntimeError as error:  # of which that of a GPU's memory is a subclass, that of the CPU's is not
            raise MemoryError(str(error)) from None

    def current_stream(self, device: Device) -> int | None:
        import torch

        return None if device == CPU else int(torch.cuda.current_stream(device[1]).cuda_stream)


def _cupy_to_read(what: str) -> Any:
    try:
        return _cupy()
    except ImportError as error:
        raise CallTypeError(
            f"{what} is on a GPU, and CuPy, through which its address is found, cannot be imported ({error}); "
            "install CuPy with pip install 'tilefuse[cuda12]' (or [cuda13]), or copy the array to the CPU"
        ) from None


class CudaInterfaceKind(CupyKind):
    """Any object with `__cuda_array_interface__` (such as a Numba device array); results are CuPy arrays."""

    name = "__cuda_array_interface__"

    def view(self, array: Any, what: str) -> ArrayView:
        cupy = _cupy_to_read(what)
        writable = not array.__cuda_array_interface__["data"][1]
        found = super().view(cupy.asarray(array), what)
        return found._replace(writable=writable, owner=(array, found.owner))

    def describe(self, array: Any) -> tuple[int, Hashable] | None:
        return None


class DLPackKind:
    """Any object with `__dlpack__`; results come back through the library's own `from_dlpack`."""

    name = "DLPack"

    def view(self, array: Any, what: str) -> ArrayView:
        code = int(array.__dlpack_device__()[0])
        # DLPack numbers its devices: 1 CPU, 2 CUDA, 3 CUDA's pinned host memory, 13 managed memory.
        if code in (1, 3):
            try:
                inner = NUMPY.view(np.from_dlpack(array), what)
            except (BufferError, RuntimeError) as error:
                raise CallTypeError(f"{what} cannot be shared through DLPack: {error}") from None
        elif code in (2, 13):
            inner = CUPY.view(_cupy_to_read(what).from_dlpack(array), what)
        else:
            raise CallTypeError(f"{what} lies on a device that is neither CPU nor CUDA (DLPack type {code})")
        return inner._replace(kind=self, owner=(array, inner.owner))

    def describe(self, array: Any) -> tuple[int, Hashable] | None:
        return None

    def empty(self, shape: Sequence[int], dtype: str, device: Device, stream: int | None, like: Any) -> Any:
        made = (NUMPY if device == CPU else CUPY).empty(shape, dtype, device, stream, None)
        namespace = getattr(like[0], "__array_namespace__", None)
        convert = getattr(namespace(), "from_dlpack", None) if namespace else None
        return made if convert is None else _Converted(made, convert)

    def address(self, array: Any) -> int:
        made = array.array if isinstance(array, _Converted) else array
        return view(made, "an output").pointer

    def current_stream(self, device: Device) -> int | None:
        return None if device == CPU else CUPY.current_stream(device)


class _Converted(NamedTuple):
    """A result to be converted by another library's `from_dlpack` after it is written."""

    array: Any
    convert: Callable[[Any], Any]


NUMPY = NumpyKind()
CUPY = CupyKind()
TORCH = TorchKind()
_CUDA_INTERFACE = CudaInterfaceKind()
_DLPACK = DLPackKind()
_KINDS: dict[type, ArrayKind] = {np.ndarray: NUMPY}


def _find_kind(array: Any, what: str) -> ArrayKind:
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if isinstance(array, np.ndarray):
        return NUMPY
    if torch is not None and isinstance(array, torch.Tensor):
        return TORCH
    if cupy is not None and isinstance(array, cupy.ndarray):
        return CUPY
    if hasattr(array, "__cuda_array_interface__"):
        return _CUDA_INTERFACE
    if hasattr(array, "__dlpack__"):
        return _DLPACK
    raise CallTypeError(
        f"{what} is a {type(array).__name__}, not an array; pass numpy.asarray(...) of it, or any array with "
        "__dlpack__ or __cuda_array_interface__"
    )


def describe(arrays: Sequence[Any]) -> list[tuple[ArrayKind, int, Hashable]] | None:
    """Return each array's library, address and other facts; None if one must be viewed each time."""
    found = []
    for array in arrays:
        kind = _KINDS.get(type(array))
        seen = None if kind is None else kind.describe(array)
        if kind is None or seen is None:
            return None
        found.append((kind, *seen))
    return found


def view(array: Any, what: str) -> ArrayView:
    """View the memory of `array`. `what` names it in errors: `input 'photo'`."""
    kind = _KINDS.get(type(array))
    if kind is None:
        kind = _find_kind(array, what)
        _KINDS[type(array)] = kind
    return kind.view(array, what)


def new_array(
    kind: ArrayKind, shape: Sequence[int], dtype: str, device: Device, stream: int | None, like: Any, what: str
) -> Any:
    """Return a new array, as `ArrayKind.empty` does; see `allocate`."""
    try:
        return kind.empty(shape, dtype, device, stream, like)
    except CallError:
        raise
    except MemoryError as error:
        raise CallMemoryError(f"{what}, {tuple(shape)} of {dtype}, takes more memory than there is ({error})") from None
    except (ValueError, OverflowError):
        raise CallError(f"{what} is too large for an array: {tuple(shape)} of {dtype}") from None


def allocate(
    kind: ArrayKind,
    shape: Sequence[int],
    dtype: str,
    device: Device,
    stream: int | None,
    like: Any,
    what: str = "an output",
) -> tuple[ArrayView, Callable[[], Any]]:
    """Return a new array, and the function that converts it to the caller's result after it is written.

    `what` names it in errors. CallError for a size that no array of this library, or of this machine, can have.
    """
    made = new_array(kind, shape, dtype, device, stream, like, what)
    if isinstance(made, _Converted):
        return view(made.array, "an output"), lambda: made.convert(made.array)
    return view(made, "an output"), lambda: made
