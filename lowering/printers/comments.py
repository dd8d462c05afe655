"""Comments in printed C and CUDA: attribute text, which must never become code."""

from __future__ import annotations

import re

from tilefuse.dialects.naming import printable

_ENDS_A_LINE = re.compile(r"[A-Za-z0-9>)\]]\Z")


def comment_lines(text: str) -> list[str]:
    """Print `text` as lines that begin with `//`; a trailing backslash must not continue a comment."""
    lines = [printable(line) for line in text.splitlines()]
    return [f"// {line}" if _ENDS_A_LINE.search(line) else f"// {line} ." for line in lines]
