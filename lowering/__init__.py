"""Building blocks of kernels: index arithmetic, reads, the calling convention, and the printers of CUDA and C text."""

if __name__ != "tilefuse.lowering":
    raise ImportError("import this package as tilefuse.lowering")
