"""Validation of compile options before any work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xdsl.passes import ModulePass

from tilefuse.passes.pipeline import DETERMINISM
from tilefuse.runtime.errors import CallTypeError

OPTIONS = ("extent", "algorithm", "fast_math", "determinism")
"""Options that `compile_pipeline` passes on to `standard_passes`."""


def checked_options(options: Mapping[str, Any], *, strict_float: bool, has_passes: bool) -> dict[str, Any]:
    """Check the options of the standard passes. Raises CallTypeError, which names the invalid option."""
    if unknown := sorted(options.keys() - OPTIONS):
        raise CallTypeError(
            f"compile has no option '{unknown[0]}'; there are strict_float, verify, passes, {', '.join(OPTIONS)}"
        )
    if options.get("fast_math") and (strict_float or has_passes):
        raise CallTypeError(
            "fast_math=True regroups sums of floats, and strict_float=True forbids it; choose one"
            if strict_float
            else "fast_math=True is of the standard passes; with passes= put SeparateKernels(float=True) among them"
        )
    if (determinism := options.get("determinism", DETERMINISM[0])) not in DETERMINISM:
        raise CallTypeError(f"determinism= is one of {', '.join(DETERMINISM)}, not {determinism!r}")
    extent = options.get("extent", ())
    if not isinstance(extent, tuple | list) or not all(isinstance(n, int) and not isinstance(n, bool) for n in extent):
        raise CallTypeError(f"extent= takes sizes as a tuple of integers, x first, not {extent!r}")
    # a program compiles when it is called, too: what a caller does with his list until then is of no concern
    return {**options, "extent": tuple(extent)} if "extent" in options else dict(options)


def checked_passes(passes: Any) -> Sequence[ModulePass] | None:
    """Check the passes that replace the standard ones. Raises CallTypeError for an item that is no pass."""
    if isinstance(passes, Iterable) and not isinstance(passes, str):
        passes = tuple(passes)
    if passes is not None:
        if wrong := [p for p in passes if not isinstance(p, ModulePass)] if isinstance(passes, tuple) else [passes]:
            raise CallTypeError(
                f"passes= takes a list of pass objects, as in [*standard_passes('cpu'), Mine()], not {wrong[0]!r}"
            )
    found: Sequence[ModulePass] | None = passes
    return found
