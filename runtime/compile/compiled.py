"""A pipeline compiled for one array layout: passes, lowering, text, machine code."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.collector import collector_off
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.dialects.img.strict import has_strict
from tilefuse.dialects.verification import verify
from tilefuse.lowering.abi import groups_of, kernel_name
from tilefuse.lowering.printers import print_c, print_cuda
from tilefuse.lowering.symbols import c_function_name
from tilefuse.passes.chain_kernels import ChainKernels
from tilefuse.passes.fit_registers import fit_registers
from tilefuse.passes.fold_grids import FoldGrids
from tilefuse.passes.group_stages import GroupStages
from tilefuse.passes.kernel_compiler import KernelCompiler
from tilefuse.passes.pipeline import PassTrace, lowering_passes, run_passes, standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.passes.validate_occupancy import ValidateOccupancy
from tilefuse.runtime.compile.backend import Backend
from tilefuse.runtime.compile.specialize import find_pipeline
from tilefuse.runtime.cpu import c_compiler
from tilefuse.runtime.cpu.driver import DRIVER_TEXT
from tilefuse.runtime.cpu.entry_points import c_entry_points
from tilefuse.runtime.cuda import cubins
from tilefuse.runtime.cuda.register_fit import Cubins
from tilefuse.targets.gpus import gpu


@dataclass(frozen=True)
class Settings:
    """Settings of a compilation."""

    backend: Backend
    strict_float: bool = False
    verify: bool = False
    """Verify the module after each pass."""
    passes: Sequence[ModulePass] | None = None
    """Instead of the standard ones; lowering follows."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Options of `standard_passes`: extent, algorithm."""
    several: bool = True
    """Whether groups may store several stages."""


@dataclass(frozen=True)
class Kernels:
    """Kernels in final form, for one width of index, and on GPUs for one architecture."""

    pipeline: PipelineOp
    """The scheduled pipeline."""
    complete: Callable[[], ModuleOp] = field(repr=False, compare=False)
    """Makes the module of that pipeline, with its functions."""
    text: Callable[[ModuleOp], str] = field(repr=False, compare=False)
    """Prints all kernels of a module."""
    cubin: cubins.Cubin | None = None
    changed: bool = False
    """Whether reports of the CUDA compiler have changed schedules or bounds."""

    @cached_property
    def module(self) -> ModuleOp:
        """The module at level 5, completed on first use: calls need only the pipeline and the machine code."""
        return self.complete()

    @cached_property
    def source(self) -> str:
        """The text of all kernels, printed on first use: machine code is made kernel by kernel."""
        return self.text(self.module)


