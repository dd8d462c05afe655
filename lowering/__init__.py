"""From scheduled groups to kernel-level IR, and from that to CUDA and C text."""

if __name__ != "tilefuse.lowering":
    raise ImportError("import this package as tilefuse.lowering")
