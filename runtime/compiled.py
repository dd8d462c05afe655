"""A pipeline compiled for buffers of one kind: passes, lowering, text, machine code."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import ScheduleAttr, Shape
from tilefuse.dialects.img.ops import EVEN, GroupOp, PipelineOp
from tilefuse.dialects.img.strict import has_strict
from tilefuse.dialects.verification import verify
from tilefuse.lowering import lowering_passes
from tilefuse.lowering.abi import kernel_name, threads
from tilefuse.lowering.groups import HELD, bound
from tilefuse.lowering.printers import print_c, print_cuda
from tilefuse.passes.chain_kernels import ChainKernels
from tilefuse.passes.fold_grids import FoldGrids
from tilefuse.passes.pipeline import PassTrace, new_context, run_passes, standard_passes
from tilefuse.passes.tile import REGISTER_NEEDS, Tile, add_register_need
from tilefuse.passes.validate_occupancy import ValidateOccupancy
from tilefuse.runtime import cpu, cuda
from tilefuse.runtime.backend import Backend
from tilefuse.runtime.launch import c_entry_points
from tilefuse.runtime.specialize import find_pipeline
from tilefuse.targets.gpus import gpu
from tilefuse.targets.occupancy import occupancy

_BOUND = "kernel.min_blocks"
"""The attribute of a kernel that is held."""


@dataclass(frozen=True)
class Settings:
    """How to compile."""

    backend: Backend
    strict_float: bool = False
    verify: bool = False
    """Verify the module after each pass."""
    passes: Sequence[ModulePass] | None = None
    """Instead of the standard ones; lowering follows."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Of `standard_passes`: extent, algorithm."""


def groups_of(pipeline: PipelineOp) -> list[GroupOp]:
    """The groups of a pipeline: one per kernel, in order of launch."""
    return [op for op in pipeline.body.block.ops if isinstance(op, GroupOp)]


@dataclass(frozen=True)
class Kernels:
    """Kernels in their final form, for one width of index, and one architecture if for a GPU."""

    module: ModuleOp
    """Level 4."""
    text: Callable[[], str] = field(repr=False, compare=False)
    """Prints all kernels."""
    cubin: cuda.Cubin | None = None

    @cached_property
    def source(self) -> str:
        """All kernels as one text, printed when it is first asked for: machine code is made kernel by kernel."""
        return self.text()

    @property
    def pipeline(self) -> PipelineOp:
        """The scheduled pipeline."""
        return find_pipeline(self.module)


