"""C values of signless integers: literals, signed and unsigned reading, arithmetic modulo 2^n."""

from __future__ import annotations

import tilefuse.lowering.printers.expr as expr
from tilefuse.lowering.printers.c_types import SIGNED, UNSIGNED, IntRange, signed_range, unsigned_range
from tilefuse.lowering.printers.expr import ADD, MUL, UNARY, CExpr

PRECEDENCE = {"+": ADD, "-": ADD, "*": MUL}


def c_literal(value: int, width: int) -> CExpr:
    """Return an integer literal of value `value`, in a C type that holds it."""
    wide = width == 64
    if value == -(2**63):
        return CExpr("(-9223372036854775807ll - 1)", expr.PRIMARY, "long long", (value, value), value)
    if value == -(2**31) and not wide:
        return CExpr("(-2147483647 - 1)", expr.PRIMARY, "int", (value, value), value)
    if -(2**31) < value < 2**31:
        suffix, ctype = "", "int"
    elif wide:
        suffix, ctype = ("ull", UNSIGNED[64]) if value >= 2**63 else ("ll", SIGNED[64])
    else:
        suffix, ctype = "u", UNSIGNED[32]
    return CExpr(f"{value}{suffix}", UNARY if value < 0 else expr.PRIMARY, ctype, (value, value), value)


def read_unsigned(a: CExpr, width: int) -> CExpr:
    """Return `a` with its `width` bits read as unsigned."""
    if isinstance(a.const, int):
        return c_literal(a.const % 2**width, width)
    if expr.within(a.interval(), unsigned_range(width)):
        return a
    return expr.c_cast(UNSIGNED[width], a, unsigned_range(width))


def read_signed(a: CExpr, width: int) -> CExpr:
    """Return `a` with its `width` bits read as signed, in a signed C type."""
    low, high = signed_range(width)
    if isinstance(a.const, int):
        return c_literal((a.const - low) % 2**width + low, width)
    if width == 1:
        return expr.unary("-", a, "int", (-1, 0))
    fits = expr.within(a.interval(), (low, high))
    if fits and a.ctype not in (UNSIGNED[32], UNSIGNED[64]):
        return a
    return expr.c_cast(SIGNED[width], a, a.interval() if fits else (low, high))


def _interval(symbol: str, a: IntRange, b: IntRange) -> IntRange:
    if symbol == "+":
        return a[0] + b[0], a[1] + b[1]
    if symbol == "-":
        return a[0] - b[1], a[1] - b[0]
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def modular(a: CExpr, symbol: str, b: CExpr, width: int) -> CExpr:
    """Return `a + b`, `a - b` or `a * b` modulo 2^width: in `int` where it cannot overflow, else unsigned."""
    if symbol == "+" and isinstance(b.const, int) and b.const < 0:
        symbol, b = "-", c_literal(-b.const, width)
    elif symbol == "-" and isinstance(a.const, int) and width < 32:
        # 255 - x, not -1 - x.
        a = read_unsigned(a, width)
    prec, interval = PRECEDENCE[symbol], _interval(symbol, a.interval(), b.interval())
    if expr.int_arithmetic(a, b, interval):
        return expr.c_binary(a, symbol, b, prec, "int", interval)
    wide = UNSIGNED[max(width, 32)]
    exact = a.interval()[0] >= 0 and b.interval()[0] >= 0 and expr.within(interval, unsigned_range(max(width, 32)))
    if wide not in (a.ctype, b.ctype):
        a = expr.c_cast(wide, a)
    return expr.c_binary(a, symbol, b, prec, wide, interval if exact else None)
