"""Errors of the language, at the line of the user's program that they are about."""

from __future__ import annotations

import sys
from typing import NoReturn

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tilefuse.dialects.diagnostics import PipelineError, SourcePosition

_OURS = ("tilefuse.frontend", "contextlib")
"""Frames between a user's line and an error: the language, and its decorators."""


def user_position() -> SourcePosition:
    """The line, outside of this package, that is being executed."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_OURS):
        frame = frame.f_back
    return SourcePosition(frame.f_code.co_filename, frame.f_lineno, 1)


def location(position: SourcePosition) -> FileLineColLoc:
    """`position` as the location of an operation."""
    return FileLineColLoc(StringAttr(position.file), IntAttr(position.line), IntAttr(position.column))


def fail(message: str, position: SourcePosition | None = None) -> NoReturn:
    """Raise PipelineError at `position`, or at the user's line that is being executed."""
    raise PipelineError(message, position=position or user_position())
