"""Helper functions of printed text; a source file contains only the helpers that it uses."""

from __future__ import annotations

from typing import NamedTuple


class Helper(NamedTuple):
    """A helper: the text of a function without qualifiers, and the names of the helpers that it calls."""

    text: str
    needs: tuple[str, ...] = ()
    alias: str = ""
    """A built-in function to call in its place; then there is no text."""
    rare: bool = False
    """Called so seldom that its text should stand once, out of the way."""


def alias(function: str) -> Helper:
    """Return a helper that stands for a built-in function of the language."""
    return Helper("", (), function)
