"""Errors of the language, at the line of the user's program that they are about."""

from __future__ import annotations

from typing import NoReturn

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tilefuse.dialects.diagnostics import PipelineError, SourcePosition, user_position
from tilefuse.dialects.naming import printable


def location(position: SourcePosition) -> FileLineColLoc:
    """`position` as the location of an operation."""
    return FileLineColLoc(StringAttr(printable(position.file)), IntAttr(position.line), IntAttr(position.column))


def fail(message: str, position: SourcePosition | None = None) -> NoReturn:
    """Raise PipelineError at `position`, or at the user's line that is being executed."""
    raise PipelineError(message, position=position or user_position())
