"""The dialects of the IR: `img` for algorithms and schedules, `warp` for tiles, and additions to xDSL's own."""

if __name__ != "tilefuse.dialects":
    raise ImportError("import this package as tilefuse.dialects")

from tilefuse.dialects.lazy_formats import read_formats_lazily

read_formats_lazily()  # before any dialect of xDSL's is imported
