"""Runner of plans on the CPU: clears buffers, calls the driver of the kernels' library, copies results."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from tilefuse.runtime.arrays.kinds import NUMPY
from tilefuse.runtime.arrays.layouts import Picture
from tilefuse.runtime.arrays.strided import numpy_at
from tilefuse.runtime.cpu.driver import Driver, Fill, KernelOfCall
from tilefuse.runtime.cpu.entry_points import entry_point
from tilefuse.runtime.launch.arena import ARENA_ALIGNMENT
from tilefuse.runtime.launch.plan import CopyOut, Plan


class CpuRunner:
    """Runs a plan on the CPU."""

    def __init__(self, plan: Plan, library: ctypes.CDLL, outputs: Sequence[Picture], spare: list[np.ndarray]):
        self._plan = plan
        self._outputs = tuple(outputs)
        self._spare = spare
        addresses = [a for launch in plan.launches for a in launch.addresses]
        buffers = self._buffers = 1 + max((a.buffer for a in addresses), default=-1)
        kernels = [
            KernelOfCall(
                entry_point(launch.name),
                launch.words,
                [
                    *(Fill(a.slot, a.buffer, a.offset) for a in launch.addresses),
                    *(Fill(s.slot, buffers + s.number) for s in launch.scalars),
                ],
            )
            for launch in plan.launches
        ]
        self._drive = self._driver(library, kernels, buffers + len(plan.scalars))

    def _driver(
        self, library: ctypes.CDLL, kernels: Sequence[KernelOfCall], values: int
    ) -> Callable[[Sequence[int]], None]:
        return Driver(library, kernels, values)

    def run(self, pointers: list[int], scalars: Sequence[int], stream: int | None) -> None:
        """Run the kernels one after the other; return when all is written."""
        arena = self._take_arena()
        if arena is not None:
            start = NUMPY.address(arena)
            pointers = [*pointers, -(-start // ARENA_ALIGNMENT) * ARENA_ALIGNMENT]
        for clear in self._plan.clears:
            ctypes.memset(pointers[clear.buffer] + clear.offset, clear.byte, clear.size)
        self._drive([*pointers[: self._buffers], *scalars])
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
