"""Running a plan: addresses into the arguments, kernels in order.

`CpuRunner` calls the entry points of a C library, `CudaRunner` launches through the driver. Each is made
once per plan, so that a call does no more than fill in addresses.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from xdsl.dialects.builtin import Float64Type, IndexType, IntegerType
from xdsl.ir import Attribute

from tilefuse.dialects.img.ops import GroupOp
from tilefuse.lowering.abi import kernel_args, kernel_name, static_strides
from tilefuse.runtime.arena import ARENA_ALIGNMENT
from tilefuse.runtime.layouts import Picture
from tilefuse.runtime.plan import CopyOut, KernelLaunch, Plan
from tilefuse.runtime.scalars import Number, word


class Runner(Protocol):
    """Runs one plan."""

    def run(self, pointers: list[int], scalars: Sequence[Number], stream: int | None) -> None:
        """Run with the addresses of inputs and outputs, on `stream` (a raw pointer) if on a GPU."""


def entry_point(name: str) -> str:
    """The C function that takes a kernel's arguments as an array of 64-bit words."""
    return f"{name}_words"


def c_entry_points(groups: Sequence[GroupOp]) -> str:
    """C text of an entry point for each kernel, to stand after the kernels."""
    text = ["", "// Called by the runtime: the arguments of a kernel, as an array of 64-bit words."]
    # groups that one kernel serves have one entry point
    for group in {kernel_name(g): g for g in groups}.values():
        arguments: list[str] = []
        lines: list[str] = []
        count = 0

        def number(arguments: list[str] = arguments) -> None:
            arguments.append(f"(long long)a[{len(arguments)}]")

        for arg in kernel_args(group):
            if arg.kind == "scalar":
                kind = _float_type(arg.value.type)
                if kind is None:
                    number()
                    continue
                lines.append(
                    f"  {kind} v{count}; __builtin_memcpy(&v{count}, a + {len(arguments)}, sizeof v{count});"
                )
                arguments.append(f"v{count}")
                count += 1
                continue
            fixed = static_strides(arg.value)
            arguments.append(f"(void*)a[{len(arguments)}]")
            for _ in range(2 * len(fixed) + sum(f is None for f in fixed)):
                number()
        name = kernel_name(group)
        text.append(f"void {entry_point(name)}(const unsigned long long* a) {{")
        text.extend(lines)
        text.append(f"  {name}({', '.join(arguments)});\n}}")
    return "\n".join(text) + "\n"


def _float_type(type_: Attribute) -> str | None:
    if isinstance(type_, IntegerType | IndexType):
        return None
    return "double" if isinstance(type_, Float64Type) else "float"


class _Strided:
    """Memory at an address as NumPy sees it through `__array_interface__`."""

    def __init__(self, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int):
        self.__array_interface__ = {
            "data": (pointer, False),
            "shape": shape,
            "strides": strides,
            "typestr": f"|V{itemsize}" if itemsize not in (1, 2, 4, 8) else f"<u{itemsize}",
            "version": 3,
        }


def numpy_at(pointer: int, p: Picture, itemsize: int) -> np.ndarray:
    """A view of CPU memory, dimensions x first, elements as unsigned integers."""
    return np.asarray(_Strided(pointer, p.extents, tuple(s * itemsize for s in p.strides), itemsize))


