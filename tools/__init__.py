"""Command-line tools."""

if __name__ != "tilefuse.tools":
    raise ImportError("import this package as tilefuse.tools")
