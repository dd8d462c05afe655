"""Expressions: a DAG of nodes, typed by Halide's rules during construction."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, NoReturn

import numpy as np

from tilefuse.dialects.diagnostics import user_position
from tilefuse.frontend.errors import KindError, ValueKindError, fail
from tilefuse.frontend.types import Bool, Float, Int, Type, UInt
from tilefuse.frontend.walk import expr_text

I32, I64, F32, BOOL = Int(32), Int(64), Float(32), Bool()

COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))

_FOLD: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "div": lambda a, b: 0 if b == 0 else (a // b if b > 0 else -(a // -b)),
    "mod": lambda a, b: 0 if b == 0 else a % abs(b),
}


class Expr:
    """A value at a point: Vars, Params, calls of Funcs and numbers, combined by operators and functions.

    `Expr(3)` is an int32, `Expr(0.5)` a float32, `Expr(True)` a bool.
    """

    __slots__ = ("_type", "args", "data", "op")

    _type: Type
    op: str
    """Kind of node: `const`, `var`, `add`, `cast`, `call`, ..."""
    args: tuple[Expr, ...]
    data: Any
    """Data of the op besides its operands: the value of a constant, the Func of a call."""

    def __init__(self, value: Any = None):
        if value is None:
            return  # undefined: without a type
        made = as_expr(value)
        self._type, self.op, self.args, self.data = made._type, made.op, made.args, made.data

    def __getattr__(self, name: str) -> Any:
        if name in Expr.__slots__:
            fail("an Expr without a value, Expr(), stands where a value is needed")
        raise AttributeError(f"an {type_name(self)} has no attribute '{name}'")

    def type(self) -> Type:
        """Return the type of the value."""
        return self._type

    def logical_not(self) -> Expr:
        """Return the logical not of a bool."""
        if not self._type.is_bool():
            fail(f"logical_not takes a bool, not {self._type}")
        return ~self

    def defined(self) -> bool:
        """Whether it has a value: `Expr()` has none."""
        try:
            object.__getattribute__(self, "op")
        except AttributeError:
            return False
        return True

    def __repr__(self) -> str:
        return f"<halide.Expr of type {self._type}: {expr_text(self)}>" if self.defined() else "<undefined halide.Expr>"

    def __bool__(self) -> bool:
        fail(
            "an Expr cannot be converted to a bool: it has no value in Python. Use & | ~ for and, or, not, select(...) "
            "for if, and tilefuse's own min(...) and max(...)", kind=ValueKindError,
        )  # fmt: skip

    def __iter__(self) -> NoReturn:
        fail("an Expr is one value, and not iterated over; tilefuse's own sum(...) goes over an RDom", kind=KindError)

    def __float__(self) -> float:
        fail(
            "an Expr cannot be converted to a number: it has no value in Python. Use cast(...), and tilefuse's own "
            "sqrt, floor and so on for those of math and NumPy",
            kind=KindError,
        )

    __int__ = __round__ = __float__
    __hash__ = object.__hash__
    # Without this NumPy would take an Expr for a scalar and make an array of Exprs.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Expr:
        return arithmetic("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return arithmetic("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        return arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> Expr:
        return arithmetic("mul", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return arithmetic("mul", other, self)

    def __truediv__(self, other: Any) -> Expr:
        return arithmetic("div", self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        return arithmetic("div", other, self)

    def __floordiv__(self, other: Any) -> Expr:
        return _floor_division(self, other)

    def __rfloordiv__(self, other: Any) -> Expr:
        return _floor_division(other, self)

    def __mod__(self, other: Any) -> Expr:
        return arithmetic("mod", self, other)

    def __rmod__(self, other: Any) -> Expr:
        return arithmetic("mod", other, self)

    def __pow__(self, other: Any) -> Expr:
        return power(self, as_expr(other))

    def __rpow__(self, other: Any) -> Expr:
        return power(as_expr(other), self)

    def __and__(self, other: Any) -> Expr:
        return bitwise("and", self, other)

    def __rand__(self, other: Any) -> Expr:
        return bitwise("and", other, self)

    def __or__(self, other: Any) -> Expr:
        return bitwise("or", self, other)

    def __ror__(self, other: Any) -> Expr:
        return bitwise("or", other, self)

    def __xor__(self, other: Any) -> Expr:
        return bitwise("xor", self, other)

    def __rxor__(self, other: Any) -> Expr:
        return bitwise("xor", other, self)

    def __lshift__(self, other: Any) -> Expr:
        return shift("shl", self, other)

    def __rlshift__(self, other: Any) -> Expr:
        return shift("shl", as_expr(other), self)

    def __rshift__(self, other: Any) -> Expr:
        return shift("shr", self, other)

    def __rrshift__(self, other: Any) -> Expr:
        return shift("shr", as_expr(other), self)

    def __invert__(self) -> Expr:
        if self._type.is_float():
            fail(f"~ takes a bool or an integer, not {self._type}")
        ones = constant(self._type, -1)
        return binary("xor", self, ones)

    def __neg__(self) -> Expr:
        return binary("sub", constant(self._type, 0), self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return absolute(self)

    def __eq__(self, other: Any) -> Expr:  # type: ignore[override]
        return arithmetic("eq", self, other)

    def __ne__(self, other: Any) -> Expr:  # type: ignore[override]
        return arithmetic("ne", self, other)

    def __lt__(self, other: Any) -> Expr:
        return arithmetic("lt", self, other)

    def __le__(self, other: Any) -> Expr:
        return arithmetic("le", self, other)

    def __gt__(self, other: Any) -> Expr:
        return arithmetic("gt", self, other)

    def __ge__(self, other: Any) -> Expr:
        return arithmetic("ge", self, other)


def node(op: str, type: Type, args: Sequence[Expr], data: Any = None) -> Expr:
    """Make a node without checks or folding."""
    made = Expr.__new__(Expr)
    made._type, made.op, made.args, made.data = type, op, tuple(args), data
    return made


def constant(type: Type, value: float) -> Expr:
    """Make a constant of `type`; integers wrap, floats are rounded."""
    return node("const", type, (), type.rounded(value) if type.is_float() else type.wrapped(int(value)))


Type._constant = constant


def plain(value: Any) -> Any:
    """Convert a NumPy number to Python's: to Halide, too, both are literals without a type."""
    return value.item() if isinstance(value, np.generic) else value


