"""Halide's functions of expressions: casts, choices and arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import (
    BOOL,
    F32,
    Expr,
    absolute,
    as_expr,
    binary,
    cast_to,
    constant,
    literal,
    match_types,
    math_call,
    node,
    plain,
    power,
)
from tilefuse.frontend.lerp import blend
from tilefuse.frontend.sources import Tuple
from tilefuse.frontend.types import Float, Int, Type, UInt
from tilefuse.frontend.walk import expr_text


def cast(type: Type, value: Any) -> Expr:
    """Convert `value` to `type`: integers wrap (a bool is the lowest bit), floats are truncated towards zero."""
    if not isinstance(type, Type):
        fail(f"cast takes a type first, as in cast(UInt(8), value), not {type!r}")
    type.check_pixel("cast: a value")
    value = plain(value)
    # A Python number goes straight to the type: f64(0.1) is not rounded to float32 first.
    if isinstance(value, int) or (isinstance(value, float) and type.is_float()):
        return constant(type, value)
    return cast_to(type, as_expr(value))


def saturating_cast(type: Type, value: Any) -> Expr:
    """Convert `value` to `type`; values outside its range become its least or largest value."""
    if not isinstance(type, Type):
        fail(f"saturating_cast takes a type first, not {type!r}")
    type.check_pixel("saturating_cast: a value")
    value = as_expr(value)
    source = value.type()
    if source == type or (type.is_float() and not source.is_float()):
        return cast_to(type, value)
    if type.is_float():
        if type.can_represent(source):
            return cast_to(type, value)
        largest = {16: 3.3895313892515355e38 if type.is_bfloat() else 65504.0, 32: 3.4028234663852886e38}
        bound = constant(source, largest[type.bits()])
        return cast_to(type, binary("max", binary("min", value, bound), -bound))
    low, high = type.limits()
    if source.is_float() and type.bits() >= source.bits():
        # The largest integer is no float; rounded up it is the first float that does not fit.
        value = binary("max", value, constant(source, low))
        too_large = binary("ge", value, constant(source, float(high)))
        return node("select", type, (too_large, constant(type, high), cast_to(type, value)))
    if source.is_float() or source.limits()[0] < low:
        value = binary("max", value, constant(source, low))
    if source.is_float() or source.limits()[1] > high:
        value = binary("min", value, constant(source, high))
    return cast_to(type, value)


def _caster(type: Type) -> Callable[[Any], Expr]:
    def convert(value: Any) -> Expr:
        return cast(type, value)

    convert.__doc__ = f"`value` as {type}; see `cast`."
    return convert


def _saturating_caster(type: Type) -> Callable[[Any], Expr]:
    def convert(value: Any) -> Expr:
        return saturating_cast(type, value)

    convert.__doc__ = f"`value` as {type}; see `saturating_cast`."
    return convert


i8, i16, i32, i64 = (_caster(Int(b)) for b in (8, 16, 32, 64))
u8, u16, u32, u64 = (_caster(UInt(b)) for b in (8, 16, 32, 64))
f16, f32, f64 = (_caster(Float(b)) for b in (16, 32, 64))
i8_sat, i16_sat, i32_sat, i64_sat = (_saturating_caster(Int(b)) for b in (8, 16, 32, 64))
u8_sat, u16_sat, u32_sat, u64_sat = (_saturating_caster(UInt(b)) for b in (8, 16, 32, 64))


def _is_int_constant(e: Expr) -> bool:
    return e.op == "const" and e.type().is_int()


def _as_type_of(value: Expr, other: Expr) -> Expr:
    """Convert an integer constant to the type of `other`, which it must fit."""
    return literal(other.type(), value.data) if _is_int_constant(value) else value


def select(condition: Any, value: Any, *rest: Any) -> Any:
    """Select by condition: `select(c, a, b)` or `select(c1, a1, c2, a2, ..., b)`, where the first true one counts.

    Both values have one type; an integer constant takes the other's.
    """
    if len(rest) % 2 == 0:
        fail("select takes conditions with their values, and one value for when none holds: select(c, a, b)")
    if len({isinstance(c, Tuple | tuple) for c in (condition, *rest[0:-1:2])}) > 1:
        fail("select() on Tuples may not mix Expr and Tuple for the condition elements.")
    other = select(*rest) if len(rest) > 1 else rest[0]
    if isinstance(value, Tuple | tuple) or isinstance(other, Tuple | tuple):
        first, second = Tuple(value), Tuple(other)
        each = Tuple(condition) if isinstance(condition, Tuple | tuple) else [condition] * len(first)
        if not len(first) == len(second) == len(each):
            sizes = ", ".join(str(len(t)) for t in (each, first, second))
            fail(f"select() on Tuples requires all Tuples to have identical sizes. They are {sizes}")
        return Tuple([select(c, p, q) for c, p, q in zip(each, first, second, strict=True)])
    a, b = as_expr(value), as_expr(other)
    c = as_expr(condition)
    if c.op == "const":
        c = cast_to(BOOL, c)
    if not c.type().is_bool():
        fail(f"the condition of select is a bool, not {c.type()}: {expr_text(c)}; compare it with something")
    a = _as_type_of(a, b)
    b = _as_type_of(b, a)
    if a.type() != b.type():
        fail(f"the values of select have one type, not {a.type()} and {b.type()}; cast one of them")
    return node("select", a.type(), (c, a, b))


def mux(index: Any, values: Any) -> Any:
    """Return `values[index]`; the last one if the index is out of range."""
    values = list(values)
    if not values:
        fail("mux takes a list of values")
    result = values[-1]
    index = as_expr(index)
    if not isinstance(result, Tuple | tuple):
        types = {as_expr(v).type() for v in values}
        if len(types) != 1:
            fail(f"the values of mux have one type, not {', '.join(sorted(map(str, types)))}")
    for i in range(len(values) - 2, -1, -1):
        result = select(index == i, values[i], result)
    return result


def clamp(value: Any, low: Any, high: Any) -> Expr:
    """Clamp `value` to `low` and `high`, in the type of `value`."""
    value = as_expr(value)
    low, high = (_lossless(value.type(), as_expr(b), which) for b, which in ((low, "low"), (high, "high")))
    return binary("max", binary("min", value, high), low)


def _lossless(type: Type, bound: Expr, which: str) -> Expr:
    fits = type.can_represent(bound.data) if bound.op == "const" else type.can_represent(bound.type())
    # 0.1 is a float32 because it is written so; in a float16 it is rounded again.
    if not fits and not (bound.op == "const" and type.is_float() and bound.type().is_float()):
        fail(
            f"clamp: the {which} bound {expr_text(bound)} is of type {bound.type()}, which does not fit the "
            f"type of the value, {type}; cast one of them"
        )
    return cast_to(type, bound)


def min(*values: Any) -> Expr:
    """Return the least of two or more values, after type promotion."""
    return _extreme("min", values)


def max(*values: Any) -> Expr:
    """Return the greatest of two or more values, after type promotion."""
    return _extreme("max", values)


def _extreme(op: str, values: tuple[Any, ...]) -> Expr:
    if len(values) < 2:
        fail(f"{op} takes two values or more")
    result = as_expr(values[-1])
    for value in reversed(values[:-1]):
        result = binary(op, *match_types(as_expr(value), result))
    return result


def abs(value: Any) -> Expr:
    """Return |value|; of a signed integer an unsigned one."""
    return absolute(as_expr(value))


def absd(a: Any, b: Any) -> Expr:
    """Return |a - b| without overflow; of integers an unsigned one."""
    x, y = match_types(as_expr(a), as_expr(b))
    if x.type().is_float():
        return absolute(binary("sub", x, y))
    return cast_to(UInt(x.type().bits()), binary("sub", binary("max", x, y), binary("min", x, y)))


def lerp(zero: Any, one: Any, weight: Any) -> Expr:
    """Interpolate: `zero` at weight 0, `one` at weight 1 (or at the largest value of an unsigned weight)."""
    a, b, w = as_expr(zero), as_expr(one), as_expr(weight)
    a = _as_type_of(a, b)
    b = _as_type_of(b, a)
    return blend(a, b, w)


def likely(value: Any) -> Expr:
    """Return `value`: a hint in Halide, without effect here."""
    return as_expr(value)


def likely_if_innermost(value: Any) -> Expr:
    """Return `value`: a hint in Halide, without effect here."""
    return as_expr(value)


def memoize_tag(value: Any, *_: Any) -> Expr:
    """Return `value`: nothing is memoized here."""
    return as_expr(value)


def unsafe_promise_clamped(value: Any, low: Any, high: Any) -> Expr:
    """Return `value`, clamped, so that the promise holds."""
    return clamp(value, low, high)


def logical_not(value: Any) -> Expr:
    """Return the logical not of a bool."""
    return as_expr(value).logical_not()


def _floating(name: str, doc: str) -> Callable[[Any], Expr]:
    def function(value: Any) -> Expr:
        x = as_expr(value)
        return math_call(name, x if x.type().is_float() else cast_to(F32, x))

    function.__name__ = name
    function.__doc__ = f"{doc} An integer is taken as a float32."
    return function


sqrt = _floating("sqrt", "The square root.")
exp = _floating("exp", "e to the power of the value.")
log = _floating("log", "The natural logarithm.")
sin = _floating("sin", "The sine of an angle in radians.")
cos = _floating("cos", "The cosine of an angle in radians.")
tan = _floating("tan", "The tangent of an angle in radians.")
asin = _floating("asin", "The arc sine, in radians.")
acos = _floating("acos", "The arc cosine, in radians.")
atan = _floating("atan", "The arc tangent, in radians.")
sinh = _floating("sinh", "The hyperbolic sine.")
cosh = _floating("cosh", "The hyperbolic cosine.")
tanh = _floating("tanh", "The hyperbolic tangent.")
asinh = _floating("asinh", "The inverse hyperbolic sine.")
acosh = _floating("acosh", "The inverse hyperbolic cosine.")
atanh = _floating("atanh", "The inverse hyperbolic tangent.")
erf = _floating("erf", "The error function.")
floor = _floating("floor", "The largest whole number that is not greater, as a float.")
ceil = _floating("ceil", "The least whole number that is not less, as a float.")
round = _floating("round", "The nearest whole number as a float; halves to even.")
trunc = _floating("trunc", "The whole part, towards zero, as a float.")


def fract(value: Any) -> Expr:
    """Return `value - trunc(value)`."""
    integral: Expr = trunc(value)
    return binary("sub", integral.args[0], integral)


def is_nan(value: Any) -> Expr:
    """Whether a float is not a number."""
    x = _float("is_nan", value)
    return binary("ne", x, x)


def is_inf(value: Any) -> Expr:
    """Whether a float is an infinity of either sign."""
    x = absolute(_float("is_inf", value))
    return binary("eq", x, constant(x.type(), inf))


def is_finite(value: Any) -> Expr:
    """Whether a float is neither infinite nor NaN."""
    x = absolute(_float("is_finite", value))
    return binary("lt", x, constant(x.type(), inf))


def _float(name: str, value: Any) -> Expr:
    x = as_expr(value)
    if not x.type().is_float():
        fail(f"{name} takes a float, not {x.type()}")
    return x


def atan2(y: Any, x: Any) -> Expr:
    """Return the angle of the point (x, y), in radians."""
    a, b = as_expr(y), as_expr(x)
    wide = a.type() if a.type().is_float() and a.type().bits() in (16, 64) else F32
    return math_call("atan2", cast_to(wide, a), cast_to(wide, b))


def hypot(x: Any, y: Any) -> Expr:
    """Return the square root of x*x + y*y."""
    a, b = match_types(as_expr(x), as_expr(y))
    return sqrt(a * a + b * b)


def pow(x: Any, y: Any) -> Expr:
    """Return x to the power y: repeated multiplication for an integer constant y, else in floating point."""
    return power(as_expr(x), as_expr(y))


def _only(name: str, x: Expr, widths: tuple[int, ...]) -> Expr:
    if not x.type().is_float() or x.type().bits() not in widths or x.type().is_bfloat():
        fail(f"{name} takes a {' or '.join(f'float{w}' for w in widths)}, not {x.type()}; cast it")
    return x


def fast_exp(value: Any) -> Expr:
    """Return `exp` of a float32, at least as exact as Halide's fast_exp."""
    return exp(_only("fast_exp", as_expr(value), (32,)))


