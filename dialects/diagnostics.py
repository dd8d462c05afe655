"""Located errors: `file:line:col: error: message`, from the location of an operation."""

from __future__ import annotations

import sys
from typing import NamedTuple

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import PassFailedException

from tilefuse.dialects.naming import printable


class SourcePosition(NamedTuple):
    """A place in a text; `line` and `column` count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{printable(self.file)}:{self.line}:{self.column}".replace("\n", "\\n")  # one line, whatever it is


_OURS = ("tilefuse.frontend", "tilefuse.runtime", "contextlib")
"""Frames between a user's line and what is said of it: the language, the runtime, and their decorators."""


def user_position() -> SourcePosition:
    """Return the user's current line, outside the language and the runtime."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_OURS):
        frame = frame.f_back
    return SourcePosition(frame.f_code.co_filename, frame.f_lineno, 1)


def file_position(location: Attribute) -> SourcePosition | None:
    """Return the first file position inside an MLIR location attribute; None for `loc(unknown)`."""
    match location:
        case FileLineColLoc():
            return SourcePosition(location.filename.data, location.line.data, location.column.data)
        case NameLoc():
            return file_position(location.location)
        case CallSiteLoc():
            return file_position(location.callee) or file_position(location.caller)
        case FusedLoc():
            found = (file_position(inner) for inner in location.locations)  # type: ignore[attr-defined]
            return next((position for position in found if position), None)
        case _:
            return None


def position_of(op: Operation | None) -> SourcePosition | None:
    """Return the source position of `op`; ops made by passes without one take the enclosing op's."""
    while op is not None:
        if position := file_position(op.location):
            return position
        op = op.parent_op()
    return None


def located(op: Operation | None, message: str) -> str:
    """Format `file:line:col: error: message` if the place of `op` is known, else `error: message`."""
    return _format(position_of(op), message)


def _format(position: SourcePosition | None, message: str) -> str:
    return printable(f"{position}: error: {message}" if position else f"error: {message}")


class TilefuseError(Exception):
    """Error in how something is written, called or set up; in Halide's vocabulary HalideError."""


class PipelineError(TilefuseError, PassFailedException):
    """A user's mistake, explained in one sentence, at the responsible operation.

    Raise it from a pass, an analysis or a lowering. `str(error)` is `file:line:col: error: message` when the
    place of the operation is known, else `error: message`.
    """

    def __init__(self, message: str, op: Operation | None = None, *, position: SourcePosition | None = None):
        super().__init__(message)
        self.message = message
        self.op = op
        # Taken now: the rewrite under way may detach or erase the op before anyone reads the message.
        self.position = position or position_of(op)

    def __str__(self) -> str:
        return _format(self.position, self.message)