class Compiled:
    """A module specialised to buffer layouts, at the kernel level."""

    def __init__(self, module: ModuleOp, settings: Settings):
        self._input = module
        self._settings = settings
        self._is_gpu = settings.backend.name == "cuda"
        self._lock = threading.RLock()
        self._kernels: dict[tuple[int, str | None, bool], Kernels] = {}
        self._latest: Kernels | None = None
        groups = groups_of(find_pipeline(module))
        self._grouped: ModuleOp | None = None
        """The module before tiling, for tiling it again: for GPUs, unless nothing tiles."""
        self._by_hand = tuple(g.sym_name.data for g in groups if g.schedule is not None)
        self._scheduled = self._schedule(None)

    def _passes(self) -> list[ModulePass]:
        s = self._settings
        passes = s.passes
        if passes is None:
            passes = standard_passes(s.backend.machine, **s.options)  # type: ignore[arg-type]
        if not s.several:
            passes = [replace(p, multiple_outputs=False) if isinstance(p, GroupStages) else p for p in passes]
        # Schedules written by hand are validated, but not changed.
        passes = [replace(p, keep=self._by_hand) if isinstance(p, ValidateOccupancy) else p for p in passes]
        # The order of operations is that of the program under strict_float=True, with any passes.
        return [replace(p, float_order=True) if isinstance(p, Tile) and s.strict_float else p for p in passes]

    def _schedule(self, trace: PassTrace | None) -> ModuleOp:
        check = verify if self._settings.verify else None
        passes = self._passes()
        if trace is not None or not self._is_gpu or (first := _first_tile(passes)) is None:
            return run_passes(self._input, passes, trace=trace, check=check)
        self._grouped = run_passes(self._input, passes[:first], check=check)
        return run_passes(self._grouped, passes[first:], check=check)

    def _lower(self, scheduled: ModuleOp, trace: PassTrace | None, known: Collection[str] = ()) -> ModuleOp:
        check = verify if self._settings.verify else None
        on = None if self._is_gpu else self._settings.backend.machine
        passes = lowering_passes(warps=self._is_gpu, known=known, target=on)
        if self._is_gpu:
            passes.append(ChainKernels())
        return run_passes(scheduled, passes, trace=trace, check=check)

    def _fold(self, module: ModuleOp) -> ModuleOp:
        return run_passes(module, [FoldGrids()], check=verify if self._settings.verify else None)

    @property
    def most_blocks(self) -> tuple[int, int, int] | None:
        """Largest number of blocks of a launch along x, y and z; None if unlimited."""
        return gpu(self._settings.backend.machine).max_grid if self._is_gpu else None

    def trace(self) -> PassTrace:
        """Return the IR after each pass. Runs the passes again, since keeping it costs more.

        `fit-registers` stands last where the compiler's report has changed tiles.
        """
        trace, lowering = PassTrace(), PassTrace()
        self._lower(self._schedule(trace), lowering)
        trace.modules += lowering.modules[1:]
        trace.seconds |= lowering.seconds
        if self._latest is not None and self._latest.changed:
            trace.modules.append(("fit-registers", self._latest.module))
        return trace

    @cached_property
    def module(self) -> ModuleOp:
        """The module at level 5, before machine code is made, which may never be needed."""
        return self._lower(self._scheduled, None)

    @cached_property
    def pipeline(self) -> PipelineOp:
        """The scheduled pipeline; `kernels` may have another one, with tiles of fewer registers."""
        return find_pipeline(self.module)

    def latest(self) -> Kernels:
        """Return the kernels last made; before any, kernels without machine code."""
        return self._latest or self._unbuilt(32)

    def kernels(self, index_bits: int, arch: str | None = None, *, folded: bool = False) -> Kernels:
        """Return the kernels for a width of index, with machine code if an architecture is given.

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

    def lower(self) -> None:
        """Lower all kernels now, so that errors are raised."""
        _ = self.module

    def library(self, kernels: Kernels) -> ctypes.CDLL:
        """Return the C library of kernels, built if necessary."""
        # C has no sum that is never contracted: one such op makes the whole library strict.
        strict = self._settings.strict_float or has_strict(kernels.module)
        names = dict.fromkeys(c_function_name(kernel_name(g)) for g in groups_of(kernels.pipeline))
        return c_compiler.load_library(kernels.source, strict_float=strict, kernels=list(names))

    def _unbuilt(self, index_bits: int, *, folded: bool = False) -> Kernels:
        module = self._fold(self.module) if folded else self.module
        return Kernels(find_pipeline(module), lambda: module, partial(self._print, index_bits=index_bits))

    def _print(self, module: ModuleOp, index_bits: int) -> str:
        if self._is_gpu:
            return print_cuda(module, index_bits=index_bits)
        entries = c_entry_points(groups_of(find_pipeline(module)))
        return print_c(module, index_bits=index_bits) + entries + DRIVER_TEXT

    @collector_off()
    def _fit_registers(self, index_bits: int, arch: str, folded: bool) -> Kernels:
        """Compile all kernels, with schedules that fit the registers that the compiler reports."""
        cubins = Cubins(arch, self._settings.strict_float)

        def lower(scheduled: ModuleOp, known: Collection[str]) -> ModuleOp:
            lowered = self._lower(scheduled, None, known)
            return self._fold(lowered) if folded else lowered

        compiler = KernelCompiler(
            machine=self._settings.backend.machine,
            print=lambda module, name: print_cuda(module, index_bits=index_bits, kernel=name),
            compile=cubins.compile,
            lower=lower,
            tile=self._tile_again,
        )
        module: ModuleOp | None = self.__dict__.get("module")  # None: not lowered yet
        if folded and module is not None:
            module = self._fold(module)
        fitted = fit_registers(self._scheduled, module, compiler, by_hand=self._by_hand)
        names = dict.fromkeys(kernel_name(g) for g in groups_of(fitted.pipeline))

        def complete() -> ModuleOp:
            with self._lock:
                return fitted.lowered()

        text = partial(self._print, index_bits=index_bits)
        return Kernels(fitted.pipeline, complete, text, cubins.of(names), fitted.changed)

    def _tile_again(self, note: Callable[[Sequence[GroupOp]], None]) -> ModuleOp | None:
        """Schedule the input again, after `note` wrote notes for `tile` on its groups; None if there is no `tile`."""
        if self._grouped is None:
            return None
        passes = self._passes()
        grouped = self._grouped.clone()
        note(groups_of(find_pipeline(grouped)))
        first = _first_tile(passes)
        return run_passes(grouped, passes[first:], check=verify if self._settings.verify else None, in_place=True)


def _first_tile(passes: Sequence[ModulePass]) -> int | None:
    """Return the index of the first `tile` pass; None if there is none."""
    return next((i for i, p in enumerate(passes) if isinstance(p, Tile)), None)
