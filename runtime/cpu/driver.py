"""Driver of a C library: one function that fills in the arguments of kernels and calls the kernels in order.

From Python each kernel would cost some 10 us: its arguments are filled in and converted by code that large pictures
have driven from the caches, while OpenMP's threads fall asleep.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

DRIVER = "tilefuse_run"
"""The driver's name in C."""

DRIVER_TEXT = f"""
// Called by the runtime: the kernels of a call, in order, with addresses and scalars filled into copies of their words.
typedef struct {{ void (*kernel)(const unsigned long long*); long long words, fills; }} tilefuse_launch;
typedef struct {{ long long word, value, offset; }} tilefuse_fill;
typedef struct {{
  const tilefuse_launch* launches;
  const unsigned long long* words;
  const tilefuse_fill* fills;
  long long count;
}} tilefuse_call;
void {DRIVER}(const tilefuse_call* call, const unsigned long long* values) {{
  const unsigned long long* words = call->words;
  const tilefuse_fill* fill = call->fills;
  for (const tilefuse_launch* launch = call->launches; launch < call->launches + call->count; ++launch) {{
    unsigned long long arguments[launch->words + 1];
    __builtin_memcpy(arguments, words, launch->words * sizeof *words);
    words += launch->words;
    for (const tilefuse_fill* end = fill + launch->fills; fill < end; ++fill)
      arguments[fill->word] = values[fill->value] + fill->offset;
    launch->kernel(arguments);
  }}
}}
"""


class Fill(NamedTuple):
    """An argument that a call fills in: word `word` is value `value` of the call plus `offset`."""

    word: int
    value: int
    offset: int = 0


class KernelOfCall(NamedTuple):
    """A kernel's entry point, the words of its arguments, and the words among them that a call fills in."""

    entry_point: str
    words: Sequence[int]
    fills: Sequence[Fill]


class _Launch(ctypes.Structure):
    _fields_ = (("kernel", ctypes.c_void_p), ("words", ctypes.c_longlong), ("fills", ctypes.c_longlong))


class _DriverCall(ctypes.Structure):
    _fields_ = (*((name, ctypes.c_void_p) for name in ("launches", "words", "fills")), ("count", ctypes.c_longlong))


class Driver:
    """Runs kernels of a library one after the other. Threads may share a driver: nothing of it changes in a call."""

    def __init__(self, library: ctypes.CDLL, kernels: Sequence[KernelOfCall], values: int):
        """Take the kernels in order; `values`: the number of values that a call gives."""
        self._values = ctypes.c_uint64 * values
        words = tuple(chain.from_iterable(k.words for k in kernels))
        fills = tuple(chain.from_iterable(chain.from_iterable(k.fills for k in kernels)))
        launches = [
            _Launch(ctypes.cast(getattr(library, k.entry_point), ctypes.c_void_p), len(k.words), len(k.fills))
            for k in kernels
        ]
        tables = self._tables = (
            (_Launch * len(launches))(*launches),
            (ctypes.c_uint64 * len(words))(*words),
            (ctypes.c_longlong * len(fills))(*fills),
        )
        self._call = _DriverCall(*[ctypes.addressof(table) for table in tables], len(launches))
        self._address = ctypes.addressof(self._call)
        self._run = library[DRIVER]
        self._run.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        self._run.restype = None

    def __call__(self, values: Sequence[int]) -> None:
        """Run the kernels; `values`: addresses and scalars, as words. Return when all is written."""
        self._run(self._address, self._values(*values))