def fast_log(value: Any) -> Expr:
    """Return `log` of a float32, at least as exact as Halide's fast_log."""
    return log(_only("fast_log", as_expr(value), (32,)))


def fast_pow(x: Any, y: Any) -> Expr:
    """Return `pow` in float32, at least as exact as Halide's fast_pow; 0 where x is 0."""
    a, b = as_expr(x), as_expr(y)
    if _is_int_constant(b):
        return power(a, b)
    a, b = cast_to(F32, a), cast_to(F32, b)
    zero = constant(F32, 0)
    return node("select", F32, (binary("eq", a, zero), zero, math_call("pow", a, b)))


def fast_sin(value: Any) -> Expr:
    """Return `sin` in float32."""
    return sin(cast_to(F32, as_expr(value)))


def fast_cos(value: Any) -> Expr:
    """Return `cos` in float32."""
    return cos(cast_to(F32, as_expr(value)))


def fast_inverse(value: Any) -> Expr:
    """Return 1 / value of a float16 or float32."""
    x = _only("fast_inverse", as_expr(value), (16, 32))
    return binary("div", constant(x.type(), 1), x)


def fast_inverse_sqrt(value: Any) -> Expr:
    """Return 1 / sqrt(value) of a float16 or float32."""
    return math_call("rsqrt", _only("fast_inverse_sqrt", as_expr(value), (16, 32)))


__all__ = [
    "abs", "absd", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cast", "ceil", "clamp", "cos",
    "cosh", "erf", "exp", "f16", "f32", "f64", "fast_cos", "fast_exp", "fast_inverse", "fast_inverse_sqrt",
    "fast_log", "fast_pow", "fast_sin", "floor", "fract", "hypot", "i8", "i8_sat", "i16", "i16_sat", "i32",
    "i32_sat", "i64", "i64_sat", "is_finite", "is_inf", "is_nan", "lerp", "likely", "likely_if_innermost",
    "log", "logical_not", "max", "memoize_tag", "min", "mux", "pow", "round", "saturating_cast", "select",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "u8", "u8_sat", "u16", "u16_sat", "u32",
    "u32_sat", "u64", "u64_sat", "unsafe_promise_clamped",
]  # fmt: skip
