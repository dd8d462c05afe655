"""CUDA graphs of consecutive kernels, through the driver API.

CuPy records and launches graphs, but has no way to give a node of an executable graph other arguments; the
driver has, and is called by ctypes for what is not done in every call.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Sequence
from ctypes import POINTER, byref, c_size_t, c_ubyte, c_uint, c_ulonglong, c_void_p
from typing import Any

from tilefuse.runtime.errors import TargetError


class KernelNodeParams(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS of CUDA 12 and later."""

    _fields_ = (
        ("function", c_void_p),
        ("grid", c_uint * 3),
        ("threads", c_uint * 3),
        ("shared_bytes", c_uint),
        ("arguments", c_void_p),
        ("extra", c_void_p),
        ("kernel", c_void_p),
        ("context", c_void_p),
    )


class MemsetNodeParams(ctypes.Structure):
    """CUDA_MEMSET_NODE_PARAMS, here always of one row of bytes."""

    _fields_ = (
        ("target", c_ulonglong),
        ("pitch", c_size_t),
        ("value", c_uint),
        ("element_size", c_uint),
        ("width", c_size_t),
        ("height", c_size_t),
    )


class EdgeData(ctypes.Structure):
    """CUgraphEdgeData."""

    _fields_ = (
        ("from_port", c_ubyte),
        ("to_port", c_ubyte),
        ("type", c_ubyte),
        ("reserved", c_ubyte * 5),
    )


PROGRAMMATIC = EdgeData(from_port=1, type=1)
"""The next kernel may start before this one has ended; it waits for it by `griddepcontrol.wait`."""

