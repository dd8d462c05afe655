"""Compilation, caching and launch of kernels; arrays in and out."""

if __name__ != "tilefuse.runtime":
    raise ImportError("import this package as tilefuse.runtime")
