"""`-t cuda` and `-t c`: print the kernels of a module, with the compile options as first line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.strict import has_strict
from tilefuse.lowering.printers import print_c, print_cuda
from tilefuse.lowering.printers.comments import comment_lines
from tilefuse.passes.pipeline import lowering_passes


@dataclass(frozen=True)
class CudaTarget(Target):
    """`-t 'cuda{arch=sm_90 strict_float=true index_bits=64}'`: print the kernel level as CUDA C++.

    The first line of the output says the options to compile it with.
    """

    name = "cuda"
    arch: str = "sm_90"
    strict_float: bool = False
    index_bits: int = 32

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the source to `output`."""
        _check_kernels(module)
        text = print_cuda(module, index_bits=self.index_bits)
        strict = " --fmad=false" if self.strict_float else ""
        head = comment_lines(f"compile with: nvrtc --std=c++17 --gpu-architecture={self.arch}{strict}")
        output.write("\n".join([*head, text]))


@dataclass(frozen=True)
class CTarget(Target):
    """`-t 'c{strict_float=true index_bits=64}'`: print the kernel level as C with OpenMP.

    The first line of the output says the options to compile it with.
    """

    name = "c"
    strict_float: bool = False
    index_bits: int = 32

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the source to `output`."""
        _check_kernels(module)
        contract = "off" if self.strict_float or has_strict(module) else "fast"
        text = print_c(module, index_bits=self.index_bits)
        output.write(f"// compile with: cc -O3 -march=native -fopenmp -fno-math-errno -ffp-contract={contract}\n{text}")


def _check_kernels(module: ModuleOp) -> None:
    """Raise PipelineError if a module has no function: it would print no kernel."""
    if not any(isinstance(op, func.FuncOp) for op in module.body.block.ops):
        names = ",".join(p.name for p in lowering_passes(warps=True))
        raise PipelineError(
            f"no kernels to print; run inline-stages,group-stages,tile,promote-memory,{names} first",
            next((op for op in module.body.block.ops), None),
        )
