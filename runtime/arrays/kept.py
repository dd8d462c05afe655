"""Reuse of output arrays that the user has dropped: allocation takes longer than a kernel launch."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

_PER_THREAD = 2
"""The handle of each thread's own default stream: one for different streams."""

_MOST_BYTES = 16 << 20
"""Most bytes of a kept output: writing a larger one takes a GPU longer than the allocation of its array."""


def counts_references() -> bool:
    """Whether Python counts references to objects under one lock."""
    return hasattr(sys, "getrefcount") and getattr(sys, "_is_gil_enabled", lambda: True)()


def references(arrays: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the reference counts of each array, of its memory and of weak references, and its (mutable) shape.

    `arrays` are of CuPy: views of an array, and what other libraries make of it, refer to the array or to its memory.
    """
    count, found = sys.getrefcount, []
    for array in arrays:
        data = array.data
        found.append((count(array), count(data), count(data.mem), weakref.getweakrefcount(array), array.shape))
    return found


class _KeptOutputs(NamedTuple):
    """Outputs of a call, and their reference counts when the user holds none of them."""

    call: object
    stream: int | None
    arrays: list[Any]
    pointers: list[int]
    references: list[tuple[Any, ...]]

    def is_free(self) -> bool:
        """Whether nothing else refers to an array or its memory, and the shapes are unchanged."""
        return references(self.arrays) == self.references


class OutputPool:
    """Outputs of the latest two calls that made any, up to 16 MiB each: a loop's user holds the outputs of one.

    They are given to a like call on the same stream, whose kernels run after all that used them there: as if they had
    gone back to CuPy's pool, which orders reuse by stream, too.
    """

    def __init__(self) -> None:
        self._kept: list[_KeptOutputs] = []
        self._lock = threading.Lock()

    def take(self, call: object, stream: int | None) -> tuple[list[Any], list[int]] | None:
        """Return the free arrays of such a call, and their addresses."""
        # not to be waited for: the collector may run a finalizer anywhere, and that such a call
        if not self._lock.acquire(blocking=False):
            return None
        try:
            for kept in reversed(self._kept):  # the latest first: its addresses are those of the last launch
                if kept.call is call and kept.stream == stream and kept.is_free():
                    if kept is not self._kept[-1]:
                        self._kept.reverse()  # there are two
                    return list(kept.arrays), kept.pointers  # of which each is referred to from here on
        finally:
            self._lock.release()
        return None

    def keep(self, call: object, stream: int | None, arrays: list[Any], pointers: list[int]) -> None:
        """Keep new arrays, so far referenced only by the list `arrays`, for reuse after the user drops them."""
        if stream == _PER_THREAD or not counts_references() or sum(a.nbytes for a in arrays) > _MOST_BYTES:
            return
        found = references(arrays)
        if not self._lock.acquire(blocking=False):
            return
        try:
            kept = _KeptOutputs(call, stream, list(arrays), pointers, found)
            dropped, self._kept = self._kept[:-1], [*self._kept[-1:], kept]
        finally:
            self._lock.release()
        del dropped  # which may run finalizers
