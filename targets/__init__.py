"""GPUs and CPUs as rows of data, and the occupancy rules."""

if __name__ != "tilefuse.targets":
    raise ImportError("import this package as tilefuse.targets")
