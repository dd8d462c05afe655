"""Names that users give, in IR: which ones there can be, and which of them SSA values show."""

from __future__ import annotations

import re

_VALUE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_$.]{0,63}")
_COUNTED = re.compile(r"(_[0-9]+)+$")
"""Endings that xDSL's printer gives values of one name; it takes away the last of them alone."""


def fault_of(name: str) -> str | None:
    """Why nothing can be called `name`, as a sentence; None if it can."""
    if not name:
        return "a name is empty; give it a letter at least"
    if any("\ud800" <= c <= "\udfff" for c in name):
        return f"the name {name!a} has half a surrogate pair, which no text can hold; rename it"
    return None


def value_name(name: str | None) -> str | None:
    """`name` as the hint of an SSA value, or None: xDSL takes letters of any script, and its parser only ASCII."""
    return _COUNTED.sub("", name) if name and _VALUE_NAME.fullmatch(name) else None


def printable(text: str) -> str:
    """`text` for a line that a person reads: control characters, marks of direction and half surrogates as escapes."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
