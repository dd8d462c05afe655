"""Formats of printed lines: text with `%lld`, `%llu` and `%f`, and `%%` for a percent sign.

They are ASCII, for xDSL reads no others as text: other letters, and backslashes, are Python's escapes.
"""

from __future__ import annotations

import re

_PIECE = re.compile(r"%(lld|llu|f|%|)")


def kinds_of(format: str) -> list[str] | None:
    """Return the conversions of a format, `%lld`, `%llu` and `%f`, in order; None if it has another `%`."""
    found = [m.group() for m in _PIECE.finditer(format)]
    return None if "%" in found else [f for f in found if f != "%%"]


def escaped(text: str) -> str:
    """Escape `text` for use in a format."""
    return text.encode("unicode_escape").decode("ascii").replace("%", "%%")


def unescaped(format: str) -> str:
    """Unescape letters and backslashes of a format."""
    return format.encode("ascii", "replace").decode("unicode_escape")
