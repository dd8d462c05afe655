"""`--list-passes`: each pass with its first docstring line and its options."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Mapping

from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE

from tilefuse.passes.pipeline_text import describe_options, loaded


def list_passes(available: Mapping[str, Callable[[], type[ModulePass]]]) -> str:
    """The passes of tilefuse and of plug-ins in full; of xDSL's own only the names, to load none of them."""
    lines = []
    for name in sorted(available.keys() - XDSL_UNIVERSE.all_passes.keys()):
        kind = loaded(f"pass '{name}'", available[name])
        lines.append(f"{name}: {summary(kind)}")
        lines.extend(f"    {option}" for option in describe_options(kind))
    names = ", ".join(sorted(available.keys() & XDSL_UNIVERSE.all_passes.keys()))
    lines.append("passes of xDSL:")
    lines.append(textwrap.fill(names, 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False))
    return "\n".join(lines)


def summary(kind: type[ModulePass]) -> str:
    """The first docstring line of a pass, or of its module if the class has none of its own."""
    text = kind.__dict__.get("__doc__") or ""
    # A dataclass without a docstring is given its signature as one.
    if not text or text.startswith(f"{kind.__name__}("):
        text = sys.modules[kind.__module__].__doc__ or ""
    return text.strip().split("\n", 1)[0]
