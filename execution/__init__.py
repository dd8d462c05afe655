"""Execution models: how the kernel of a group is laid out on blocks, warps and threads; a folder each."""

if __name__ != "tilefuse.execution":
    raise ImportError("import this package as tilefuse.execution")
