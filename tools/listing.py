"""`--list-passes`: each pass with its first docstring line, its options, and their descriptions."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping

from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE

from tilefuse.passes.pipeline_text import describe_options, load_row


def list_passes(available: Mapping[str, Callable[[], type[ModulePass]]]) -> str:
    """List the passes of tilefuse and of plug-ins in full, but xDSL's by name alone, so that none is loaded."""
    lines = []
    for name in sorted(available.keys() - XDSL_UNIVERSE.all_passes.keys()):
        kind = load_row(f"pass '{name}'", available[name])
        lines.append(f"{name}: {summary(kind)}")
        texts = option_texts(kind)
        for option in describe_options(kind):
            lines.append(f"    {option}")
            text = texts.get(option.partition(":")[0], "")
            lines += textwrap.wrap(text, 100, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False)
    names = ", ".join(sorted(available.keys() & XDSL_UNIVERSE.all_passes.keys()))
    lines.append("passes of xDSL:")
    lines.append(textwrap.fill(names, 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False))
    return "\n".join(lines)


def option_texts(kind: type[ModulePass]) -> dict[str, str]:
    """Return the docstring below each field of a pass, inherited ones too, by field name."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[: kind.__mro__.index(ModulePass)]):
        found |= _field_texts(base)
    return found


def _field_texts(kind: type) -> dict[str, str]:
    """Return the docstring below each field of a class, by field name; none if the source is not available."""
    try:
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError, SyntaxError):
        return {}
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                found[name] = " ".join(text.split())
    return found


def summary(kind: type[ModulePass]) -> str:
    """Return the first docstring line of a pass, or of its module if the class has none."""
    text = kind.__dict__.get("__doc__") or ""
    # A dataclass without a docstring is given its signature as one.
    if not text or text.startswith(f"{kind.__name__}("):
        text = sys.modules[kind.__module__].__doc__ or ""
    return text.strip().split("\n", 1)[0]
