"""Halide's vocabulary in Python; builds the img dialect."""

if __name__ != "tilefuse.frontend":
    raise ImportError("import this package as tilefuse.frontend")
