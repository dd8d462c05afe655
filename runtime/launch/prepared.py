"""Prepared calls: everything decided except addresses and parameters that determine no sizes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

from tilefuse.dialects.img.ops import PipelineOp
from tilefuse.runtime.arrays.kinds import Device
from tilefuse.runtime.call.scalars import Scalar, distinct, evaluate_scalars, params_of, word
from tilefuse.runtime.compile.compiled import Compiled, Kernels
from tilefuse.runtime.cuda import cubins, devices
from tilefuse.runtime.errors import CallMemoryError
from tilefuse.runtime.launch.cpu_runner import CpuRunner
from tilefuse.runtime.launch.cuda_runner import CudaRunner
from tilefuse.runtime.launch.grids import fits, fold_plan
from tilefuse.runtime.launch.plan import CallArrays, Plan, make_plan
from tilefuse.runtime.launch.reference import ReferenceRunner
from tilefuse.runtime.launch.runner import Runner

_MOST_BYTES = 1 << 62
"""Beyond it allocators have no number for a size, and so no error of their own."""


class Prepared(Protocol):
    """A call of known shapes, strides and alignment, ready to run."""

    out_shapes: tuple[tuple[int, ...], ...]
    """Shapes of the outputs, in the axes of their arrays."""

    largest: str
    """The temporary, or the workspace, that takes most memory, for messages."""

    def run(self, pointers: list[int], params: dict[str, Scalar], stream: int | None) -> None:
        """Run with the addresses of inputs and outputs."""


class PreparedKernels:
    """Launches of compiled kernels."""

    def __init__(
        self,
        compiled: Compiled,
        given: CallArrays,
        out_shapes: tuple[tuple[int, ...], ...],
        params: dict[str, Scalar],
        device: Device,
        spare: list[Any],
    ):
        boxes, inputs, outputs, may_host = given
        self.out_shapes = out_shapes
        self.compiled = compiled
        arch = None if device[0] == "cpu" else devices.architecture(device[1])

        def plan_of(pipeline: PipelineOp) -> Plan:
            return make_plan(pipeline, boxes, inputs, outputs, params, may_host)

        self.kernels, self.plan = _fitting(compiled, arch, plan_of)
        kernels, plan = self.kernels, self.plan
        if plan.arena_bytes > _MOST_BYTES:
            raise CallMemoryError.of_temporaries(f"{plan.arena_bytes} bytes", plan.largest)
        self.largest = plan.largest
        self._boxes = boxes
        self._params = params_of(plan.scalars)
        self._scalars: tuple[Hashable, Sequence[int]] | None = None
        self._runner: Runner
        if device[0] == "cpu":
            self._runner = CpuRunner(plan, compiled.library(kernels), outputs, spare)
        else:
            names = [launch.name for launch in plan.launches]
            assert kernels.cubin is not None
            assert arch is not None
            functions = cubins.load_functions(kernels.cubin, names, device[1])
            self._runner = CudaRunner(plan, functions, outputs, device[1], arch)

    def run(self, pointers: list[int], params: dict[str, Scalar], stream: int | None) -> None:
        """Launch the kernels."""
        self._runner.run(pointers, self._scalar_words(params) if self.plan.scalars else (), stream)

    def _scalar_words(self, params: dict[str, Scalar]) -> Sequence[int]:
        key = distinct(params, self._params)
        known = self._scalars
        if known is None or known[0] != key:
            scalars = self.plan.scalars
            numbers = evaluate_scalars(scalars, self._boxes.inputs, params)
            known = (key, [word(n, s.type) for n, s in zip(numbers, scalars, strict=True)])
            self._scalars = known
        return known[1]


def _fitting(compiled: Compiled, arch: str | None, plan_of: Callable[[PipelineOp], Plan]) -> tuple[Kernels, Plan]:
    """Return the kernels for a call and their plan, with grids within the device's limits.

    Raises CallError if there are none.
    """
    plan, most = plan_of(compiled.pipeline), compiled.most_blocks
    # making room for registers makes tiles smaller: it may take more blocks than were planned
    for fold in (False, True):
        if not fold and not fits(plan, most):
            continue
        kernels = compiled.kernels(plan.index_bits, arch, folded=fold)
        if kernels.pipeline is not compiled.pipeline:
            plan = plan_of(kernels.pipeline)
        if not fold and fits(plan, most):
            return kernels, plan
    assert most is not None
    return kernels, fold_plan(plan, most)


class PreparedReference:
    """Prepared run of the evaluator."""

    largest = ""

    def __init__(self, runner: ReferenceRunner, out_shapes: tuple[tuple[int, ...], ...]):
        self.out_shapes = out_shapes
        self._runner = runner

    def run(self, pointers: list[int], params: dict[str, Scalar], stream: int | None) -> None:
        """Evaluate."""
        self._runner.run(pointers, params)
