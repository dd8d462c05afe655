"""Printers of the kernel level as CUDA C++ and as C with OpenMP. They decide nothing."""

from tilefuse.lowering.printers.c import CTarget, print_c
from tilefuse.lowering.printers.cuda import CudaTarget, print_cuda

__all__ = ["CTarget", "CudaTarget", "print_c", "print_cuda"]
