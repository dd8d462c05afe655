"""A pipeline compiled for buffers of one kind: passes, lowering, text, machine code."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.dialects.verification import verify
from tilefuse.lowering import lowering_passes
from tilefuse.lowering.abi import kernel_name
from tilefuse.lowering.printers import print_c, print_cuda
from tilefuse.passes.pipeline import PassTrace, run_passes, standard_passes
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
        self.module = self._run(None)

    def _run(self, trace: PassTrace | None) -> ModuleOp:
        s = self._settings
        passes = s.passes
        if passes is None:
            passes = standard_passes(s.backend.machine, **s.options)
        check = verify if s.verify else None
        return run_passes(self._input, [*passes, *lowering_passes(warps=s.backend.name == "cuda")], trace=trace, check=check)

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
                source = self.source(index_bits)
                self._cubins[key] = cuda.build(source, arch, strict_float=self._settings.strict_float)
            return self._cubins[key]

    def functions(self, names: list[str], device: int, index_bits: int) -> list[Any]:
        """Kernels loaded on a GPU."""
        return cuda.load_functions(self.cubin(cuda.architecture(device), index_bits), names, device)

    def kernel_names(self) -> list[str]:
        """The names of all kernels, in order of launch."""
        return [kernel_name(g) for g in self.groups]
