"""Checking the numbers that passes are given as options."""

from __future__ import annotations

from xdsl.passes import ModulePass

from tilefuse.dialects.diagnostics import PipelineError

MOST = 1 << 31
"""More than any option counts."""


def check_numbers(given: ModulePass, **least: int) -> None:
    """Raise PipelineError, naming the pass, unless each of these options is that much or more, and below `MOST`."""
    for option, low in least.items():
        value = getattr(given, option)
        numbers = value if isinstance(value, tuple) else (value,)
        # written so that a NaN is refused too
        if not all(low <= n < MOST for n in numbers):
            shown = ",".join(map(str, numbers))
            raise PipelineError(f"{given.name}: {option} is {shown}; give {low} or more, and less than {MOST}")
