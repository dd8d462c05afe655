"""Rows of the target tables: key checks, and messages for unknown names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from difflib import get_close_matches


def check_keys(file: str, where: str, row: Mapping[str, object], needed: Set[str], optional: Set[str]) -> None:
    """Check the keys of a row. Raises ValueError, which names file and row, for a missing or unknown key."""
    if missing := needed - row.keys():
        raise ValueError(f"{file}: {where} needs {', '.join(sorted(missing))}")
    if unknown := row.keys() - needed - optional:
        known = ", ".join(sorted(needed | optional))
        raise ValueError(f"{file}: {where}: no key is called '{min(unknown)}'; there are {known}")


def unknown_name(what: str, name: str, known: Collection[str]) -> str:
    """Format `unknown GPU 'h20'; did you mean h200?; known are ...`."""
    close = get_close_matches(name.lower(), known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"unknown {what} '{name}'{hint}; known are {', '.join(known)}"
