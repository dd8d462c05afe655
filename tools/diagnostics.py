"""Error display of the tools: a located message, the source line with a caret, then notes."""

from __future__ import annotations

import linecache
from collections.abc import Mapping

from xdsl.utils.exceptions import DiagnosticException, ParseError

from tilefuse.dialects.diagnostics import PipelineError, SourcePosition, located, position_of
from tilefuse.dialects.parsing import LocatedParser, parse_error, parse_module


class InternalError(PipelineError):
    """A pass or target failed without an explanation of its own: a defect, not the user's mistake."""


def diagnosed(error: Exception, doing: str) -> PipelineError:
    """Convert `error` to a located error; an unexpected one becomes an InternalError with `doing` in its text."""
    match error:
        case PipelineError():
            return error
        case ParseError():
            return parse_error(error)
        case DiagnosticException():
            return PipelineError(" ".join(str(error).split()))
        case _:
            text = " ".join(f"{type(error).__name__}: {error}".split())
            internal = InternalError(f"internal error in {doing}: {text}")
            internal.add_note("this is a defect; --traceback shows where it happened")
            return internal


def render(error: PipelineError, sources: Mapping[str, str], fallback_file: str) -> str:
    """Format as `file:line:col: error: ...`, source line, caret, and `note: ...` lines.

    `sources` maps file names to text already in memory; other files are read if they exist. An error without
    a place names `fallback_file`.
    """
    position = error.position
    notes = [f"note: {note}" for note in getattr(error, "__notes__", ())]
    if position is None:
        return "\n".join([f"{fallback_file}: error: {error.message}", *notes])
    return "\n".join([f"{position}: error: {error.message}", *_excerpt(position, sources), *notes])


def _excerpt(position: SourcePosition, sources: Mapping[str, str]) -> list[str]:
    if position.file in sources:
        lines = sources[position.file].split("\n")
        line = lines[position.line - 1] if 0 < position.line <= len(lines) else ""
    else:
        line = linecache.getline(position.file, position.line).rstrip("\n")
    if not line.strip():
        return []
    # Tabs before the caret stay tabs, so that it lands under its character.
    before = "".join("\t" if c == "\t" else " " for c in line[: position.column - 1])
    return [line, before + "^"]


__all__ = [
    "InternalError",
    "LocatedParser",
    "PipelineError",
    "SourcePosition",
    "diagnosed",
    "located",
    "parse_module",
    "position_of",
    "render",
]
