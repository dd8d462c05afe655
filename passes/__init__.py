"""Rewrites from algorithm to schedule, one pass per file."""

if __name__ != "tilefuse.passes":
    raise ImportError("import this package as tilefuse.passes")
