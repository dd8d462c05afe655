"""Halide's fixed-point arithmetic (saturating, widening, halving, rounding), expanded to plain operations.

Each function is what it would be in integers without bounds. Types of up to 16 bits compute in twice their width;
wider ones by formulas in their own, for there are no integers of 128 bits.
"""

from __future__ import annotations

from typing import Any

from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import BOOL, Expr, as_expr, binary, cast_to, constant, match_types, node, shift
from tilefuse.frontend.types import Int, Type
from tilefuse.frontend.walk import expr_text


def saturating_add(a: Any, b: Any) -> Expr:
    """Return a + b, saturated to their common type."""
    x, y = _integers("saturating_add", a, b)
    type = x.type()
    if _doubles(type):
        return _narrowed(type, binary("add", _wide(x), _wide(y)))
    total = binary("add", x, y)
    if type.is_uint():
        return _choose(binary("lt", total, x), constant(type, type.limits()[1]), total)
    return _choose(_overflow(binary("xor", x, total), binary("xor", y, total)), _end_of_sign(x), total)


def saturating_sub(a: Any, b: Any) -> Expr:
    """Return a - b, saturated to their common type."""
    x, y = _integers("saturating_sub", a, b)
    type = x.type()
    if type.is_uint():
        return binary("sub", binary("max", x, y), y)
    if _doubles(type):
        return _narrowed(type, binary("sub", _wide(x), _wide(y)))
    difference = binary("sub", x, y)
    return _choose(_overflow(binary("xor", x, y), binary("xor", x, difference)), _end_of_sign(x), difference)


def widening_add(a: Any, b: Any) -> Expr:
    """Return a + b of their common type, in twice its width."""
    x, y = _matched("widening_add", a, b)
    return binary("add", _widened("widening_add", x), _widened("widening_add", y))


def widening_sub(a: Any, b: Any) -> Expr:
    """Return a - b of their common type, in twice its width and, of integers, signed."""
    x, y = (_widened("widening_sub", v) for v in _matched("widening_sub", a, b))
    if x.type().is_float():
        return binary("sub", x, y)
    signed = Int(x.type().bits())
    return binary("sub", cast_to(signed, x), cast_to(signed, y))


def widening_mul(a: Any, b: Any) -> Expr:
    """Return a * b exactly: in twice the width of the wider operand, signed if either is."""
    x, y = as_expr(a), as_expr(b)
    for value in (x, y):
        _no_bool("widening_mul", value)
    s, t = x.type(), y.type()
    if s.is_float() or t.is_float():
        x, y = _matched("widening_mul", x, y)
        return binary("mul", _widened("widening_mul", x), _widened("widening_mul", y))
    bits = 2 * max(s.bits(), t.bits())
    if bits > 64:
        _too_wide("widening_mul", s if s.bits() == 64 else t)
    wide = (s if s.is_int() else t).with_bits(bits)
    return binary("mul", cast_to(wide, x), cast_to(wide, y))


def widening_shift_left(a: Any, by: Any) -> Expr:
    """Return a << by in twice the width of the wider operand; a negative `by` shifts right."""
    return _widening_shift("widening_shift_left", "shl", a, by)


def widening_shift_right(a: Any, by: Any) -> Expr:
    """Return a >> by in twice the width of the wider operand; a negative `by` shifts left."""
    return _widening_shift("widening_shift_right", "shr", a, by)


def halving_add(a: Any, b: Any) -> Expr:
    """Return (a + b) / 2 without overflow, rounded down."""
    x, y = _integers("halving_add", a, b)
    if _doubles(x.type()):
        return cast_to(x.type(), _half(binary("add", _wide(x), _wide(y))))
    # a + b is twice the bits that both have, and those that one has.
    return binary("add", binary("and", x, y), _half(binary("xor", x, y)))