class KernelTexts(Mapping[str, str]):
    """The CUDA text of each kernel of a module, printed once, when it is first asked for; the longest come first.

    So the compiler has the first while others are printed, and the longest does not begin when all others are done.
    """

    def __init__(self, module: ModuleOp, index_bits: int, known: Mapping[str, str] | None = None):
        self._module = module
        self._index_bits = index_bits
        self._texts = dict(known or {})
        functions = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, func.FuncOp)}

        def size(name: str) -> int:
            ops = list(functions[name].walk())
            called = {op.callee.string_value() for op in ops if isinstance(op, func.CallOp)}
            return len(ops) + sum(size(callee) for callee in called if callee in functions)

        names = dict.fromkeys(kernel_name(g) for g in groups_of(find_pipeline(module)))
        self._names = sorted(names, key=size, reverse=True) if len(names) > 1 else list(names)

    def __getitem__(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = print_cuda(self._module, index_bits=self._index_bits, kernel=name)
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def after(self, module: ModuleOp) -> KernelTexts:
        """The texts of a module in which some kernels were held since: only these kernels are printed again."""
        was, now = ({f.sym_name.data: f.attributes.get(_BOUND) for f in m.body.block.ops
                     if isinstance(f, func.FuncOp)} for m in (self._module, module))  # fmt: skip
        known = {name: text for name, text in self._texts.items() if was[name] == now[name]}
        return KernelTexts(module, self._index_bits, known)


def _schedules(module: ModuleOp) -> tuple[ScheduleAttr | None, ...]:
    return tuple(g.schedule for g in groups_of(find_pipeline(module)))


class Compiled:
    """A module, specialised to how buffers lie, at the kernel level."""

    def __init__(self, module: ModuleOp, settings: Settings):
        self._input = module
        self._settings = settings
        self._is_gpu = settings.backend.name == "cuda"
        self._lock = threading.RLock()
        self._kernels: dict[tuple[int, str | None, bool], Kernels] = {}
        self._latest: Kernels | None = None
        groups = groups_of(find_pipeline(module))
        self._by_hand = tuple(g.sym_name.data for g in groups if g.schedule is not None)
        self._scheduled = self._schedule(None)
        self.module = self._lower(self._scheduled, None)
        """Level 4, before machine code has been made of it."""

    def _passes(self) -> list[ModulePass]:
        s = self._settings
        passes = s.passes
        if passes is None:
            passes = standard_passes(s.backend.machine, **s.options)  # type: ignore[arg-type]
        # Schedules written by hand are validated, but not changed.
        return [replace(p, keep=self._by_hand) if isinstance(p, ValidateOccupancy) else p for p in passes]

    def _schedule(self, trace: PassTrace | None) -> ModuleOp:
        check = verify if self._settings.verify else None
        return run_passes(self._input, self._passes(), trace=trace, check=check)

    def _lower(self, scheduled: ModuleOp, trace: PassTrace | None) -> ModuleOp:
        check = verify if self._settings.verify else None
        passes = lowering_passes(warps=self._is_gpu)
        if self._is_gpu:
            passes.append(ChainKernels())
        return run_passes(scheduled, passes, trace=trace, check=check)

    def _lower_again(self, scheduled: ModuleOp, folded: bool) -> ModuleOp:
        return self._fold(self._lower(scheduled, None)) if folded else self._lower(scheduled, None)

    def _fold(self, module: ModuleOp) -> ModuleOp:
        return run_passes(module, [FoldGrids()], check=verify if self._settings.verify else None)

    @property
    def most_blocks(self) -> tuple[int, int, int] | None:
        """The blocks that a launch may have along x, y and z; None where there is no limit."""
        return gpu(self._settings.backend.machine).max_grid if self._is_gpu else None

    def trace(self) -> PassTrace:
        """The IR after each pass. Runs the passes again, since keeping it costs more than they do.

        `fit-registers` stands last where the compiler's report has changed tiles.
        """
        trace, lowering = PassTrace(), PassTrace()
        self._lower(self._schedule(trace), lowering)
        trace.modules += lowering.modules[1:]
        trace.seconds |= lowering.seconds
        if self._latest is not None and self._latest.module is not self.module:
            trace.modules.append(("fit-registers", self._latest.module))
        return trace

    @property
    def pipeline(self) -> PipelineOp:
        """The scheduled pipeline; that of `kernels` may have other tiles, for want of registers."""
        return find_pipeline(self.module)

    def latest(self) -> Kernels:
        """The kernels last made; before any, with no machine code."""
        return self._latest or self._unbuilt(32)

    def kernels(self, index_bits: int, arch: str | None = None, *, folded: bool = False) -> Kernels:
        """The kernels for a width of index, with machine code if an architecture is given.

        `folded`: they count their blocks along x alone, for grids that are beyond the limits of y or z.
        """
        with self._lock:
            key = (index_bits, arch, folded)
            if key not in self._kernels:
                if arch is None:
                    made = self._unbuilt(index_bits, folded=folded)
                else:
                    made = self._fit_registers(index_bits, arch, folded)
                self._kernels[key] = made
            self._latest = self._kernels[key]
            return self._latest

    def library(self, kernels: Kernels) -> ctypes.CDLL:
        """The C library of kernels without machine code, built if need be."""
        # C has no sum that is never contracted: one such op makes the whole library strict.
        strict = self._settings.strict_float or has_strict(kernels.module)
        return cpu.load_library(kernels.source, strict_float=strict)

    def _unbuilt(self, index_bits: int, *, folded: bool = False) -> Kernels:
        module = self._fold(self.module) if folded else self.module
        return Kernels(module, partial(self._print, module, index_bits))

    def _print(self, module: ModuleOp, index_bits: int) -> str:
        if self._is_gpu:
            return print_cuda(module, index_bits=index_bits)
        return print_c(module, index_bits=index_bits) + c_entry_points(groups_of(find_pipeline(module)))

    def _fit_registers(self, index_bits: int, arch: str, folded: bool) -> Kernels:
        """Compile; hold kernels that leave too few registers for other blocks, and tile again those that spill."""
        scheduled, module = self._scheduled.clone(), self._fold(self.module) if folded else self.module
        fixed = {kernel_name(g) for g in groups_of(find_pipeline(self._input)) if g.schedule is not None}
        searched = True
        tried = {_schedules(scheduled)}
        sources = KernelTexts(module, index_bits)
        while True:
            names = [kernel_name(g) for g in groups_of(find_pipeline(module))]
            cubin = cuda.build(sources, arch, strict_float=self._settings.strict_float)
            if holding := self._hold(scheduled, module, cubin):
                module, sources = holding, sources.after(holding)
                continue
            if self._release(scheduled, names, cubin):
                module = self._lower_again(scheduled, folded)
                sources = KernelTexts(module, index_bits)
                continue
            again = self._tile_again(scheduled, names, cubin, fixed) if searched else None
            if again is None or _schedules(again) in tried:
                # (tried: what was released from its blocks, and spills all the same, would be asked for once more)
                # what the search has nothing better for is made smaller, and searched for no more
                searched = False
                if not self._make_room(scheduled, names, cubin, fixed):
                    return Kernels(module, partial(self._print, module, index_bits), cubin)
            else:
                scheduled = again
                tried.add(_schedules(again))
            module = self._lower_again(scheduled, folded)
            sources = KernelTexts(module, index_bits)

    def _hold(self, scheduled: ModuleOp, module: ModuleOp, cubin: cuda.Cubin) -> ModuleOp | None:
        """Hold the compiler to the schedule's `blocks` where it took more registers than they leave, or spilled.

        And where it took fewer, so that there is room for more, which all run at once and then do not lie evenly.

        Left to itself it often takes fewer, and orders instructions better than for a number of blocks. `module`
        with what was held; None if nothing had to be.
        """
        pairs = zip(*(groups_of(find_pipeline(m)) for m in (scheduled, module)), strict=True)
        held = set()
        for group, lowered in pairs:
            name, schedule = kernel_name(lowered), group.schedule
            if schedule is None or not schedule.resident_blocks or HELD in group.attributes:
                continue
            if (registers := cubin.registers.get(name)) is None:
                continue  # tools such as compute-sanitizer keep the compiler from reporting
            fewer = self._room(group, registers) < schedule.resident_blocks
            if cubin.spill_bytes[name] or fewer or self._is_uneven(group, name, cubin):
                group.attributes[HELD] = UnitAttr()
                held.add(name)
        if not held:
            return None
        module = module.clone()
        kernels = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, func.FuncOp)}
        for lowered in groups_of(find_pipeline(module)):
            if (name := kernel_name(lowered)) in held:
                lowered.attributes[HELD] = UnitAttr()
                bound(lowered, kernels[name])
        return module

    def _room(self, group: GroupOp, registers: int, shared: int = 0) -> int:
        """How many blocks that take so much a multiprocessor has room for."""
        on = gpu(self._settings.backend.machine)
        return occupancy(on, math.prod(threads(group)), registers, shared).blocks_per_sm

    def _is_uneven(self, group: GroupOp, name: str, cubin: cuda.Cubin) -> bool:
        """Whether there is room for more of the blocks that all run at once than there are to be."""
        if group.schedule is None or EVEN not in group.attributes or name not in cubin.registers:
            return False
        return self._room(group, cubin.registers[name], cubin.shared_bytes[name]) > group.schedule.resident_blocks

    def _release(self, scheduled: ModuleOp, names: list[str], cubin: cuda.Cubin) -> bool:
        """Leave to the compiler what it does not fill with registers when it is held; whether there is such a kernel.

        Its blocks do not lie evenly, and do not ask ahead: those that move in early get the places that are free.
        """
        released = False
        for group, name in zip(groups_of(find_pipeline(scheduled)), names, strict=True):
            if HELD in group.attributes and self._is_uneven(group, name, cubin):
                assert group.schedule is not None
                del group.attributes[EVEN], group.attributes[HELD]
                group.schedule = ScheduleAttr.new_from(group.schedule, ahead=0)
                released = True
        return released

    def _tile_again(self, scheduled: ModuleOp, names: list[str], cubin: cuda.Cubin, fixed: set[str]) -> ModuleOp | None:
        """All scheduled anew, with what the spilling kernels need noted for the `tile` pass.

        None if no kernel spills, or none of these gets another schedule by that.
        """
        spilling: dict[str, GroupOp] = {}
        for group, name in zip(groups_of(find_pipeline(scheduled)), names, strict=True):
            spilled = cubin.spill_bytes.get(name)
            if spilled and name not in fixed and group.schedule is not None:
                if group.schedule.execution is Shape.WarpTile:
                    add_register_need(group, cubin.registers[name] + -(-spilled // 8))
                spilling[group.sym_name.data] = group
        passes = self._passes()
        first = next((i for i, p in enumerate(passes) if isinstance(p, Tile)), None)
        if not spilling or first is None:
            return None
        grouped = run_passes(self._input, passes[:first])
        for old, new in zip(groups_of(find_pipeline(scheduled)), groups_of(find_pipeline(grouped)), strict=True):
            if REGISTER_NEEDS in old.attributes:
                new.attributes[REGISTER_NEEDS] = old.attributes[REGISTER_NEEDS]
        again = run_passes(grouped, passes[first:], check=verify if self._settings.verify else None)
        for old, new in zip(groups_of(find_pipeline(scheduled)), groups_of(find_pipeline(again)), strict=True):
            if HELD in old.attributes and old.schedule == new.schedule:
                new.attributes[HELD] = old.attributes[HELD]
        changed = any(
            g.sym_name.data in spilling and g.schedule != spilling[g.sym_name.data].schedule
            for g in groups_of(find_pipeline(again))
        )
        return again if changed else None

    def _make_room(self, scheduled: ModuleOp, names: list[str], cubin: cuda.Cubin, fixed: set[str]) -> bool:
        """Give kernels whose registers spill a smaller tile; whether any got one. `fixed` cannot get one.

        `names`: the kernel of each group; like groups share one.
        """
        changed = False
        for group, name in zip(groups_of(find_pipeline(scheduled)), names, strict=True):
            spilled = cubin.spill_bytes.get(name)
            if spilled is None:
                continue  # tools such as compute-sanitizer keep the compiler from reporting
            group.attributes["registers"] = IntegerAttr(cubin.registers[name], 64)
            if not spilled or name in fixed:
                continue
            group.attributes["spill_bytes"] = IntegerAttr(spilled, 64)
            try:
                validate = ValidateOccupancy(self._settings.backend.machine, fix=True, keep=self._by_hand)
                validate.apply(new_context(), scheduled)
                changed = True
            except PipelineError:
                fixed.add(name)  # no smaller tile: better slow than not at all
            group.attributes.pop("spill_bytes", None)
        return changed
