"""Interface of an output language, which `cuda.py` and `c.py` implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Operation

from tilefuse.lowering.printers.expr import CExpr
from tilefuse.lowering.printers.helper import Helper
from tilefuse.lowering.printers.prelude import Prelude
from tilefuse.lowering.printers.vector_types import Vector


class Language(ABC):
    """One output language of the printers. Methods return text; no method makes a scheduling decision."""

    name: ClassVar[str]
    helper_qualifier: ClassVar[str]
    rare_qualifier: ClassVar[str]
    """Qualifier of a helper that should not be inlined."""
    inline_qualifier: ClassVar[str]
    shared_qualifier: ClassVar[str]
    """Qualifier of an array in space 3."""
    shared_suffix: ClassVar[str]
    """After its brackets."""
    aligned_qualifier: ClassVar[str]
    """Qualifier of a private array with vector stores."""
    barrier: ClassVar[str | None]
    """The statement that waits for the block; None where its threads run one after the other."""
    fence: ClassVar[str]
    """The statement after which others see what was written before it."""
    shuffle: ClassVar[str | None]
    """Prefix of the names of warp shuffles, or None where there are none."""
    wide_registers: ClassVar[bool] = False
    """Whether registers are 32 bits wide at least, so that wrapping to fewer is an instruction."""
    pairs: ClassVar[bool] = False
    """Whether vectors of two 16-bit integers are computed in one register."""
    computes_vectors: ClassVar[bool] = False
    """Whether + - * take vectors, lane by lane."""
    converts_vectors: ClassVar[bool] = False
    """Whether loops marked `kernel.convert` are printed as helpers on whole vectors."""
    kernels_overlap: ClassVar[bool] = False
    """Whether a kernel may start before the one before it has ended (`nvvm.griddepcontrol`)."""
    library: ClassVar[dict[str, Helper]]

    @abstractmethod
    def head(self, includes: set[str]) -> list[str]:
        """Return the first lines of a file."""

    @abstractmethod
    def kernel_qualifier(self, function: func.FuncOp) -> str:
        """Return the qualifiers in front of the name of a kernel, `void` included."""

    @abstractmethod
    def check(self, function: func.FuncOp, functions: dict[str, func.FuncOp]) -> None:
        """Raise PipelineError if this kernel cannot be printed in this language with the meaning of its IR."""

    @abstractmethod
    def hardware_index(self, level: str) -> str | None:
        """Return the built-in variable that replaces a loop of this `kernel.level`; None to print a loop."""

    @abstractmethod
    def loop_pragmas(self, loop: scf.ForOp, counts: Sequence[CExpr], factors: Sequence[CExpr]) -> list[str]:
        """Return the pragmas in front of a loop.

        `counts`: rounds of the loops of `shared_out`; `factors`: of the work of `kernel.parallel_threshold`.
        """

    def shared_out(self, loop: scf.ForOp) -> list[scf.ForOp]:
        """Return the perfectly nested loops whose iterations threads share, as a pragma says."""
        return []

    @abstractmethod
    def math(self, function: str) -> str:
        """Return the name of the C library's function."""

    @abstractmethod
    def rsqrt(self, prelude: Prelude, a: CExpr, ctype: str) -> CExpr:
        """Return 1 / sqrt(a)."""

    def print_line(self, prelude: Prelude, arguments: Sequence[str], longest: int) -> str:
        """Return a statement that prints a line of at most `longest` bytes: a format and its numbers."""
        prelude.includes.add("stdio.h")
        return f"printf({', '.join(arguments)});"

    def opaque(self, prelude: Prelude, argument: str, version: int) -> str:
        """Return an argument for a call that shares no code with other calls of the function (`kernel.no_cse`)."""
        return argument

    def hide(self, prelude: Prelude, pointer: str) -> str:
        """Return a statement that hides a pointer's array from the compiler; empty if the compiler may know it."""
        return ""

    @abstractmethod
    def dynamic_shared(self, name: str, type_: MemRefType, op: Operation) -> str:
        """Declare an array marked `kernel.dynamic_shared`, whose size the launch sets."""

    @abstractmethod
    def vector(self, type_: VectorType, op: Operation) -> Vector:
        """Return the spelling of a vector type."""
