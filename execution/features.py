"""What a kernel does, in numbers: all that its time follows from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Features:
    """Numbers that every execution model gives."""

    blocks: int
    code: float
    """Instructions of the text."""
