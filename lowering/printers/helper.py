"""Small helper functions that printed text calls; a module prints the ones that it uses, and no others."""

from __future__ import annotations

from typing import NamedTuple


class Helper(NamedTuple):
    """The text of a function without its qualifiers, and the names of the helpers that it calls itself."""

    text: str
    needs: tuple[str, ...] = ()
    alias: str = ""
    """A built-in function to call in its place; then there is no text."""
    rare: bool = False
    """Called so seldom that its text should stand once, out of the way."""


def alias(function: str) -> Helper:
    """A helper that the language has already."""
    return Helper("", (), function)
