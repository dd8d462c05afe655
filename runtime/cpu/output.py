"""Output of kernels that print on the CPU, to Python's current `sys.stdout`."""

from __future__ import annotations

import ctypes
import sys

SETTER = "tilefuse_set_write"
"""The C function of a library that prints, which is given where to."""


def _write(line: bytes) -> None:
    if sys.stdout is not None:
        sys.stdout.write(line.decode("utf-8", "replace"))


_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(_write)
"""C function that writes lines, kept as long as there are libraries."""


def direct_prints(library: ctypes.CDLL) -> None:
    """Redirect the lines that a library prints to `sys.stdout`."""
    if hasattr(library, SETTER):
        getattr(library, SETTER)(_WRITE)