def rounding_halving_add(a: Any, b: Any) -> Expr:
    """Return (a + b + 1) / 2 without overflow, rounded down."""
    x, y = _integers("rounding_halving_add", a, b)
    if _doubles(x.type()):
        total = binary("add", _wide(x), _wide(y))
        return cast_to(x.type(), _half(binary("add", total, constant(total.type(), 1))))
    return binary("sub", binary("or", x, y), _half(binary("xor", x, y)))


def halving_sub(a: Any, b: Any) -> Expr:
    """Return (a - b) / 2 without overflow, rounded down; a negative unsigned result wraps."""
    x, y = _integers("halving_sub", a, b)
    type = x.type()
    if _doubles(type):
        signed = Int(2 * type.bits())
        return cast_to(type, _half(binary("sub", cast_to(signed, x), cast_to(signed, y))))
    # The halves' difference, and one less where only b is odd.
    borrowed = binary("and", binary("and", ~x, y), constant(type, 1))
    return binary("sub", binary("sub", _half(x), _half(y)), borrowed)


def rounding_shift_left(a: Any, by: Any) -> Expr:
    """Return a << by; a negative `by` shifts right, rounded to nearest, halves up."""
    return _rounding_shift("rounding_shift_left", "shl", as_expr(a), by)


def rounding_shift_right(a: Any, by: Any) -> Expr:
    """Return a >> by, rounded to nearest, halves up; a negative `by` shifts left."""
    return _rounding_shift("rounding_shift_right", "shr", as_expr(a), by)


def mul_shift_right(a: Any, b: Any, by: Any) -> Expr:
    """Return (a * b) >> by, computed exactly, then saturated to the common type of a and b."""
    x, y, count = _product("mul_shift_right", a, b, by)
    return _narrowed(x.type(), shift("shr", widening_mul(x, y), count))


def rounding_mul_shift_right(a: Any, b: Any, by: Any) -> Expr:
    """Return (a * b) >> by, rounded to nearest, halves up, then saturated to the common type of a and b."""
    x, y, count = _product("rounding_mul_shift_right", a, b, by)
    return _narrowed(x.type(), rounding_shift_right(widening_mul(x, y), count))


# --- types --------------------------------------------------------------------------------------------------


def _doubles(type: Type) -> bool:
    return type.bits() <= 16


def _no_bool(name: str, value: Expr) -> None:
    if value.type().is_bool():
        fail(f"{name} takes numbers, not a bool: {expr_text(value)}; cast it")


def _matched(name: str, a: Any, b: Any) -> tuple[Expr, Expr]:
    x, y = as_expr(a), as_expr(b)
    for value in (x, y):
        _no_bool(name, value)
    return match_types(x, y)


def _integers(name: str, a: Any, b: Any) -> tuple[Expr, Expr]:
    """Convert both to their common type, which must be an integer."""
    x, y = _matched(name, a, b)
    if x.type().is_float():
        fail(f"{name} takes integers, not {as_expr(a).type()} and {as_expr(b).type()}")
    return x, y


def _too_wide(name: str, type: Type) -> None:
    fail(f"{name} of {type} would need twice as many bits, and there is no such type; cast to a narrower one")


def _widened(name: str, value: Expr) -> Expr:
    if value.type().bits() == 64 or value.type().is_bfloat():
        _too_wide(name, value.type())
    return _wide(value)


def _wide(value: Expr) -> Expr:
    return cast_to(value.type().with_bits(2 * value.type().bits()), value)


def _narrowed(type: Type, value: Expr) -> Expr:
    """Saturate `value` of a wider type to `type`."""
    low, high = type.limits()
    value = binary("min", value, constant(value.type(), high))
    return cast_to(type, binary("max", value, constant(value.type(), low)) if value.type().is_int() else value)


# --- bits ---------------------------------------------------------------------------------------------------


def _half(value: Expr) -> Expr:
    return shift("shr", value, 1)


def _choose(condition: Expr, value: Expr, other: Expr) -> Expr:
    return node("select", value.type(), (condition, value, other))


