"""Parts that kernels are built with: index arithmetic, reads, the ABI, and the printers of CUDA and C text."""

if __name__ != "tilefuse.lowering":
    raise ImportError("import this package as tilefuse.lowering")
