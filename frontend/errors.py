"""Errors of the language, at the line of the user's program that they are about."""

from __future__ import annotations

from typing import NoReturn

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tilefuse.dialects.diagnostics import PipelineError, SourcePosition, user_position
from tilefuse.dialects.naming import printable


def location(position: SourcePosition) -> FileLineColLoc:
    """`position` as the location of an operation."""
    return FileLineColLoc(StringAttr(printable(position.file)), IntAttr(position.line), IntAttr(position.column))


class PointError(PipelineError, IndexError):
    """A PipelineError about a point outside of a function or array."""


class NoSuchError(PipelineError, KeyError):
    """A PipelineError about a number or name that nothing has."""


class KindError(PipelineError, TypeError):
    """A PipelineError about the kind of an object: its class or type."""


class ValueKindError(PipelineError, ValueError):
    """A PipelineError about a value of the right kind that does not fit."""


def fail(message: str, position: SourcePosition | None = None, kind: type[PipelineError] = PipelineError) -> NoReturn:
    """Raise PipelineError, or one of its kinds, at `position`, or at the user's line that is being executed."""
    # what is shown of an array has several lines
    message = " ".join(line.strip() for line in message.splitlines())
    raise kind(message, position=position or user_position())


def in_halide(words: str) -> str:
    """The end of a message that quotes Halide's, which people search for and scripts look at."""
    return f" (in Halide: Error: {words})"