_ADD_EDGES = "cuGraphAddDependencies_v2"
_ADD_EDGES_SIGNATURE = (c_void_p, POINTER(c_void_p), POINTER(c_void_p), POINTER(EdgeData), c_size_t)


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute; of its 64-byte value only the first integer is used."""

    _fields_ = (("id", c_uint), ("padding", c_uint), ("value", c_uint * 16))


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", c_uint * 3),
        ("threads", c_uint * 3),
        ("shared_bytes", c_uint),
        ("stream", c_void_p),
        ("attributes", POINTER(LaunchAttribute)),
        ("attribute_count", c_uint),
    )


_PROGRAMMATIC_STREAM_SERIALIZATION = 6

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuGraphCreate": (POINTER(c_void_p), c_uint),
    "cuGraphAddKernelNode_v2": (
        POINTER(c_void_p),
        c_void_p,
        POINTER(c_void_p),
        c_size_t,
        POINTER(KernelNodeParams),
    ),
    "cuGraphAddMemsetNode": (
        POINTER(c_void_p),
        c_void_p,
        POINTER(c_void_p),
        c_size_t,
        POINTER(MemsetNodeParams),
        c_void_p,
    ),
    "cuGraphExecMemsetNodeSetParams": (c_void_p, c_void_p, POINTER(MemsetNodeParams), c_void_p),
    "cuCtxGetCurrent": (POINTER(c_void_p),),
    "cuFuncGetAttribute": (POINTER(ctypes.c_int), ctypes.c_int, c_void_p),
    "cuFuncSetAttribute": (c_void_p, ctypes.c_int, ctypes.c_int),
    "cuGraphInstantiateWithFlags": (POINTER(c_void_p), c_void_p, c_ulonglong),
    "cuGraphExecKernelNodeSetParams_v2": (c_void_p, c_void_p, POINTER(KernelNodeParams)),
    "cuLaunchKernelEx": (POINTER(LaunchConfig), c_void_p, c_void_p, c_void_p),
    "cuGraphExecDestroy": (c_void_p,),
    "cuGraphDestroy": (c_void_p,),
}


@functools.cache
def _driver() -> ctypes.CDLL:
    library = ctypes.CDLL("libcuda.so.1")
    signatures = dict(_SIGNATURES)
    if hasattr(library, _ADD_EDGES):
        signatures[_ADD_EDGES] = _ADD_EDGES_SIGNATURE
    for name, arguments in signatures.items():
        function = getattr(library, name)
        function.argtypes, function.restype = list(arguments), ctypes.c_int
    return library


def has_programmatic_edges() -> bool:
    """Whether the driver supports programmatic edges: from CUDA 12.3 on."""
    return hasattr(_driver(), _ADD_EDGES)


def _check(name: str, status: int) -> None:
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorName(status, byref(text))
        reason = text.value.decode() if text.value else str(status)
        raise TargetError(f"target 'cuda': the driver refuses {name}: {reason}")


_SHARED_SIZE_BYTES, _MAX_DYNAMIC_SHARED_SIZE_BYTES, _PREFERRED_SHARED_MEMORY_CARVEOUT = 1, 8, 9


def allow_shared(function: int, size: int) -> None:
    """Allow launches of a kernel, given by its driver handle, this much dynamic shared memory.

    The thread must have a context.
    """
    status = _driver().cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED_SIZE_BYTES, size)
    _check("cuFuncSetAttribute", status)


def prefer_cache(function: int) -> None:
    """Ask for all on-chip memory as cache for a kernel, given by its driver handle, if it has no shared memory.

    Else it runs with what the kernel before it has left. The thread must have a context.
    """
    static, driver = ctypes.c_int(), _driver()
    _check("cuFuncGetAttribute", driver.cuFuncGetAttribute(byref(static), _SHARED_SIZE_BYTES, function))
    if not static.value:
        _check("cuFuncSetAttribute", driver.cuFuncSetAttribute(function, _PREFERRED_SHARED_MEMORY_CARVEOUT, 0))


class KernelCall:
    """Launch of one kernel, with the arguments that `kernel` points to; each launch copies them.

    `overlapping`: before the one before it on the stream has ended, which it waits for.
    """

    def __init__(self, kernel: KernelNodeParams, *, overlapping: bool):
        self._kernel = kernel
        self._attribute = LaunchAttribute(_PROGRAMMATIC_STREAM_SERIALIZATION, 0, (1,))
        self._config = LaunchConfig(
            kernel.grid,
            kernel.threads,
            kernel.shared_bytes,
            None,
            ctypes.pointer(self._attribute),
            int(overlapping),
        )
        self._call = (byref(self._config), kernel.function, kernel.arguments, None)
        self._launch = _driver().cuLaunchKernelEx

    def launch(self, stream: int) -> None:
        """Launch on `stream` (a raw pointer)."""
        self._config.stream = stream
        status = self._launch(*self._call)
        if status:
            _check("cuLaunchKernelEx", status)


def _destroy(graph: c_void_p, executable: c_void_p) -> None:
    # A launch that is still running ends first; errors have nobody to hear them.
    _driver().cuGraphExecDestroy(executable)
    _driver().cuGraphDestroy(graph)


class KernelGraph:
    """An executable graph of consecutive kernels; `handle` is the driver's (or CuPy's) object.

    `kernels` stay alive and in place as long as the graph does: each holds where its arguments lie, and
    `update` makes the graph take what is there by then. So do `memsets`, which all come before the first kernel.
    """

    def __init__(
        self,
        kernels: Sequence[KernelNodeParams],
        memsets: Sequence[MemsetNodeParams] = (),
        *,
        programmatic: bool = False,
    ):
        driver = _driver()
        self._kernels, self._memsets = tuple(kernels), tuple(memsets)
        graph, executable, self._context = c_void_p(), c_void_p(), c_void_p()
        _check("cuGraphCreate", driver.cuGraphCreate(byref(graph), 0))
        try:
            if memsets:
                _check("cuCtxGetCurrent", driver.cuCtxGetCurrent(byref(self._context)))
            self._memset_nodes = [self._add_memset(graph, memset) for memset in self._memsets]
            self._nodes: list[c_void_p] = []
            for kernel in self._kernels:
                self._add(graph, kernel, programmatic)
            status = driver.cuGraphInstantiateWithFlags(byref(executable), graph, 0)
            _check("cuGraphInstantiate", status)
        except TargetError:
            driver.cuGraphDestroy(graph)
            raise
        self.handle = executable.value
        self._set_params = driver.cuGraphExecKernelNodeSetParams_v2
        self._executable = executable
        self._updates = [
            (executable, node, byref(kernel)) for node, kernel in zip(self._nodes, self._kernels, strict=True)
        ]
        # At the end of the process the driver clears up by itself, and may be gone already.
        weakref.finalize(self, _destroy, graph, executable).atexit = False

    def _add(self, graph: c_void_p, kernel: KernelNodeParams, programmatic: bool) -> None:
        driver, node = _driver(), c_void_p()
        previous = self._nodes[-1:] if not programmatic else []
        before = previous if self._nodes else self._memset_nodes
        handles = (c_void_p * len(before))(*before)
        status = driver.cuGraphAddKernelNode_v2(byref(node), graph, handles, len(before), byref(kernel))
        _check("cuGraphAddKernelNode", status)
        if programmatic and self._nodes:
            status = driver.cuGraphAddDependencies_v2(
                graph, byref(self._nodes[-1]), byref(node), byref(PROGRAMMATIC), 1
            )
            _check("cuGraphAddDependencies", status)
        self._nodes.append(node)

    def _add_memset(self, graph: c_void_p, memset: MemsetNodeParams) -> c_void_p:
        node = c_void_p()
        status = _driver().cuGraphAddMemsetNode(byref(node), graph, None, 0, byref(memset), self._context)
        _check("cuGraphAddMemsetNode", status)
        return node

    def update_memset(self, index: int) -> None:
        """Update the target of memset `index` for later launches."""
        status = _driver().cuGraphExecMemsetNodeSetParams(
            self._executable, self._memset_nodes[index], byref(self._memsets[index]), self._context
        )
        _check("cuGraphExecMemsetNodeSetParams", status)

    def update(self, index: int) -> None:
        """Update the arguments of kernel `index` for later launches.

        The thread must have a context: without one, the driver crashes.
        """
        status = self._set_params(*self._updates[index])
        if status:
            _check("cuGraphExecKernelNodeSetParams", status)
