"""What the runtime raises: bad calls, machines that lack something, sources that do not build."""

from __future__ import annotations


class CallError(ValueError):
    """A program was called with arrays or parameters it cannot take; nothing was launched or written."""


class CallTypeError(CallError, TypeError):
    """A CallError about what kind of thing was given: its dtype, its class, its name."""


class CallMemoryError(CallError, MemoryError):
    """A CallError of a call that takes more memory than there is."""


class TargetError(RuntimeError):
    """This machine cannot run the target: no GPU, no CuPy, no C compiler."""


class BuildError(RuntimeError):
    """The C compiler or NVRTC refused a generated source; the message ends in its own words."""
