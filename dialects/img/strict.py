"""`img.strict`: the attribute of a float operation that is rounded by itself, never contracted with another."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

STRICT = "img.strict"


def is_strict(op: Operation) -> bool:
    """Whether a float operation must not be contracted or regrouped."""
    return STRICT in op.attributes


def has_strict(module: ModuleOp) -> bool:
    """Whether a module contains a float operation that must not be contracted."""
    return any(is_strict(op) for op in module.walk())
