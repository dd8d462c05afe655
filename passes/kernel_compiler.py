"""Interface of a register fit to the steps that it delegates: lowering, printing, compiling."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilefuse.dialects.img.ops import GroupOp


@dataclass(frozen=True)
class Report:
    """The compiler's figures of a kernel."""

    registers: int
    """Registers per thread."""
    spill_bytes: int
    """Spill stores and loads of one thread."""
    shared_bytes: int
    """Static shared memory of one block."""
    own_spill_bytes: int | None = None
    """Part of `spill_bytes` in the kernel's body, without functions that are not inlined; None if it is unknown."""


@dataclass(frozen=True)
class KernelCompiler:
    """Interface to the steps that register fit delegates: lowering, printing, compiling."""

    machine: str
    """The GPU's model or architecture."""
    print: Callable[[ModuleOp, str], str]
    """The CUDA text of a kernel of a module."""
    compile: Callable[[str, str], Report | None]
    """The report on a kernel of this name and text; None where tools keep the compiler from reporting. Called from
    several threads at once."""
    lower: Callable[[ModuleOp, Collection[str]], ModuleOp]
    """A scheduled module with all kernels lowered but those of these names."""
    tile: Callable[[Callable[[Sequence[GroupOp]], None]], ModuleOp | None]
    """Schedules anew, from the module that `tile` is given, after calling the function on its groups, which may give
    some of them schedules that are kept; None where schedules are not searched for."""
