"""Runner of plans on a GPU; docs/runtime.md explains how and why."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from tilefuse.runtime.arrays.layouts import Picture
from tilefuse.runtime.cuda.devices import on_stream
from tilefuse.runtime.cuda.graph import (
    KernelCall,
    KernelGraph,
    KernelNodeParams,
    MemsetNodeParams,
    allow_shared,
    has_programmatic_edges,
    prefer_cache,
)
from tilefuse.runtime.launch.plan import CopyOut, KernelLaunch, Plan
from tilefuse.runtime.launch.runner import fill
from tilefuse.targets.gpus import kernels_overlap

_MOST_GRAPHS = 32
"""Streams that a plan keeps a graph for: as many as torch has in its pool."""

_LAST_LEGACY = 1
"""Raw streams up to this one are the legacy default stream, which cannot be captured."""


_ready = threading.local()


class Arguments:
    """Arguments of one kernel, and the driver's `node` with their address and launch settings."""

    def __init__(self, launch: KernelLaunch, function: Any):
        self.launch = launch
        self._function = function  # keeps the module alive
        self.words = (ctypes.c_uint64 * len(launch.words))(*launch.words)
        base = ctypes.addressof(self.words)
        self._addresses = (ctypes.c_void_p * len(self.words))(*range(base, base + 8 * len(self.words), 8))
        if launch.shared_bytes:
            allow_shared(function.ptr, launch.shared_bytes)
        else:
            prefer_cache(function.ptr)
        self.node = KernelNodeParams(
            function.ptr, launch.grid, launch.threads, launch.shared_bytes, ctypes.addressof(self._addresses)
        )

    def fill(self, pointers: Sequence[int], scalars: Sequence[int]) -> None:
        """Write the addresses of buffers, and scalars."""
        fill(self.words, self.launch, pointers, scalars)


class PlanGraph:
    """Executable graph of a plan's kernels, made once; each call updates addresses and scalars."""

    def __init__(
        self,
        plan: Plan,
        functions: Sequence[Any],
        pointers: Sequence[int],
        scalars: Sequence[int],
        *,
        programmatic: bool,
    ):
        self._arguments = list(map(Arguments, plan.launches, functions))
        for arguments in self._arguments:
            arguments.fill(pointers, scalars)
        self._clears = plan.clears
        self._memsets = [MemsetNodeParams(pointers[c.buffer] + c.offset, 0, c.byte, 1, c.size, 1) for c in plan.clears]
        nodes = [a.node for a in self._arguments]
        self._graph = KernelGraph(nodes, self._memsets, programmatic=programmatic)
        self.handle = self._graph.handle
        # By buffer, and by scalar: the arguments that it is in, each as kernel, words, slot, offset.
        self._places: list[list[tuple[int, Any, int, int]]] = [[] for _ in pointers]
        self._scalar_places: list[list[tuple[int, Any, int]]] = [[] for _ in scalars]
        for kernel, arguments in enumerate(self._arguments):
            for slot, buffer, offset in arguments.launch.addresses:
                self._places[buffer].append((kernel, arguments.words, slot, offset))
            for slot, number in arguments.launch.scalars:
                self._scalar_places[number].append((kernel, arguments.words, slot))
        self._pointers: Sequence[int | None] = pointers
        self._scalars: Sequence[int | None] = scalars

    def take(self, pointers: Sequence[int], scalars: Sequence[int]) -> None:
        """Update the arguments of the affected kernels for later launches."""
        if pointers == self._pointers and scalars == self._scalars:
            return
        stale: set[int] = set()
        moved = [i for i, c in enumerate(self._clears) if pointers[c.buffer] != self._pointers[c.buffer]]
        for new, old, places in zip(pointers, self._pointers, self._places, strict=True):
            if new != old:
                for kernel, words, slot, offset in places:
                    words[slot] = new + offset
                    stale.add(kernel)
        for new, old, users in zip(scalars, self._scalars, self._scalar_places, strict=True):
            if new != old:
                for kernel, words, slot in users:
                    words[slot] = new
                    stale.add(kernel)
        # Should the driver refuse, none is taken for given.
        self._pointers, self._scalars = [None] * len(pointers), [None] * len(scalars)
        for kernel in stale:
            self._graph.update(kernel)
        for number in moved:
            clear = self._clears[number]
            self._memsets[number].target = pointers[clear.buffer] + clear.offset
            self._graph.update_memset(number)
        self._pointers, self._scalars = pointers, scalars


