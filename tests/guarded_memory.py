"""Arrays between pages that cannot be touched: who reads or writes beyond one, at either side, dies of it."""

import ctypes
import mmap

import numpy as np


def guarded(shape, dtype, *, at_end):
    """Return an array of zeros that ends, or begins, where a page that cannot be touched begins, or ends."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    pages = -(-size // mmap.PAGESIZE) + 2
    memory = np.frombuffer(mmap.mmap(-1, pages * mmap.PAGESIZE), np.uint8)
    for page in (0, pages - 1):
        address = ctypes.c_void_p(memory.ctypes.data + page * mmap.PAGESIZE)
        if ctypes.CDLL(None).mprotect(address, mmap.PAGESIZE, 0):
            raise OSError("mprotect")
    start = (pages - 1) * mmap.PAGESIZE - size if at_end else mmap.PAGESIZE
    return memory[start : start + size].view(dtype).reshape(shape)
