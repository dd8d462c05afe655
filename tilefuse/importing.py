"""Imports of many classes: without the cycle collector, and with each text of a dataclass's method compiled once.

A dataclass compiles the text of every method that it makes. Of the 1,700 that the compiler's imports make, most of them
for xDSL, a third have a text that another one had before: a tenth of the time of these imports.
"""

import builtins
import dataclasses
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType
from typing import Any

from tilefuse.collector import collector_off

_lock = threading.Lock()
_inside = 0
"""Blocks of `quick_imports` that threads are in."""


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, "<string>", "exec", dont_inherit=True)


def _exec(text: str, *namespaces: dict[str, Any]) -> None:
    """Execute a text as `exec` does."""
    builtins.exec(_compiled(text), *namespaces)


@contextmanager
def quick_imports() -> Iterator[None]:
    """Inside, modules are imported quickly. Blocks may nest, and run in several threads."""
    global _inside
    with _lock:
        _inside += 1
        dataclasses.exec = _exec  # type: ignore[attr-defined]
    try:
        with collector_off():
            yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                del dataclasses.exec  # type: ignore[attr-defined]