def _overflow(a: Expr, b: Expr) -> Expr:
    """Return whether the signs of both are set."""
    return node("lt", BOOL, (binary("and", a, b), constant(a.type(), 0)))


def _end_of_sign(value: Expr) -> Expr:
    """Return the largest value of its type if `value` is non-negative, else the least."""
    type = value.type()
    return binary("xor", shift("shr", value, type.bits() - 1), constant(type, type.limits()[1]))


# --- shifts -------------------------------------------------------------------------------------------------


def _widening_shift(name: str, op: str, a: Any, by: Any) -> Expr:
    value = as_expr(a)
    _no_bool(name, value)
    if value.type().is_float():
        fail(f"{name} takes an integer, not {value.type()}")
    count = _count(name, value, by)
    bits = max(value.type().bits(), count.type().bits())
    if bits == 64:
        _too_wide(name, value.type() if value.type().bits() == 64 else count.type())
    wide = value.type().with_bits(2 * bits)
    if count.op == "const":
        return shift(op, cast_to(wide, value), count.data)
    return shift(op, cast_to(wide, value), cast_to(count.type().with_bits(2 * bits), count))


def _count(name: str, value: Expr, by: Any) -> Expr:
    """Convert a shift count: a Python integer takes the type of the value, as in Halide."""
    if isinstance(by, int) and not isinstance(by, bool):
        return constant(Int(value.type().bits()), by)
    count = as_expr(by)
    if count.type().is_float() or count.type().is_bool():
        fail(f"{name} shifts by an integer, not by {count.type()}")
    return count


def _rounding_shift(name: str, op: str, value: Expr, by: Any) -> Expr:
    _no_bool(name, value)
    if value.type().is_float():
        fail(f"{name} takes an integer, not {value.type()}")
    count = _count(name, value, by)
    bits = max(value.type().bits(), count.type().bits())
    value = cast_to(value.type().with_bits(bits), value)
    if count.op == "const":
        right = count.data if op == "shr" else -count.data
        shifted = shift(op, value, count.data)
        return binary("add", shifted, _bit(value, right - 1)) if right > 0 else shifted
    count = cast_to(count.type().with_bits(bits), count)
    shifted = shift(op, value, count)
    if op == "shl" and count.type().is_uint():
        return shifted
    zero = constant(count.type(), 0)
    right = binary("sub", zero, count) if op == "shl" else count
    # The highest of the bits that are shifted out.
    below = cast_to(value.type().with_bits(bits), binary("sub", right, constant(count.type(), 1)))
    return binary("add", shifted, _choose(binary("gt", right, zero), _bit(value, below), constant(value.type(), 0)))


def _bit(value: Expr, position: Any) -> Expr:
    """Return the bit at `position`, 0 or 1; a position outside the width is never used."""
    if isinstance(position, Expr):
        moved = node("shr", value.type(), (value, position))
    else:
        moved = shift("shr", value, position) if position else value
    return binary("and", moved, constant(value.type(), 1))


def _product(name: str, a: Any, b: Any, by: Any) -> tuple[Expr, Expr, Any]:
    x, y = _integers(name, a, b)
    if x.type().bits() == 64:
        _too_wide(name, x.type())
    if isinstance(by, int) and not isinstance(by, bool):
        if by < 0:
            fail(f"{name} shifts right by a number that is not negative, not by {by}")
        return x, y, by
    count = as_expr(by)
    if not count.type().is_uint() or count.type().is_bool():
        fail(f"{name} shifts by an unsigned integer, not by {count.type()}; cast it")
    if count.op == "const":
        return x, y, count.data
    return x, y, cast_to(count.type().with_bits(2 * x.type().bits()), count)


__all__ = [
    "halving_add", "halving_sub", "mul_shift_right", "rounding_halving_add", "rounding_mul_shift_right",
    "rounding_shift_left", "rounding_shift_right", "saturating_add", "saturating_sub", "widening_add",
    "widening_mul", "widening_shift_left", "widening_shift_right", "widening_sub",
]  # fmt: skip
