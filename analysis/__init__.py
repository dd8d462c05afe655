"""Facts about pipelines (bounds, footprints, costs) on a light model; never rewrites IR."""

if __name__ != "tilefuse.analysis":
    raise ImportError("import this package as tilefuse.analysis")
