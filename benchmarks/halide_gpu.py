"""Halide's GPU autoschedulers on an example's algorithm: compiled ahead of time, called on CuPy arrays.

What is compiled takes the context and the stream of CuPy, so its calls are captured in graphs and timed as ours are.
Needs the package `halide`, and a C compiler to link with. To compile needs no GPU.
"""

from __future__ import annotations

import ctypes
import subprocess
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from as_halide import algorithm, parameters
from cases import Case

AUTOSCHEDULERS: dict[str, dict[str, str]] = {
    "Anderson2021": {"parallelism": "132"},
    "Li2018": {},
    "Mullapudi2016": {"experimental_gpu_schedule": "1"},
}
"""Their names, and the parameters that are not as they come: of Anderson2021 how many multiprocessors there are."""

FUNCTION = "rival"
HOST_DIRTY = 1


class Dimension(ctypes.Structure):
    """A dimension of `halide_buffer_t`."""

    _fields_ = (
        ("min", ctypes.c_int32),
        ("extent", ctypes.c_int32),
        ("stride", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    )


class HalideBuffer(ctypes.Structure):
    """Halide's own `halide_buffer_t`."""

    _fields_ = (
        ("device", ctypes.c_uint64),
        ("interface", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("dimensions", ctypes.c_int32),
        ("dim", ctypes.POINTER(Dimension)),
        ("padding", ctypes.c_void_p),
    )


CODES = {"i": 0, "u": 1, "f": 2}
ACQUIRE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_bool)
RELEASE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
STREAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


def output_box(case: Case, size: str, inputs: Sequence[np.ndarray]) -> tuple[tuple[int, int], ...]:
    """Return (min, extent) per dimension of the output that a call computes, x first."""
    given = case.box(size)
    if "sizes" in given:
        mins = next(iter(given.get("mins", {}).values()), (0,) * len(given["sizes"]))
        return tuple(zip(mins, given["sizes"], strict=True))
    boxes = case.pipeline(size).compile("reference").output_boxes(*inputs, **given)
    (box,) = boxes.values()
    return tuple(box)


@dataclass(frozen=True)
class HalideRival:
    """A pipeline of Halide, compiled for a GPU under an automatic schedule."""

    library: Path
    arguments: Sequence[int | ctypes._SimpleCData[Any]]
    """In order: the number of an input, or the value of a parameter."""
    box: Sequence[tuple[int, int]]
    dtype: np.dtype[Any]
    """Element type of the output."""
    schedule: str
    """C++ text of the schedule."""


class Parameters:
    """Halide's names; records the values of the parameters that an algorithm makes."""

    def __init__(self, halide: Any):
        self._halide = halide
        self.values: dict[str, ctypes._SimpleCData[Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._halide, name)

    def Param(self, kind: Any, name: str, value: float) -> Any:
        """Make a recorded parameter; schedules are found for its value."""
        made = self._halide.Param(kind, name, value)
        made.set_estimate(value)
        self.values[name] = ctypes.c_float(value) if kind.is_float() else ctypes.c_int32(int(value))
        return made


def build(case: Case, size: str, how: str, arrays: Sequence[np.ndarray], folder: Path) -> HalideRival:
    """Find a schedule, compile and link; no GPU is needed."""
    import halide

    box = output_box(case, size, arrays)
    images, names = parameters(halide, arrays), Parameters(halide)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of every Python float that is no float32
        output = algorithm(case, size)(images, names)
    for image, array in zip(images, arrays, strict=True):
        image.set_estimates([(0, n) for n in reversed(array.shape)])
    output.set_estimates(list(box))
    halide.load_plugin(str(Path(halide.__file__).parent / "lib64" / f"libautoschedule_{how.lower()}.so"))
    target = halide.get_host_target()
    for feature in (halide.TargetFeature.CUDA, halide.TargetFeature.CUDACapability86):
        target = target.with_feature(feature)
    pipeline = halide.Pipeline(output)
    found = pipeline.apply_autoscheduler(target, halide.AutoschedulerParams(how, AUTOSCHEDULERS[how]))
    arguments = pipeline.infer_arguments()
    stem = folder / f"{case.name}-{size}-{how}"
    pipeline.compile_to_object(f"{stem}.o", arguments, FUNCTION, target)
    subprocess.run(["cc", "-shared", "-o", f"{stem}.so", f"{stem}.o", "-lpthread", "-ldl", "-lm"], check=True)
    order = [names.values[a.name] if a.name in names.values else int(a.name.removeprefix("image_")) for a in arguments]
    (kind,) = output.types()
    letter = {"int": "i", "uint": "u", "float": "f"}[kind.code().name.lower()]
    return HalideRival(Path(f"{stem}.so"), order, box, np.dtype(f"{letter}{kind.bits() // 8}"), found.schedule_source)


class HalideProgram:
    """A loaded rival: its calls run in CuPy's context, on CuPy's current stream."""

    def __init__(self, rival: HalideRival):
        self._rival = rival
        self._library = ctypes.CDLL(str(rival.library))
        self._said: list[str] = []
        self._context: int | None = None
        self._callbacks = self._take_over()

    def _take_over(self) -> list[Any]:
        def acquire(_: Any, context: Any, create: bool) -> int:
            context[0] = self._context
            return 0

        def stream(_: Any, context: Any, found: Any) -> int:
            import cupy

            found[0] = cupy.cuda.get_current_stream().ptr
            return 0

        def error(_: Any, text: bytes) -> None:
            self._said.append(text.decode(errors="replace").strip())

        callbacks = [ACQUIRE(acquire), RELEASE(lambda _: 0), STREAM(stream), ERROR(error)]
        names = ("cuda_acquire_context", "cuda_release_context", "cuda_get_stream", "error_handler")
        for name, callback in zip(names, callbacks, strict=True):
            function = self._library[f"halide_set_{name}"]
            function.restype = ctypes.c_void_p
            function(callback)
        return callbacks

    def keep_allocations(self, keep: bool) -> None:
        """Set whether memory of intermediates is kept for the next call, as in Halide's own benchmarks."""
        self._library.halide_reuse_device_allocations(None, ctypes.c_bool(keep))

    def bind(self, hosts: Sequence[np.ndarray], inputs: Sequence[Any], output: Any) -> Callable[[], None]:
        """Bind a call to CuPy arrays; `hosts`: the inputs on the host, in case a stage runs on the CPU."""
        import cupy

        self._context = cupy.cuda.driver.ctxGetCurrent()
        output_buffer = self._buffer(np.empty(output.shape, output.dtype), output, self._rival.box)
        buffers: list[Any] = [output_buffer]
        pointers: list[Any] = []
        for argument in self._rival.arguments:
            if isinstance(argument, int):
                host = hosts[argument]
                buffers.append(self._buffer(host, inputs[argument], [(0, n) for n in reversed(host.shape)]))
                pointers.append(ctypes.byref(buffers[-1][0]))
            else:
                pointers.append(argument)
        pointers.append(ctypes.byref(output_buffer[0]))
        function, result = self._library[FUNCTION], output_buffer[0]

        def call() -> None:
            if function(*pointers) != 0:
                raise RuntimeError(self._said[0] if self._said else "Halide's code failed")
            if result.flags & HOST_DIRTY:
                raise RuntimeError("the schedule computes the output on the CPU")

        call.buffers = buffers  # type: ignore[attr-defined]  # they live as long as the call
        return call

    def _buffer(self, host: np.ndarray, array: Any, box: Sequence[tuple[int, int]]) -> tuple[HalideBuffer, Any, Any]:
        dims, stride = (Dimension * len(box))(), 1
        for dim, (low, extent) in zip(dims, box, strict=True):
            dim.min, dim.extent, dim.stride = low, extent, stride
            stride *= extent
        dtype = host.dtype
        buffer = HalideBuffer(
            host=host.ctypes.data, code=CODES[dtype.kind], bits=8 * dtype.itemsize, lanes=1,
            dimensions=len(box), dim=ctypes.cast(dims, ctypes.POINTER(Dimension)),
        )  # fmt: skip
        if array is not None:
            wrap = self._library.halide_cuda_wrap_device_ptr
            if wrap(None, ctypes.byref(buffer), ctypes.c_uint64(array.data.ptr)) != 0:
                raise RuntimeError(self._said[0] if self._said else "Halide does not take the array")
        return buffer, dims, host
