"""NumPy views of CPU memory at an address."""

from __future__ import annotations

import numpy as np

from tilefuse.runtime.arrays.layouts import Picture


class _Strided:
    """Memory at an address as NumPy sees it through `__array_interface__`."""

    def __init__(self, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int):
        self.__array_interface__ = {
            "data": (pointer, False),
            "shape": shape,
            "strides": strides,
            "typestr": f"|V{itemsize}" if itemsize not in (1, 2, 4, 8) else f"<u{itemsize}",
            "version": 3,
        }


def numpy_at(pointer: int, p: Picture, itemsize: int) -> np.ndarray:
    """Return a NumPy view of CPU memory, dimensions x first, elements as unsigned integers."""
    return np.asarray(_Strided(pointer, p.extents, tuple(s * itemsize for s in p.strides), itemsize))
