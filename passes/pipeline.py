"""The standard pass pipeline, and a record of the IR after each pass.

`standard_passes` is a list: take it, replace or insert what you like, and give it to `run_passes`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

from tilefuse.analysis.machine import check_target, is_cpu, machine
from tilefuse.collector import collector_off
from tilefuse.passes.canonicalize_stages import CanonicalizeStages
from tilefuse.passes.compute_in_steps import ComputeInSteps
from tilefuse.passes.convert_once import ConvertOnce
from tilefuse.passes.copy_updated import CopyUpdated
from tilefuse.passes.drop_clamps import DropClamps
from tilefuse.passes.drop_unused_values import DropUnusedValues
from tilefuse.passes.drop_zero_terms import DropZeroTerms
from tilefuse.passes.group_stages import GroupStages
from tilefuse.passes.group_updates import GroupUpdates
from tilefuse.passes.inline_columns import InlineColumns
from tilefuse.passes.inline_stages import InlineStages
from tilefuse.passes.inline_windows import InlineWindows
from tilefuse.passes.merge_sums import MergeSums
from tilefuse.passes.narrow_integers import NarrowIntegers
from tilefuse.passes.pad_edges import PadEdges
from tilefuse.passes.plain_extrema import PlainExtrema
from tilefuse.passes.promote_memory import PromoteMemory
from tilefuse.passes.propagate_constants import PropagateConstants
from tilefuse.passes.raise_clamps import RaiseClamps
from tilefuse.passes.raise_exteriors import RaiseExteriors
from tilefuse.passes.repeat_edges import RepeatEdges
from tilefuse.passes.separate_kernels import SeparateKernels
from tilefuse.passes.separate_steps import SeparateSteps
from tilefuse.passes.specialize_stages import SpecializeStages
from tilefuse.passes.tile import Tile
from tilefuse.passes.unroll_reductions import UnrollReductions
from tilefuse.passes.validate_occupancy import ValidateOccupancy


@dataclass
class PassTrace:
    """Module after each pass (printed on request) and the seconds of each pass."""

    modules: list[tuple[str, ModuleOp]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def passes(self) -> list[str]:
        """Names of the passes, in order; the first is `input`."""
        return [name for name, _ in self.modules]

    def ir(self, after: str | None = None) -> str:
        """Return the IR after a pass, or at the end. Raises KeyError if the pass did not run."""
        if after is None:
            return str(self.modules[-1][1])
        for name, module in reversed(self.modules):
            if name == after:
                return str(module)
        raise KeyError(f"no pass '{after}' ran; the passes were {', '.join(self.passes)}")


def new_context() -> Context:
    """Return a context with every dialect that a pipeline may use."""
    from xdsl.dialects import arith, builtin, func, math, scf, ub, vector

    from tilefuse.dialects.funnel_shifts import FUNNEL_SHIFTS
    from tilefuse.dialects.gpu_shuffle import GPU_WITH_SHUFFLE
    from tilefuse.dialects.img import IMG
    from tilefuse.dialects.memref import MEMREF
    from tilefuse.dialects.nvgpu import NVGPU
    from tilefuse.dialects.nvvm import NVVM
    from tilefuse.dialects.warp import WARP
    from tilefuse.execution.registry import schedule_dialect

    ctx = Context()
    for dialect in (
        builtin.Builtin, arith.Arith, func.Func, FUNNEL_SHIFTS, GPU_WITH_SHUFFLE, math.Math,
        MEMREF, scf.Scf, ub.UB, vector.Vector, IMG, NVGPU, NVVM, schedule_dialect(), WARP,
    ):  # fmt: skip
        ctx.load_dialect(dialect)
    return ctx


DETERMINISM = ("run_to_run", "not_guaranteed", "gpu_to_gpu")
"""Promises about the bits of sums of floats over a domain; the first is the default, which costs nothing."""


def standard_passes(
    target: str,
    *,
    extent: Sequence[int] = (1536, 2560),
    algorithm: str = "both",
    fast_math: bool = False,
    determinism: str = DETERMINISM[0],
) -> list[ModulePass]:
    """List the passes from algorithm to full schedule for `target` (`cpu`, a CPU's row, or a GPU's model or arch).

    `fast_math`: sums of floats may be regrouped. `determinism`: under `gpu_to_gpu` sums over a domain are not, either.
    """
    check_target(target, "standard_passes")
    size = tuple(extent)
    return [
        CommonSubexpressionElimination(),
        UnrollReductions(windows=is_cpu(target)),  # on GPUs that is not measured yet
        *([SeparateSteps(), SpecializeStages()] if machine(target).is_gpu else []),
        SeparateKernels(float=fast_math),  # first: it leaves less for the others
        CanonicalizeStages(),
        PropagateConstants(),
        *([DropClamps()] if machine(target).is_gpu else []),
        DropUnusedValues(),
        RaiseClamps(),
        RaiseExteriors(keep_rows=is_cpu(target)),
        MergeSums(),
        CopyUpdated(),
        *([PlainExtrema()] if is_cpu(target) else []),  # GPUs have the instruction
        InlineStages(target=target, extent=size),
        *([NarrowIntegers()] if is_cpu(target) else []),  # on GPUs that is not measured yet
        DropZeroTerms(fma=machine(target).is_gpu),  # of CPUs some have no such instruction
        *([ConvertOnce()] if is_cpu(target) else []),
        GroupStages(target=target, algorithm=algorithm, extent=size),  # type: ignore[arg-type]
        *([InlineColumns(target=target, extent=size)] if is_cpu(target) else []),
        GroupUpdates(target=target),
        ComputeInSteps(target=target, extent=size)
        if machine(target).is_gpu  # on CPUs no model can
        else InlineWindows(target=target, extent=size),  # on GPUs that is not measured yet
        RepeatEdges(extent=size),
        *([PadEdges(target=target, extent=size)] if is_cpu(target) else []),
        Tile(target=target, extent=size, float_order=determinism == "gpu_to_gpu"),
        PromoteMemory(),
        ValidateOccupancy(target=target, fix=True),
    ]


@collector_off()
def run_passes(
    module: ModuleOp,
    passes: Sequence[ModulePass],
    *,
    trace: PassTrace | None = None,
    verify: bool = False,
    check: Callable[[ModuleOp], None] | None = None,
    in_place: bool = False,
) -> ModuleOp:
    """Run `passes` on a copy of `module`, or in place. `trace` records the IR after each; `verify` verifies it."""
    ctx = new_context()
    if not in_place:
        module = module.clone()
    if trace is not None and not trace.modules:
        trace.modules.append(("input", module.clone()))
    for p in passes:
        start = time.perf_counter()
        p.apply(ctx, module)
        if trace is not None:
            trace.seconds[p.name] = time.perf_counter() - start
            trace.modules.append((p.name, module.clone()))
        if verify:
            module.verify()
        if check is not None:
            check(module)
    return module


def lowering_passes(*, warps: bool, known: Collection[str] = (), target: str | None = None) -> list[ModulePass]:
    """List the passes from a scheduled module (level 3) to a module for the printers (level 5).

    `warps`: whether the machine has warps; on a CPU, which has none, warp tiles are arrays. `known`: names of kernels
    that are lowered already, elsewhere. `target`: the CPU; by default a usual one.
    """
    from tilefuse.execution.registry import models
    from tilefuse.passes.expand_division import ExpandDivision
    from tilefuse.passes.expand_shifts import ExpandShifts
    from tilefuse.passes.lower_groups import LowerGroups
    from tilefuse.passes.split_divisions import SplitDivisions

    of_models = [p for m in models() for p in m.lowering_passes(warps=warps)]
    if warps:  # what threads share; loops over rows of a CPU gain nothing
        of_models.append(SplitDivisions())
    groups = LowerGroups(warps=warps, skip=tuple(known))
    if target is not None:
        groups = replace(groups, target=target)
    last = _last_of_gpus() if warps else _last_of_cpus(groups.target)
    return [groups, *of_models, ExpandDivision(), ExpandShifts(), *last]


def _last_of_gpus() -> list[ModulePass]:
    from tilefuse.passes.merge_versions import MergeVersions

    return [MergeVersions()]


def _last_of_cpus(target: str) -> list[ModulePass]:
    from tilefuse.analysis.machine import machine
    from tilefuse.passes.compare_selects import CompareSelects
    from tilefuse.passes.divide_by_product import DivideByProduct
    from tilefuse.passes.interleave_planes import InterleavePlanes
    from tilefuse.passes.mask_selects import MaskSelects
    from tilefuse.passes.plain_conversions import PlainConversions
    from tilefuse.passes.row_pointers import RowPointers
    from tilefuse.passes.shift_inwards import ShiftInwards
    from tilefuse.passes.split_conversions import SplitConversions
    from tilefuse.passes.split_lookups import SplitLookups
    from tilefuse.passes.stream_stores import StreamStores
    from tilefuse.passes.thread_arrays import ThreadArrays
    from tilefuse.passes.widen_accesses import WidenAccesses

    of_masks: list[ModulePass] = [CompareSelects(), MaskSelects()]
    of_rows = [ThreadArrays(), *of_masks, InterleavePlanes(), StreamStores(), ShiftInwards(), WidenAccesses()]
    split = SplitConversions(machine(target).vector_bytes)
    return [*of_rows, DivideByProduct(), PlainConversions(), SplitLookups(), RowPointers(), split]
