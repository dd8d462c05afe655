"""Running a plan on the CPU: addresses into the arguments, kernels in order.

A runner is made once per plan, so that a call does no more than fill in addresses. `CudaRunner`, for GPUs, is
in cuda_runner.py.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from xdsl.dialects.builtin import Float64Type, IndexType, IntegerType
from xdsl.ir import Attribute

from tilefuse.analysis.strides import static_strides
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.registry import model_of
from tilefuse.lowering.abi import kernel_args, kernel_name
from tilefuse.lowering.symbols import function_name
from tilefuse.runtime.arena import ARENA_ALIGNMENT
from tilefuse.runtime.layouts import Picture
from tilefuse.runtime.plan import CopyOut, KernelLaunch, Plan


class Runner(Protocol):
    """Runs one plan."""

    def run(self, pointers: list[int], scalars: Sequence[int], stream: int | None) -> None:
        """Run with the addresses of inputs and outputs, on `stream` (a raw pointer) if on a GPU.

        `scalars`: those of the plan, as kernels take them (`scalars.word`).
        """


def entry_point(name: str) -> str:
    """The C function that takes a kernel's arguments as an array of 64-bit words."""
    return f"{function_name(name)}_words"


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
                lines.append(f"  {kind} v{count}; __builtin_memcpy(&v{count}, a + {len(arguments)}, sizeof v{count});")
                arguments.append(f"v{count}")
                count += 1
                continue
            fixed = static_strides(arg.value)
            arguments.append(f"(void*)a[{len(arguments)}]")
            for _ in range(2 * len(fixed) + sum(f is None for f in fixed)):
                number()
        for workspace in model_of(group).workspaces(group):
            arguments.append(f"(void*)a[{len(arguments)}]")
            for _ in workspace.open_dims:
                number()
        name = kernel_name(group)
        text.append(f"void {entry_point(name)}(const unsigned long long* a) {{")
        text.extend(lines)
        text.append(f"  {function_name(name)}({', '.join(arguments)});\n}}")
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

    def run(self, pointers: list[int], scalars: Sequence[int], stream: int | None) -> None:
        """Run the kernels one after the other; the call returns when all is written."""
        arena = self._take_arena()
        if arena is not None:
            start = arena.__array_interface__["data"][0]
            pointers = [*pointers, -(-start // ARENA_ALIGNMENT) * ARENA_ALIGNMENT]
        for clear in self._plan.clears:
            ctypes.memset(pointers[clear.buffer] + clear.offset, clear.byte, clear.size)
        for function, template, launch in self._kernels:
            # A copy, because other threads may run the same plan.
            words = type(template).from_buffer_copy(template)
            fill(words, launch, pointers, scalars)
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


def fill(words: Any, launch: KernelLaunch, pointers: Sequence[int], scalars: Sequence[int]) -> None:
    """Write addresses and scalars into the arguments of a kernel."""
    for slot, buffer, offset in launch.addresses:
        words[slot] = pointers[buffer] + offset
    for slot, number in launch.scalars:
        words[slot] = scalars[number]
