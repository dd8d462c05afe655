"""`print` and `print_when`: lines printed where values are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilefuse.dialects.img.formats import escaped
from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import BOOL, Expr, as_expr, cast_to, constant, node
from tilefuse.frontend.types import Float, Int, UInt


def print(value: Any, *more: Any) -> Expr:
    """Return `value`; its computation prints it and the further numbers, Exprs and texts as a line."""
    return print_when(constant(BOOL, True), value, *more)


def print_when(condition: Any, value: Any, *more: Any) -> Expr:
    """Return `value`; its computation prints it and the further arguments as a line if `condition` holds."""
    holds = as_expr(condition)
    if not holds.type().is_bool():
        fail(f"print_when takes a bool first, not {holds.type()}")
    if isinstance(value, str):
        fail("print and print_when give the first of what they print, so it is an Expr and no text")
    first = as_expr(value)
    format, numbers = line_of((first, *more))
    return node("print", first.type(), (first, holds, *numbers), format + "\n")


def line_of(items: Sequence[Any]) -> tuple[str, list[Expr]]:
    """Return the format and the numbers of a line of numbers, Exprs and texts."""
    numbers, pieces = [], []
    for item in items:
        if isinstance(item, str):
            pieces.append(escaped(item))
            continue
        e = as_expr(item)
        type = e.type()
        wide = Float(64) if type.is_float() else Int(64) if type.is_int() or type.is_bool() else UInt(64)
        pieces.append("%f" if type.is_float() else "%llu" if wide.is_uint() else "%lld")
        numbers.append(cast_to(wide, e))
    return " ".join(pieces), numbers


__all__ = ["print", "print_when"]
