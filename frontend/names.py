"""Names in a pipeline: inputs and Params keep the user's names, Funcs get unique ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilefuse.dialects.naming import fault_of
from tilefuse.frontend.errors import fail
from tilefuse.frontend.function import Function
from tilefuse.frontend.inputs import Image, Param
from tilefuse.frontend.sources import Source


class PipelineNames:
    """The names of everything in one pipeline."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._taken: dict[str, Source | Param] = {}
        self._given: set[str] = set()

    def __getitem__(self, thing: Source | Param) -> str:
        return self._names[id(thing)]

    def take(self, thing: Source | Param) -> None:
        """Give `thing` its own name; PipelineError if it is taken, as callers must tell inputs apart."""
        name = _checked(thing)
        if name in self._taken:
            fail(
                f"two inputs, Params or outputs of a pipeline are called '{name}'; rename one of them",
                thing.position,
            )
        self._names[id(thing)], self._taken[name] = name, thing

    def spell(self, thing: Source | Param) -> None:
        """Give `thing` its name, with a number appended if the name is taken."""
        if id(thing) in self._names:
            return
        name, n = _checked(thing), 0
        while name in self._taken:
            n += 1
            name = f"{thing.name()}_{n}"
        self._names[id(thing)], self._taken[name] = name, thing

    def fresh(self, name: str) -> str:
        """Return an unused name: `name`, or `name` with a number appended."""
        found, n = name, 0
        while found in self._given or found in self._taken:
            n += 1
            found = f"{name}{n}"
        self._given.add(found)
        return found


def _checked(thing: Source | Param) -> str:
    """Return the name of `thing`; PipelineError if it cannot be written in IR."""
    name = thing.name()
    if fault := fault_of(name):
        fail(fault, thing.position)
    return name


def spell_names(
    images: Sequence[Image[Any]], params: Sequence[Param], outputs: Sequence[Source], funcs: Sequence[Function]
) -> PipelineNames:
    """Assign names to everything in a pipeline."""
    names = PipelineNames()
    for image in images:
        names.take(image)
    for param in params:
        names.take(param)
    for output in outputs:
        if output not in images:
            names.take(output)
    for func in funcs:
        if func.continuation is None:
            names.spell(func)
    return names
