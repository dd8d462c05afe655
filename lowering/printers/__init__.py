"""Printers of the kernel level: CUDA C++ and C with OpenMP. They write down what the IR says and decide nothing."""

from tilefuse.lowering.printers.c import CTarget, print_c
from tilefuse.lowering.printers.cuda import CudaTarget, print_cuda

__all__ = ["CTarget", "CudaTarget", "print_c", "print_cuda"]
