"""Rewrites of the IR from algorithm to kernel, one pass per file."""

if __name__ != "tilefuse.passes":
    raise ImportError("import this package as tilefuse.passes")
