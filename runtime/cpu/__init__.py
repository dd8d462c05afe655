"""C text to functions: the compiler of this machine, or of a wheel."""
