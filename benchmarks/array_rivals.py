"""A rival of rivals.py on the GPU: eager torch, `torch.compile` or CuPy, on CuPy arrays."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import device
import rivals

NAMES = ("torch", "torch.compile", "cupy")
Inputs = Sequence[tuple[Any, ...]]
"""The inputs of each set of buffers, in CuPy's memory."""


class ArrayRival:
    """A rival, one of NAMES; `first` must be called before the other methods."""

    def __init__(self, name: str, rival: Callable[..., Any]):
        self.name = name
        self._rival = rival
        self._run: Callable[..., Any] | None = None

    def first(self, inputs: Sequence[Any]) -> tuple[Any, float]:
        """Return the result, as a CuPy array, and the seconds of the first call, which compiles."""
        start = time.perf_counter()
        run = self._made()
        result = run(*self._own(inputs))
        self.wait()
        seconds = time.perf_counter() - start
        return (result if self.name == "cupy" else _as_cupy(result)), seconds

    def us(self, inputs: Inputs, rounds: int, repeat: int) -> float:
        """Measure the device time of a call, captured in a graph."""
        run, given = self._made(), [self._own(arrays) for arrays in inputs]
        if self.name == "cupy":
            return device.cupy_graph_us([partial(run, *arrays) for arrays in given], repeat)
        # without a compiler a call is so many kernels that the ends of a graph do not count
        return device.torch_graph_us(lambda a: run(*a), given * (rounds if self.name == "torch.compile" else 1), repeat)

    def call_us(self, inputs: Sequence[Any]) -> float:
        """Measure the time of a call from Python."""
        run, given = self._made(), self._own(inputs)
        return device.call_us(lambda: run(*given), self.wait)

    def wait(self) -> None:
        """Wait until the GPU is done."""
        if self.name == "cupy":
            import cupy

            cupy.cuda.Device().synchronize()
        else:
            import torch

            torch.cuda.synchronize()

    def end(self) -> None:
        """Free its memory."""
        self._run = None
        if self.name == "torch.compile":
            import torch

            torch.compiler.reset()
        gc.collect()

    def _made(self) -> Callable[..., Any]:
        if self._run is None:
            self._run = self._make()
        return self._run

    def _make(self) -> Callable[..., Any]:
        rival = self._rival
        if self.name == "cupy":
            import cupy

            arrays = rivals.ArrayNamespace(cupy)
            return lambda *given: rival(arrays, *given)
        import torch

        torch.backends.cudnn.allow_tf32 = False  # as ours: f32
        tensors = rivals.TorchNamespace()

        def plain(*given: Any) -> Any:
            return rival(tensors, *given)

        return plain if self.name == "torch" else torch.compile(plain, dynamic=False)

    def _own(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Convert the arrays to the rival's type, sharing memory."""
        if self.name == "cupy":
            return tuple(inputs)
        import torch

        return tuple(torch.from_dlpack(a.view("int16") if a.dtype == "uint16" else a) for a in inputs)


def _as_cupy(result: Any) -> Any:
    import cupy

    return cupy.from_dlpack(result.contiguous())
