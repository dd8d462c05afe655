"""Comments of printed C and CUDA: text of attributes, which must not become part of the program."""

from __future__ import annotations

import re

from tilefuse.dialects.naming import printable

_ENDS_A_LINE = re.compile(r"[A-Za-z0-9>)\]]\Z")


def comment_lines(text: str) -> list[str]:
    """`text` as lines that begin with `//`; none goes on in the line after it, as after a backslash."""
    lines = [printable(line) for line in text.splitlines()]
    return [f"// {line}" if _ENDS_A_LINE.search(line) else f"// {line} ." for line in lines]
