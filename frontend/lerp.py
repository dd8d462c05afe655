"""Linear interpolation, bit-identical to Halide's for integers."""

from __future__ import annotations

from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import Expr, binary, cast_to, constant, node
from tilefuse.frontend.types import Float, Type, UInt


def blend(a: Expr, b: Expr, weight: Expr) -> Expr:
    """Blend `a` and `b`, of one type, by a weight from 0 to 1; an unsigned weight counts up to its maximum."""
    type, w = a.type(), weight.type()
    if type != b.type():
        fail(f"lerp takes two values of one type, not {type} and {b.type()}; cast one of them")
    if not w.is_float() and not w.is_uint():
        fail(f"the weight of lerp is a float or an unsigned integer, not {w}; cast it")
    if type.bits() == 64 and not type.is_float():
        fail(f"lerp of {type} is not possible; cast to float64")
    if weight.op == "const" and w.is_float() and not 0 <= weight.data <= 1:
        fail(f"the weight of lerp is from 0 to 1, not {weight.data}")
    if type.is_bool():
        half = constant(w, 0.5 if w.is_float() else w.limits()[1] // 2)
        return node("select", type, (binary("gt", weight, half), b, a))
    if type.is_float():
        share = _float_weight(type, weight)
        rest = binary("sub", constant(type, 1), share)
        return binary("add", binary("mul", a, rest), binary("mul", b, share))
    if type.is_int():
        # Shifted so that the least value is 0: unsigned arithmetic rounds alike on both sides.
        unsigned = UInt(type.bits())
        bias = constant(unsigned, -type.limits()[0])
        x, y = (binary("sub", cast_to(unsigned, v), bias) for v in (a, b))
        return cast_to(type, binary("add", _blend_unsigned(x, y, weight), bias))
    return _blend_unsigned(a, b, weight)


def _float_weight(type: Type, weight: Expr) -> Expr:
    w = weight.type()
    if w.is_float():
        return cast_to(type, weight)
    wide = Float(64) if w.bits() >= 32 else Float(32)
    return cast_to(type, binary("div", cast_to(wide, weight), constant(wide, w.limits()[1])))


def _blend_unsigned(a: Expr, b: Expr, weight: Expr) -> Expr:
    type = a.type()
    bits = type.bits()
    share = _integer_weight(type, weight)
    rest = binary("sub", constant(type, type.limits()[1]), share)
    wide = UInt(2 * bits)
    x, y, p, q = (cast_to(wide, v) for v in (a, b, rest, share))
    total = binary("add", binary("mul", x, p), binary("mul", y, q))
    total = binary("add", total, constant(wide, 1 << (bits - 1)))
    # (n + n / 2^bits) / 2^bits is n / (2^bits - 1), rounded to nearest by the half added above.
    shift = constant(wide, bits)
    return cast_to(type, node("shr", wide, (binary("add", node("shr", wide, (total, shift)), total), shift)))


def _integer_weight(type: Type, weight: Expr) -> Expr:
    w, bits = weight.type(), type.bits()
    if w.is_float():
        wide = Float(64) if bits == 32 else w
        return cast_to(type, binary("mul", constant(wide, type.limits()[1]), cast_to(wide, weight)))
    # 2^n - 1 divides 2^m - 1 for widths that are powers of two: 65535 = 255 * 257.
    if w.bits() < bits:
        factor = constant(type, int(type.limits()[1]) // int(w.limits()[1]))
        return binary("mul", cast_to(type, weight), factor)
    if w.bits() > bits:
        factor = constant(w, int(w.limits()[1]) // int(type.limits()[1]))
        return cast_to(type, binary("div", weight, factor))
    return weight
