"""Errors that the runtime raises: bad calls, machines that lack something, sources that do not build."""

from __future__ import annotations

from tilefuse.dialects.diagnostics import TilefuseError


class CallError(TilefuseError, ValueError):
    """A program was called with arrays or parameters it cannot take; nothing was launched or written."""


class CallTypeError(CallError, TypeError):
    """A CallError about the kind of an argument: its dtype, its class, its name."""


class CallMemoryError(CallError, MemoryError):
    """A CallError of a call that takes more memory than there is."""

    @classmethod
    def of_temporaries(cls, why: object, largest: str) -> CallMemoryError:
        """The error of a call whose temporaries do not fit in memory.

        `why`: their size, or the allocator's words; `largest`: the one that takes most of it.
        """
        most = f", {largest}" if largest else ""
        return cls(
            f"the temporaries of this call take more memory than there is ({why}){most}; ask for a smaller output, or "
            "make the boxes of boundaries smaller"
        )


class TargetError(TilefuseError, RuntimeError):
    """This machine cannot run the target: no GPU, no CuPy, no C compiler."""


class BuildError(TilefuseError, RuntimeError):
    """The C compiler or NVRTC refused a generated source; the message ends in its own words."""
