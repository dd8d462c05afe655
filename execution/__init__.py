"""Execution models, a folder each: the mapping of a group's kernel to blocks, warps and threads."""

if __name__ != "tilefuse.execution":
    raise ImportError("import this package as tilefuse.execution")
