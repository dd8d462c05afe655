"""New outputs that were dropped since are given out again: to make an array takes longer than to launch a kernel."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

_PER_THREAD = 2
"""The handle of each thread's own default stream: one for different streams."""

_MOST_BYTES = 16 << 20
"""Of larger outputs a GPU writes longer than their arrays take to make."""


def references(arrays: Sequence[Any]) -> list[int] | None:
    """How many refer to each array, to its memory, and weakly to the array; None where that is not counted.

    `arrays` are of CuPy: views of an array, and what other libraries make of it, refer to the array or to its memory.
    """
    if not hasattr(sys, "getrefcount") or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    found: list[int] = []
    for array in arrays:
        data = array.data
        found += (
            sys.getrefcount(array), sys.getrefcount(data), sys.getrefcount(data.mem), weakref.getweakrefcount(array)
        )  # fmt: skip
    return found


class _Kept(NamedTuple):
    """Outputs of a call, and how many refer to them if their user does not."""

    call: object
    stream: int | None
    arrays: list[Any]
    pointers: list[int]
    shapes: list[tuple[int, ...]]
    references: list[int]

    def is_free(self) -> bool:
        """Whether nobody else holds an array or its memory, or has given it another shape."""
        return references(self.arrays) == self.references and [a.shape for a in self.arrays] == self.shapes


class KeptOutputs:
    """The outputs of the latest two calls that made any, of up to 16 MiB each: in a loop one is held by its user.

    They are given to a like call on the same stream, whose kernels run after all that used them there: as if they had
    gone back to CuPy's pool, which orders reuse by stream, too.
    """

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self._lock = threading.Lock()

    def take(self, call: object, stream: int | None) -> tuple[list[Any], list[int]] | None:
        """Arrays of such a call that are free again, and their addresses."""
        # not to be waited for: the collector may run a finalizer anywhere, and that such a call
        if not self._lock.acquire(blocking=False):
            return None
        try:
            for i in range(len(self._kept) - 1, -1, -1):  # the latest first: its addresses are those of the last launch
                kept = self._kept[i]
                if kept.call is call and kept.stream == stream and kept.is_free():
                    self._kept.append(self._kept.pop(i))
                    return list(kept.arrays), kept.pointers  # of which each is held from here on
        finally:
            self._lock.release()
        return None

    def keep(self, call: object, stream: int | None, arrays: list[Any], pointers: list[int]) -> None:
        """Keep new arrays, which nothing but `arrays` holds yet, for calls after their user has let go of that, too."""
        if stream == _PER_THREAD or sum(a.nbytes for a in arrays) > _MOST_BYTES:
            return
        found = references(arrays)
        if found is None or not self._lock.acquire(blocking=False):
            return
        try:
            kept = _Kept(call, stream, list(arrays), pointers, [a.shape for a in arrays], found)
            dropped, self._kept = self._kept[:-1], [*self._kept[-1:], kept]
        finally:
            self._lock.release()
        del dropped  # which may run finalizers
