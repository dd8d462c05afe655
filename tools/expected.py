"""`--verify-diagnostics`: match `// expected-error {{text}}` comments against the errors that occurred.

The text must be part of the message, and the error must be on the comment's line, or where `@+1`, `@-1`,
`@below`, `@above` says; `@unknown` stands for an error without a place. `expected-error-re` takes a
regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tilefuse.dialects.diagnostics import PipelineError, SourcePosition

_EXPECTED = re.compile(
    r"expected-(?P<kind>error|warning|remark|note)(?P<re>-re)?\s*"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}"
)


@dataclass
class Expectation:
    """One `expected-error`; `line` is the error's line, None for `@unknown`."""

    text: str
    is_pattern: bool
    line: int | None
    position: SourcePosition

    def matches(self, error: PipelineError) -> bool:
        """Whether `error` matches."""
        line = error.position.line if error.position else None
        if line != self.line:
            return False
        return bool(re.search(self.text, error.message)) if self.is_pattern else self.text in error.message


def parse_expectations(text: str, filename: str) -> list[Expectation]:
    """Parse all expectations in `text`; lines count from its beginning. PipelineError for other kinds."""
    lines = text.split("\n")
    found = []
    for number, line in enumerate(lines, 1):
        for match in _EXPECTED.finditer(line):
            position = SourcePosition(filename, number, match.start() + 1)
            if match["kind"] != "error":
                raise PipelineError("only expected-error is supported: passes emit no other kind", position=position)
            target = _target_line(match["where"], number, lines)
            found.append(Expectation(match["text"], bool(match["re"]), target, position))
    return found


def _target_line(where: str | None, number: int, lines: Sequence[str]) -> int | None:
    match where:
        case None:
            return number
        case "unknown":
            return None
        case "above" | "below":
            # Several comments may stand in a row: the line meant is the first without one.
            step = 1 if where == "below" else -1
            number += step
            while 0 < number <= len(lines) and _EXPECTED.search(lines[number - 1]):
                number += step
            return number
        case offset:
            return number + int(offset)


def check_expectations(expectations: Sequence[Expectation], errors: Sequence[PipelineError]) -> list[PipelineError]:
    """Match errors with expectations; return unexpected errors and unmet expectations."""
    open_ones = list(expectations)
    wrong = []
    for error in errors:
        met = next((e for e in open_ones if e.matches(error)), None)
        if met is None:
            wrong.append(PipelineError(f"unexpected error: {error.message}", position=error.position))
        else:
            open_ones.remove(met)
    for missing in open_ones:
        wrong.append(PipelineError(f'expected error "{missing.text}" was not given', position=missing.position))
    return wrong
