"""Splitting of a C source for parallel compilation: each part has some kernels, and static helpers; one the driver."""

from __future__ import annotations

from collections.abc import Sequence

from tilefuse.runtime.cpu.driver import DRIVER
from tilefuse.runtime.cpu.entry_points import entry_of
from tilefuse.runtime.cpu.output import SETTER
from tilefuse.targets.cpus import host_cpu

PART = 8000
"""Characters of a part, at least: a compiler takes as long to begin, and to read what others compile, as for fewer."""
MOST_PARTS = 16


def side_by_side_parts(source: str, kernels: Sequence[str]) -> list[str]:
    """Split a source by its functions `kernels` into sources that are compiled separately and linked.

    In each the kernels of others, and their entry points, are `static`, so that compilers drop them once they are read.
    The whole source alone if it is short, if there is one core, or if it has a function that prints.
    """
    count = min(host_cpu().cores, len(kernels), len(source) // PART, MOST_PARTS)
    if count < 2 or SETTER in source:
        return [source]
    parts: list[list[str]] = [[] for _ in range(count)]
    lengths = [0] * count
    for length, name in sorted(_lengths(source, kernels), reverse=True):
        shortest = lengths.index(min(lengths))
        parts[shortest].append(name)
        lengths[shortest] += length
    texts = [_with_static(source, [name for name in kernels if name not in part]) for part in parts if part]
    return [texts[0], *(text.replace(_definition(DRIVER), _static(DRIVER)) for text in texts[1:])]


def _lengths(source: str, kernels: Sequence[str]) -> list[tuple[int, str]]:
    """Return the length of each kernel in characters, with the functions before it that it calls."""
    found, begin = [], 0
    for start, name in sorted((source.index(_definition(name)), name) for name in kernels):
        end = source.index("\n}\n", start)
        found.append((end - begin, name))
        begin = end
    return found


def _with_static(source: str, kernels: Sequence[str]) -> str:
    for name in kernels:
        for function in (name, entry_of(name)):
            source = source.replace(_definition(function), _static(function))
    return source


def _static(function: str) -> str:
    return f"\nstatic {_definition(function)[1:]}"


def _definition(function: str) -> str:
    return f"\nvoid {function}("
