"""Compiling a module and the layouts of a call to kernels."""