def as_expr(value: Any) -> Expr:
    """Convert a number to an Expr by Halide's rules: bool, int32 (int64 if large), float32; an Expr is unchanged."""
    if isinstance(value, Expr):
        return value
    value = plain(value)
    if isinstance(value, bool):
        return constant(BOOL, value)
    if isinstance(value, int):
        type = I32 if I32.can_represent(value) else I64
        if not type.can_represent(value):
            fail(f"{value} is too large for a 64-bit integer")
        return constant(type, value)
    if isinstance(value, float):
        made = constant(F32, value)
        if made.data != value and isfinite(value):
            _warn_of_precision(value)
        return made
    convert = getattr(value, "as_expr", None)
    if convert is None:
        if value is ...:
            fail("... is no value of an expression; `_` stands for all remaining coordinates")
        fail(f"a {type_name(value)} is no value of an expression; use a number or an Expr")
    return convert()  # type: ignore[no-any-return]


class PrecisionWarning(RuntimeWarning):
    """A Python float became a float32 of another value."""


_warned: dict[str, dict[Any, Any]] = {}
"""Python's registry of warnings per file, so that by default a line warns once."""


def _warn_of_precision(value: float) -> None:
    at = user_position()
    warnings.warn_explicit(
        f"{value!r} becomes a float32, which is not the same number; write hl.f32({value!r}), or hl.f64({value!r}) to "
        "keep its digits",
        PrecisionWarning,
        at.file,
        at.line,
        registry=_warned.setdefault(at.file, {}),
    )


def type_name(value: object) -> str:
    """Return the name of the Python type of `value`."""
    return type(value).__name__


def literal(type: Type, value: int) -> Expr:
    """Convert a Python integer to `type`, which it must fit."""
    if not type.is_float() and not type.can_represent(value):
        low, high = type.limits()
        fail(
            f"the integer {value} does not fit {type} ({low} to {high}), the type of the other operand; "
            "cast that operand to a wider type"
        )
    return constant(type, value)


def _is_literal(value: Any) -> bool:
    return isinstance(value, int) and I32.can_represent(value)


def operands(a: Any, b: Any) -> tuple[Expr, Expr]:
    """Convert both operands to one type: an integer literal takes the other's, else `match_types`."""
    a, b = plain(a), plain(b)
    if _is_literal(b) and isinstance(a, Expr):
        return a, literal(a._type, b)
    if _is_literal(a) and isinstance(b, Expr):
        return literal(b._type, a), b
    return match_types(as_expr(a), as_expr(b))