class CpuRunner:
    """Runs a plan on the CPU."""

    def __init__(self, plan: Plan, library: ctypes.CDLL, outputs: Sequence[Picture], spare: list[np.ndarray]):
        self._plan = plan
        self._outputs = tuple(outputs)
        self._spare = spare
        self._kernels = []
        for launch in plan.launches:
            function = getattr(library, entry_point(launch.name))
            function.argtypes, function.restype = [ctypes.c_void_p], None
            template = (ctypes.c_uint64 * len(launch.words))(*launch.words)
            self._kernels.append((function, template, launch))

    def run(self, pointers: list[int], scalars: Sequence[Number], stream: int | None) -> None:
        """Run the kernels one after the other; the call returns when all is written."""
        arena = self._take_arena()
        if arena is not None:
            start = arena.__array_interface__["data"][0]
            pointers = [*pointers, -(-start // ARENA_ALIGNMENT) * ARENA_ALIGNMENT]
        for function, template, launch in self._kernels:
            # A copy, because other threads may run the same plan.
            words = type(template).from_buffer_copy(template)
            _fill(words, launch, pointers, scalars)
            function(ctypes.addressof(words))
        for copy in self._plan.copies:
            self._copy(copy, pointers)
        if arena is not None and not self._spare:
            self._spare.append(arena)

    def _take_arena(self) -> np.ndarray | None:
        size = self._plan.arena_bytes
        if not size:
            return None
        # One block is kept between calls: fresh memory costs a page fault per 4096 bytes.
        try:
            arena = self._spare.pop()
        except IndexError:
            arena = None
        if arena is None or arena.nbytes < size + ARENA_ALIGNMENT:
            arena = np.empty(size + ARENA_ALIGNMENT, np.uint8)
        return arena

    def _copy(self, copy: CopyOut, pointers: Sequence[int]) -> None:
        target = self._outputs[copy.output]
        outputs_from = len(pointers) - 1 - len(self._outputs)
        source = numpy_at(pointers[-1] + copy.offset, Picture(target.extents, copy.strides), copy.itemsize)
        numpy_at(pointers[outputs_from + copy.output], target, copy.itemsize)[...] = source


def _fill(words: Any, launch: KernelLaunch, pointers: Sequence[int], scalars: Sequence[Number]) -> None:
    for slot, buffer, offset in launch.addresses:
        words[slot] = pointers[buffer] + offset
    for slot, number, type_ in launch.scalars:
        words[slot] = word(scalars[number], type_)


class CudaRunner:
    """Runs a plan on a GPU. `functions` are the kernels of the plan's launches, as CuPy functions."""

    def __init__(self, plan: Plan, functions: Sequence[Any], outputs: Sequence[Picture], device: int):
        import cupy

        self._cupy = cupy
        self._launch = cupy.cuda.driver.launchKernel
        self._plan = plan
        self._outputs = tuple(outputs)
        self._device = device
        # The driver reads arguments at the launch, so one set of them serves every call, under a lock.
        self._lock = threading.Lock()
        self._kernels = []
        for launch, function in zip(plan.launches, functions, strict=True):
            words = (ctypes.c_uint64 * len(launch.words))(*launch.words)
            base = ctypes.addressof(words)
            params = (ctypes.c_void_p * len(words))(*range(base, base + 8 * len(words), 8))
            fixed = (function.ptr, *launch.grid, *launch.threads, 0)
            self._kernels.append((fixed, words, ctypes.addressof(params), launch, (params, function)))

    def run(self, pointers: list[int], scalars: Sequence[Number], stream: int | None) -> None:
        """Launch the kernels on `stream`; the call returns while they run."""
        cupy = self._cupy
        if cupy.cuda.runtime.getDevice() != self._device:
            with cupy.cuda.Device(self._device):
                self.run(pointers, scalars, stream)
            return
        if self._plan.arena_bytes:
            from tilefuse.runtime.cuda import on_stream

            # From the pool of the stream that uses it: so it may be given back at once after the last launch.
            with on_stream(self._device, stream):
                arena = cupy.cuda.alloc(self._plan.arena_bytes)
                self._run([*pointers, arena.ptr], scalars, stream or 0)
                for copy in self._plan.copies:
                    self._copy(copy, pointers, arena)
        else:
            self._run(pointers, scalars, stream or 0)

    def _run(self, pointers: Sequence[int], scalars: Sequence[Number], stream: int) -> None:
        start = self._launch
        with self._lock:
            for fixed, words, params, launch, _ in self._kernels:
                _fill(words, launch, pointers, scalars)
                start(*fixed, stream, params, 0)

    def _copy(self, copy: CopyOut, pointers: Sequence[int], arena: Any) -> None:
        p = self._outputs[copy.output]
        outputs_from = len(pointers) - len(self._outputs)
        target = self._at(pointers[outputs_from + copy.output], p.extents, p.strides, copy.itemsize)
        target[...] = self._at(arena.ptr + copy.offset, p.extents, copy.strides, copy.itemsize)

    def _at(self, pointer: int, extents: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Any:
        cupy = self._cupy
        memory = cupy.cuda.UnownedMemory(pointer, itemsize, None, self._device)
        steps = tuple(s * itemsize for s in strides)
        return cupy.ndarray(extents, f"u{itemsize}", cupy.cuda.MemoryPointer(memory, 0), strides=steps)
