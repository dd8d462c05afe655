"""Errors of the language, located at the responsible line of the user's program."""

from __future__ import annotations

from typing import NoReturn

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tilefuse.dialects.diagnostics import PipelineError, SourcePosition, user_position
from tilefuse.dialects.naming import printable


def location(position: SourcePosition) -> FileLineColLoc:
    """Convert `position` to the location of an operation."""
    return FileLineColLoc(StringAttr(printable(position.file)), IntAttr(position.line), IntAttr(position.column))


class PointError(PipelineError, IndexError):
    """A PipelineError about a point outside a function or array."""


class NoSuchError(PipelineError, KeyError):
    """A PipelineError about a number or name that does not exist."""


class KindError(PipelineError, TypeError):
    """A PipelineError about an object of the wrong class or type."""


class ValueKindError(PipelineError, ValueError):
    """A PipelineError about an invalid value of the right type."""


def fail(message: str, position: SourcePosition | None = None, kind: type[PipelineError] = PipelineError) -> NoReturn:
    """Raise PipelineError, or one of its kinds, at `position`, by default the user's current line."""
    # what is shown of an array has several lines
    message = " ".join(line.strip() for line in message.splitlines())
    raise kind(message, position=position or user_position())


def in_halide(words: str) -> str:
    """Return the end of a message that quotes Halide's, which people search for and scripts parse."""
    return f" (in Halide: Error: {words})"
