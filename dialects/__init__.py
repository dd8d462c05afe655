"""The IR: the img dialect (algorithm and schedule)."""

if __name__ != "tilefuse.dialects":
    raise ImportError("import this package as tilefuse.dialects")
