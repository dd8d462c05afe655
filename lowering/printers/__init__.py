"""Printers of the kernel level as CUDA C++ and as C with OpenMP. They decide nothing."""

from tilefuse.lowering.printers.c import print_c
from tilefuse.lowering.printers.cuda import print_cuda

__all__ = ["print_c", "print_cuda"]
