"""Compiling, caching and launching kernels; arrays in and out; the NumPy evaluator."""

if __name__ != "tilefuse.runtime":
    raise ImportError("import this package as tilefuse.runtime")