def match_types(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Convert both to Halide's common type: float wins, else the wider; signed if either is."""
    s, t = a._type, b._type
    if s == t:
        return a, b
    if s.is_float() != t.is_float():
        common = s if s.is_float() else t
    elif s.is_float():
        common = s if s.bits() > t.bits() else t
    else:
        bits = max(s.bits(), t.bits())
        common = UInt(bits) if s.is_uint() and t.is_uint() else Int(bits)
    return cast_to(common, a), cast_to(common, b)


def arithmetic(op: str, a: Any, b: Any) -> Expr:
    """Compute `a op b` after type promotion."""
    return binary(op, *operands(a, b))


def binary(op: str, a: Expr, b: Expr) -> Expr:
    """Compute `a op b` of one type. Integer constants are folded, unless the result overflows."""
    if a.op == "const" and b.op == "const" and op in _FOLD and a._type.bits() > 1 and not a._type.is_float():
        value = _FOLD[op](a.data, b.data)
        if a._type.can_represent(value):
            return constant(a._type, value)
    return node(op, BOOL if op in COMPARISONS else a._type, (a, b))


def _floor_division(a: Any, b: Any) -> Expr:
    quotient = arithmetic("div", a, b)
    return math_call("floor", quotient) if quotient._type.is_float() else quotient


def bitwise(op: str, a: Any, b: Any) -> Expr:
    """Compute `a & b`, `a | b`, `a ^ b`: of bools, or of integers of one signedness, in the wider type."""
    a, b = plain(a), plain(b)
    if _is_literal(b) and isinstance(a, Expr):
        a, b = a, literal(a._type, b)
    elif _is_literal(a) and isinstance(b, Expr):
        a, b = literal(b._type, a), b
    else:
        a, b = as_expr(a), as_expr(b)
    s, t = a._type, b._type
    if s.is_float() or t.is_float():
        fail(f"& | ^ take bools or integers, not {s} and {t}")
    if s.is_int() != t.is_int():
        fail(f"& | ^ take two signed or two unsigned integers, not {s} and {t}; cast one of them")
    bits = max(s.bits(), t.bits())
    common = s.with_bits(bits)
    return binary(op, cast_to(common, a), cast_to(common, b))


def shift(op: str, a: Expr, by: Any) -> Expr:
    """Compute `a << by` or `a >> by` in the wider of both widths; a negative `by` shifts the other way."""
    if a._type.is_float() or a._type.is_bool():
        fail(f"<< and >> take integers, not {a._type}")
    by = plain(by)
    if _is_literal(by):
        if by < 0:
            op, by = ("shr" if op == "shl" else "shl"), -by
        by = constant(UInt(a._type.bits()), by) if by < a._type.bits() else _too_far(by, a._type)
        return node(op, a._type, (a, by))
    by = as_expr(by)
    if by._type.is_float() or by._type.is_bool():
        fail(f"<< and >> shift by an integer, not by {by._type}")
    bits = max(a._type.bits(), by._type.bits())
    a, by = cast_to(a._type.with_bits(bits), a), cast_to(by._type.with_bits(bits), by)
    if by.op == "const":
        if abs(by.data) >= bits:
            _too_far(by.data, a._type)
        return shift(op, a, by.data)
    if by._type.is_uint():
        return node(op, a._type, (a, by))
    other = "shr" if op == "shl" else "shl"
    unsigned = UInt(bits)
    forth = node(op, a._type, (a, cast_to(unsigned, by)))
    back = node(other, a._type, (a, cast_to(unsigned, -by)))
    return node("select", a._type, (by >= 0, forth, back))


def _too_far(by: int, type: Type) -> Expr:
    fail(f"a shift by {by} bits is undefined for {type}")


def cast_to(type: Type, value: Expr) -> Expr:
    """Convert `value` to `type`; constants are folded."""
    if value._type == type:
        return value
    if value.op == "const":
        number = value.data
        if type.is_float():
            return constant(type, number)
        if isinstance(number, int):
            return constant(type, number)
        if isfinite(number) and type.can_represent(int(number)):
            return constant(type, int(number))
    return node("cast", type, (value,))


def integer_index(value: Expr, where: str) -> Expr:
    """Convert the integer `value` to a type for indices: 64 bits if 32 do not hold its type."""
    type = value._type
    if value.op == "const" and I64.can_represent(value.data):
        return constant(I32 if I32.can_represent(value.data) else I64, value.data)
    if type == UInt(64):
        fail(f"{where} {expr_text(value)} is uint64; cast it to int64")
    return cast_to(I32 if I32.can_represent(type) or type == I32 else I64, value)


def same(a: Expr, b: Expr) -> bool:
    """Whether two expressions are structurally equal."""
    if a is b:
        return True
    if (a.op, a.type(), len(a.args)) != (b.op, b.type(), len(b.args)) or a.data != b.data:
        return False
    return all(map(same, a.args, b.args))


def math_call(name: str, *args: Expr) -> Expr:
    """Call a function of floating-point values of one type."""
    return node("math", args[0]._type, args, name)


def absolute(a: Expr) -> Expr:
    """Return |a|; of a signed integer, an unsigned one."""
    if a._type.is_uint():
        return a
    return node("abs", UInt(a._type.bits()) if a._type.is_int() else a._type, (a,))


def power(a: Expr, b: Expr) -> Expr:
    """Return `a ** b`: repeated multiplication for a constant signed integer exponent; else in floating point."""
    if b.op == "const" and b._type.is_int():
        return _integer_power(a, b.data)
    type = a._type if a._type.is_float() and a._type.bits() in (16, 64) else F32
    return math_call("pow", cast_to(type, a), cast_to(type, b))


def _integer_power(a: Expr, n: int) -> Expr:
    if n < 0:
        return arithmetic("div", constant(a._type, 1), _integer_power(a, -n))
    if n == 0:
        return constant(a._type, 1)
    result = a
    for bit in bin(n)[3:]:
        result = binary("mul", result, result)
        if bit == "1":
            result = binary("mul", result, a)
    return result