class CudaRunner:
    """Runner of a plan on a GPU of architecture `arch`; `functions` are its kernels, from CuPy."""

    def __init__(self, plan: Plan, functions: Sequence[Any], outputs: Sequence[Picture], device: int, arch: str):
        import cupy

        self._cupy = cupy
        self._get_device = cupy.cuda.runtime.getDevice
        self._current_stream = cupy.cuda.get_current_stream
        self._is_capturing = cupy.cuda.runtime.streamIsCapturing
        self._launch_graph = cupy.cuda.runtime.graphLaunch
        self._plan = plan
        self._functions = tuple(functions)
        self._outputs = tuple(outputs)
        self._device = device
        self._overlapping = kernels_overlap(arch) and has_programmatic_edges()
        self._graphs: dict[int, PlanGraph] = {}
        # No other thread may change a graph, or the arguments of a kernel, before they are launched.
        self._lock = threading.Lock()
        self._kernels: list[tuple[Arguments, KernelCall]] = []
        self._last: tuple[Sequence[int], Sequence[int], int] | None = None

    def run(self, pointers: list[int], scalars: Sequence[int], stream: int | None) -> None:
        """Launch the kernels on `stream`; return while they run."""
        device = self._device
        if self._get_device() != device:
            with self._cupy.cuda.Device(device):
                self.run(pointers, scalars, stream)
            return
        if getattr(_ready, "device", None) != device:
            self._cupy.cuda.Device(device).use()  # a new thread has no context yet
            _ready.device = device
        stream = stream or 0
        if stream > _LAST_LEGACY and self._is_capturing(stream):
            self._record(pointers, scalars, stream)
        elif not self._plan.arena_bytes:
            self._launch(pointers, scalars, stream)
        elif stream == self._current_stream().ptr:
            self._launch_in_arena(pointers, scalars, stream)
        else:
            with on_stream(device, stream):
                self._launch_in_arena(pointers, scalars, stream)

    def _launch_in_arena(self, pointers: list[int], scalars: Sequence[int], stream: int) -> None:
        # From CuPy's pool, which orders reuse by stream: so it may go back as soon as all is launched.
        arena = self._cupy.cuda.alloc(self._plan.arena_bytes)
        self._launch([*pointers, arena.ptr], scalars, stream)
        for copy in self._plan.copies:
            self._copy(copy, pointers, arena.ptr)

    def _launch(self, pointers: Sequence[int], scalars: Sequence[int], stream: int) -> None:
        with self._lock:
            call = (pointers, scalars, stream)
            if len(self._plan.launches) == 1 and call != self._last:
                # for one kernel, to update a graph costs as much as a launch, which may overlap
                self._last = call
                self._launch_kernels(pointers, scalars, stream)
                return
            graph = self._graphs.get(stream)
            if graph is None:
                graph = self._make_graph(pointers, scalars, stream)
            else:
                graph.take(pointers, scalars)
            self._launch_graph(graph.handle, stream)

    def _make_graph(self, pointers: Sequence[int], scalars: Sequence[int], stream: int) -> PlanGraph:
        # One per stream: launches of one executable graph never run beside each other.
        if len(self._graphs) >= _MOST_GRAPHS:
            del self._graphs[next(iter(self._graphs))]
        graph = PlanGraph(self._plan, self._functions, pointers, scalars, programmatic=self._overlapping)
        self._graphs[stream] = graph
        return graph

    def _record(self, pointers: list[int], scalars: Sequence[int], stream: int) -> None:
        """Launch into a graph that the caller captures: kernel by kernel, with an arena of its own."""
        runtime, size = self._cupy.cuda.runtime, self._plan.arena_bytes
        arena = runtime.mallocAsync(size, stream) if size else 0
        try:
            with self._lock:
                self._launch_kernels([*pointers, arena], scalars, stream)
            if self._plan.copies:
                with on_stream(self._device, stream):
                    for copy in self._plan.copies:
                        self._copy(copy, pointers, arena)
        finally:
            if size:
                runtime.freeAsync(arena, stream)

    def _launch_kernels(self, pointers: Sequence[int], scalars: Sequence[int], stream: int) -> None:
        if not self._kernels:
            kernels = list(map(Arguments, self._plan.launches, self._functions))
            self._kernels = [(a, KernelCall(a.node, overlapping=self._overlapping)) for a in kernels]
        for clear in self._plan.clears:
            target = pointers[clear.buffer] + clear.offset
            self._cupy.cuda.runtime.memsetAsync(target, clear.byte, clear.size, stream)
        for arguments, call in self._kernels:
            arguments.fill(pointers, scalars)
            call.launch(stream)

    def _copy(self, copy: CopyOut, pointers: Sequence[int], arena: int) -> None:
        p = self._outputs[copy.output]
        outputs_from = len(pointers) - len(self._outputs)
        target = self._at(pointers[outputs_from + copy.output], p.extents, p.strides, copy.itemsize)
        target[...] = self._at(arena + copy.offset, p.extents, copy.strides, copy.itemsize)

    def _at(self, pointer: int, extents: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Any:
        cupy = self._cupy
        memory = cupy.cuda.UnownedMemory(pointer, itemsize, None, self._device)
        steps = tuple(s * itemsize for s in strides)
        return cupy.ndarray(extents, f"u{itemsize}", cupy.cuda.MemoryPointer(memory, 0), strides=steps)
