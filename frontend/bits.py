"""Halide's bit functions, and division that rounds towards zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilefuse.dialects.img.elements import INTEGER_WIDTHS
from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import Expr, absolute, as_expr, binary, cast_to, constant, match_types, node, shift
from tilefuse.frontend.types import Type, UInt
from tilefuse.frontend.walk import expr_text


def popcount(value: Any) -> Expr:
    """Count the bits of an integer that are set, in its type."""
    x = _integer("popcount", value)
    return x if x.type().is_bool() else node("popcount", x.type(), (x,))


def count_leading_zeros(value: Any) -> Expr:
    """Count the zeros above the highest bit of an integer that is set; of 0 the width."""
    x = _integer("count_leading_zeros", value)
    return ~x if x.type().is_bool() else node("count_leading_zeros", x.type(), (x,))


def count_trailing_zeros(value: Any) -> Expr:
    """Count the zeros below the lowest bit of an integer that is set; of 0 the width."""
    x = _integer("count_trailing_zeros", value)
    return ~x if x.type().is_bool() else node("count_trailing_zeros", x.type(), (x,))


def reinterpret(type: Type, value: Any) -> Expr:
    """Reinterpret the bits of `value` as a `type` of the same width."""
    value = as_expr(value)
    if not isinstance(type, Type):
        fail(f"reinterpret takes a type first, not {type!r}")
    if type.bits() != value.type().bits():
        fail(f"reinterpret takes types of one width, not {value.type()} as {type}")
    if type == value.type() or type.is_float() == value.type().is_float() is False:
        return cast_to(type, value)
    if type.is_float() and value.type().is_float():
        value = node("bits", UInt(type.bits()), (value,))
    return node("bits", type, (value,))


def concat_bits(values: Sequence[Any]) -> Expr:
    """Concatenate the bits of 2, 4 or 8 values of one type, the first lowest, to an integer of their total width."""
    exprs = [as_expr(v) for v in values]
    types = {e.type() for e in exprs}
    if len(types) != 1:
        fail(f"concat_bits takes values of one type, not {', '.join(sorted(map(str, types))) or 'none'}")
    type = exprs[0].type()
    bits = type.bits() * len(exprs)
    if type.is_bool() or bits not in INTEGER_WIDTHS:
        *others, last = map(str, INTEGER_WIDTHS)
        known = f"{', '.join(others)} and {last}"
        fail(f"concat_bits of {len(exprs)} values of {type} would have {bits} bits; there are {known}")
    unsigned, wide = UInt(type.bits()), UInt(bits)
    parts = [cast_to(wide, reinterpret(unsigned, e)) for e in exprs]
    result = parts[0]
    for i, part in enumerate(parts[1:], 1):
        result = binary("or", result, shift("shl", part, i * type.bits()))
    return cast_to(type.with_bits(bits), result) if type.is_int() else result


def extract_bits(type: Type, value: Any, lowest: Any) -> Expr:
    """Extract the bits of a `type` from `value`, starting at bit `lowest`; bits above the value are 0."""
    x = as_expr(value)
    if not isinstance(type, Type):
        fail(f"extract_bits takes a type first, not {type!r}")
    if type.is_bool() or x.type().is_bool() or type.bits() > x.type().bits():
        fail(f"extract_bits takes a number that is at least as wide as {type}, not {x.type()}: {expr_text(x)}")
    unsigned = UInt(x.type().bits())
    x = reinterpret(unsigned, x)
    if isinstance(lowest, int) or as_expr(lowest).op == "const":
        count = int(as_expr(lowest).data)
        moved = shift("shr", x, count) if count else x
    else:
        position = as_expr(lowest)
        if position.type().is_float():
            fail(f"extract_bits counts bits by an integer, not by {position.type()}")
        moved = node("shr", unsigned, (x, cast_to(unsigned, position)))
    return reinterpret(type, cast_to(UInt(type.bits()), moved))


def div_round_to_zero(a: Any, b: Any) -> Expr:
    """Divide integers, rounding towards zero; a division by zero gives 0."""
    x, y = _dividend("div_round_to_zero", a, b)
    if x.type().is_uint():
        return binary("div", x, y)
    quotient = cast_to(x.type(), binary("div", absolute(x), absolute(y)))
    zero = constant(x.type(), 0)
    return _choose(binary("lt", binary("xor", x, y), zero), binary("sub", zero, quotient), quotient)


def mod_round_to_zero(a: Any, b: Any) -> Expr:
    """Return the remainder of `div_round_to_zero`, with the sign of `a`; a division by zero gives 0."""
    x, y = _dividend("mod_round_to_zero", a, b)
    if x.type().is_uint():
        return binary("mod", x, y)
    rest = cast_to(x.type(), binary("mod", absolute(x), absolute(y)))
    zero = constant(x.type(), 0)
    return _choose(binary("lt", x, zero), binary("sub", zero, rest), rest)


def _dividend(name: str, a: Any, b: Any) -> tuple[Expr, Expr]:
    x, y = match_types(as_expr(a), as_expr(b))
    if x.type().is_float() or x.type().is_bool():
        fail(f"{name} takes integers, not {x.type()}")
    return x, y


def _choose(condition: Expr, value: Expr, other: Expr) -> Expr:
    return node("select", value.type(), (condition, value, other))


def _integer(name: str, value: Any) -> Expr:
    x = as_expr(value)
    if x.type().is_float():
        fail(f"{name} takes an integer, not {x.type()}: {expr_text(x)}")
    return x


__all__ = [
    "concat_bits", "count_leading_zeros", "count_trailing_zeros", "div_round_to_zero", "extract_bits",
    "mod_round_to_zero", "popcount", "reinterpret",
]  # fmt: skip
