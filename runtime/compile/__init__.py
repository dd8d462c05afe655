"""Compilation of a module to kernels, for given array layouts."""
