"""Range checks of the numbers in pass options."""

from __future__ import annotations

from xdsl.passes import ModulePass

from tilefuse.dialects.diagnostics import PipelineError

MOST_IN_OPTION = 1 << 31
"""More than any option counts."""


def check_numbers(given: ModulePass, **least: int) -> None:
    """Raise PipelineError, naming the pass, unless options are at least these values and below MOST_IN_OPTION."""
    for option, low in least.items():
        value = getattr(given, option)
        numbers = value if isinstance(value, tuple) else (value,)
        # written so that a NaN is refused too
        if not all(low <= n < MOST_IN_OPTION for n in numbers):
            shown = ",".join(map(str, numbers))
            raise PipelineError(
                f"{given.name}: {option} is {shown}; give {low} or more, and less than {MOST_IN_OPTION}"
            )
