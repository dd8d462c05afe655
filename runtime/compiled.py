"""A pipeline compiled for buffers of one kind: passes, lowering, text, machine code."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.passes import ModulePass

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.dialects.verification import verify
from tilefuse.lowering import lowering_passes
from tilefuse.lowering.abi import kernel_name
from tilefuse.lowering.printers import print_c, print_cuda
from tilefuse.passes.pipeline import PassTrace, new_context, run_passes, standard_passes
from tilefuse.passes.validate_occupancy import ValidateOccupancy
from tilefuse.runtime import cpu, cuda
from tilefuse.runtime.backend import Backend
from tilefuse.runtime.launch import c_entry_points
from tilefuse.runtime.specialize import find_pipeline


@dataclass(frozen=True)
class Settings:
    """How to compile."""

    backend: Backend
    strict_float: bool = False
    verify: bool = False
    """Verify the module after each pass."""
    passes: Sequence[ModulePass] | None = None
    """Instead of the standard ones; lowering follows."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of `standard_passes`: extent, algorithm."""


class Compiled:
    """A module, specialised to how buffers lie, at the kernel level."""

    def __init__(self, module: ModuleOp, settings: Settings):
        self._input = module
        self._settings = settings
        self._lock = threading.RLock()
        self._sources: dict[int, str] = {}
        self._cubins: dict[tuple[str, int], cuda.Cubin] = {}
        self._stuck: set[str] = set()
        self._scheduled, self.module = self._run(None)

    def _run(self, trace: PassTrace | None) -> tuple[ModuleOp, ModuleOp]:
        """The scheduled and the lowered module."""
        s = self._settings
        passes = s.passes
        if passes is None:
            passes = standard_passes(s.backend.machine, **s.options)
        check = verify if s.verify else None
        scheduled = run_passes(self._input, passes, trace=trace, check=check)
        lowering = lowering_passes(warps=s.backend.name == "cuda")
        return scheduled, run_passes(scheduled, lowering, trace=trace, check=check)

    def trace(self) -> PassTrace:
        """The IR after each pass. Runs the passes again, since keeping it costs more than they do."""
        trace = PassTrace()
        self._run(trace)
        return trace

    @property
    def pipeline(self) -> PipelineOp:
        """The scheduled pipeline."""
        return find_pipeline(self.module)

    @property
    def groups(self) -> list[GroupOp]:
        """One per kernel, in order."""
        return [op for op in self.pipeline.body.block.ops if isinstance(op, GroupOp)]

    def source(self, index_bits: int = 32) -> str:
        """The CUDA or C text."""
        with self._lock:
            if index_bits not in self._sources:
                if self._settings.backend.name == "cuda":
                    text = print_cuda(self.module, index_bits=index_bits)
                else:
                    text = print_c(self.module, index_bits=index_bits) + c_entry_points(self.groups)
                self._sources[index_bits] = text
            return self._sources[index_bits]

    def library(self, index_bits: int) -> ctypes.CDLL:
        """The C library, built if need be."""
        return cpu.load_library(self.source(index_bits), strict_float=self._settings.strict_float)

    def cubin(self, arch: str, index_bits: int = 32) -> cuda.Cubin:
        """The machine code for a GPU architecture, built if need be."""
        with self._lock:
            key = (arch, index_bits)
            if key not in self._cubins:
                strict = self._settings.strict_float
                built = cuda.build(self.source(index_bits), arch, strict_float=strict)
                while self._make_room(built):
                    built = cuda.build(self.source(index_bits), arch, strict_float=strict)
                self._cubins[key] = built
            return self._cubins[key]

    def _make_room(self, built: cuda.Cubin) -> bool:
        """Give kernels whose registers spill a smaller tile, by the compiler's own report; whether any got one."""
        scheduled = find_pipeline(self._scheduled)
        changed = False
        for group in [g for g in scheduled.body.block.ops if isinstance(g, GroupOp)]:
            name = kernel_name(group)
            group.attributes["registers"] = IntegerAttr(built.registers[name], 64)
            spilled = built.spill_bytes[name]
            if not spilled or name in self._stuck:
                continue
            group.attributes["spill_bytes"] = IntegerAttr(spilled, 64)
            try:
                ValidateOccupancy(self._settings.backend.machine, fix=True).apply(new_context(), self._scheduled)
                changed = True
            except PipelineError:
                self._stuck.add(name)  # no smaller tile: better slow than not at all
            group.attributes.pop("spill_bytes", None)
        if changed:
            self.module = run_passes(self._scheduled, lowering_passes(warps=True))
            self._sources.clear()
        return changed

    def functions(self, names: list[str], device: int, index_bits: int) -> list[Any]:
        """Kernels loaded on a GPU."""
        return cuda.load_functions(self.cubin(cuda.architecture(device), index_bits), names, device)

    def kernel_names(self) -> list[str]:
        """The names of all kernels, in order of launch."""
        return [kernel_name(g) for g in self.groups]
