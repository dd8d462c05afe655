"""User-given names in IR: which are allowed, and which become hints of SSA values."""

from __future__ import annotations

import re

_VALUE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_$.]{0,63}")
_COUNTED = re.compile(r"(_[0-9]+)+$")
"""Endings that xDSL's printer gives values of one name; it takes away the last of them alone."""


def fault_of(name: str) -> str | None:
    """Explain in a sentence why nothing can be called `name`; None if it is allowed."""
    if not name:
        return "a name is empty; give it a letter at least"
    if any("\ud800" <= c <= "\udfff" for c in name):
        return f"the name {name!a} has half a surrogate pair, which no text can hold; rename it"
    return None


def value_name(name: str | None) -> str | None:
    """Return `name` as the hint of an SSA value, or None: xDSL's parser takes only ASCII letters."""
    return _COUNTED.sub("", name) if name and _VALUE_NAME.fullmatch(name) else None


def printable(text: str) -> str:
    """Escape control characters, marks of direction and half surrogates in `text` for display."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
