"""Errors of the runtime: bad calls, missing tools or devices, failed builds."""

from __future__ import annotations

from tilefuse.dialects.diagnostics import TilefuseError


class CallError(TilefuseError, ValueError):
    """Invalid arrays or parameters of a call; nothing was launched or written."""


class CallTypeError(CallError, TypeError):
    """A CallError about an argument's dtype, class or name."""


class CallMemoryError(CallError, MemoryError):
    """A CallError for lack of memory."""

    @classmethod
    def of_temporaries(cls, why: object, largest: str) -> CallMemoryError:
        """Return the error of a call whose temporaries exceed memory.

        `why`: their size, or the allocator's words; `largest`: the one that takes most of it.
        """
        most = f", {largest}" if largest else ""
        return cls(
            f"the temporaries of this call take more memory than there is ({why}){most}; ask for a smaller output, or "
            "make the boxes of boundaries smaller"
        )


class TargetError(TilefuseError, RuntimeError):
    """This machine cannot run the target: no GPU, no CuPy, or no C compiler."""


class BuildError(TilefuseError, RuntimeError):
    """The C compiler or NVRTC refused generated source; the message ends with its output."""
