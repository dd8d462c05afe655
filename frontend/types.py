"""Scalar types under Halide's names: `UInt(8)`, `Int(16)`, `Float(32)`, `Bool()`."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Attribute

from tilefuse.dialects.img.elements import ELEMENTS
from tilefuse.frontend.errors import fail

_FACTS = {(row.code, row.bits): row for row in ELEMENTS.values()}


class TypeCode(Enum):
    """Kinds of types."""

    Int = 0
    UInt = 1
    Float = 2
    Handle = 3


class Type:
    """The type of an expression or pixel: a code (`int`, `uint`, `float`, `bfloat`) and a number of bits."""

    __slots__ = ("_bits", "_code", "_lanes", "element", "storage")

    element: Attribute
    """The type of a pixel in the img dialect: `ui8`, `si16`, `f32`, `i1`."""
    storage: Attribute
    """The signless type that arithmetic is done in: `i8`, `i16`, `f32`, `i1`."""

    _constant: ClassVar[Callable[[Type, float], Any]]
    """An Expr of a type and a number: `expr`, which stands on this module, puts it here."""

    def __init__(self, code: str | TypeCode | None = None, bits: int = 0, lanes: int = 1):
        if code is None:
            code, bits, lanes = "handle", 0, 0
        if isinstance(code, TypeCode):
            code = code.name.lower()
        self._code, self._bits, self._lanes = code, int(bits), int(lanes)
        if code != "handle" and (code, bits) not in _FACTS:
            fail(f"there is no type {code}{bits}")
        if code == "handle" or lanes != 1:
            # Pointers and vectors, which no pixels are.
            self.element = self.storage = NoneAttr()
            return
        facts = _FACTS[code, self._bits]
        self.element, self.storage = facts.type, facts.storage

    def bits(self) -> int:
        """Return the width in bits; 1 for a bool."""
        return self._bits

    def bytes(self) -> int:
        """Return the bytes in memory; 1 for a bool."""
        return max(1, self._bits // 8)

    def is_bool(self) -> bool:
        """Whether the type is `Bool()`, which is `UInt(1)`."""
        return self._bits == 1

    def is_int(self) -> bool:
        """Whether the type is a signed integer."""
        return self._code == "int"

    def is_uint(self) -> bool:
        """Whether the type is an unsigned integer; a bool is one, as in Halide."""
        return self._code == "uint"

    def code(self) -> TypeCode:
        """Return the kind of the type."""
        return TypeCode[{"int": "Int", "uint": "UInt", "handle": "Handle"}.get(self._code, "Float")]

    def lanes(self) -> int:
        """Return the number of lanes: 1 for all types of pixels and Exprs."""
        return self._lanes

    def is_scalar(self) -> bool:
        """Whether the type has one lane."""
        return self._lanes == 1

    def is_vector(self) -> bool:
        """Whether the type has several lanes."""
        return self._lanes > 1

    def is_handle(self) -> bool:
        """Whether the type is a pointer, which pixels never are."""
        return self._code == "handle"

    def same_handle_type(self, other: Type) -> bool:
        """Whether both are handles; all handles are of one type here."""
        return self.is_handle() and other.is_handle()

    def element_of(self) -> Type:
        """Return the type of one lane."""
        return self.with_lanes(1)

    def with_lanes(self, lanes: int) -> Type:
        """Return the type with another number of lanes."""
        return Type(self._code, self._bits, lanes)

    def with_code(self, code: TypeCode) -> Type:
        """Return the type of another kind with the same width."""
        return Type(code, self._bits, self._lanes)

    def check_pixel(self, what: str) -> None:
        """Raise PipelineError if pixels, and so values in a pipeline, cannot have the type."""
        if self.is_handle():
            fail(f"{what} cannot be of handles: there are no pointers in pipelines")
        if self._lanes != 1:
            fail(f"{what} cannot be of {self}: a type there has one lane, and vectors are made by the compiler")

    def is_max(self, value: int) -> bool:
        """Whether a number is the largest of the type."""
        return value == self.limits()[1]

    def is_min(self, value: int) -> bool:
        """Whether a number is the least of the type."""
        return value == self.limits()[0]

    def is_float(self) -> bool:
        """Whether the type is floating-point."""
        return self._code in ("float", "bfloat")

    def is_bfloat(self) -> bool:
        """Whether the type is `BFloat(16)`."""
        return self._code == "bfloat"

    def with_bits(self, bits: int) -> Type:
        """Return the type of the same kind with another width."""
        return _TYPES[self._code, bits] if self._lanes == 1 else Type(self._code, bits, self._lanes)

    def min(self) -> Any:
        """Return the least value, as an Expr of this type."""
        return self._constant(self.limits()[0])

    def max(self) -> Any:
        """Return the largest value, as an Expr of this type; infinity for floats, as in Halide."""
        return self._constant(self.limits()[1])

    def limits(self) -> tuple[float, float]:
        """Return (min, max) as Python numbers: integers for integer types, infinities for floats."""
        if self.is_float():
            return -math.inf, math.inf
        if self.is_int():
            return -(1 << (self._bits - 1)), (1 << (self._bits - 1)) - 1
        return 0, (1 << self._bits) - 1

    def can_represent(self, other: Type | int | float) -> bool:
        """Whether every value of another type, or one number, can be converted to this type without change."""
        if isinstance(other, Type):
            if other.is_float():
                return self == other or (self.is_float() and other.bits() < self._bits)
            low, high = other.limits()
            if self.is_float():
                return other.bits() - other.is_int() <= _FACTS[self._code, self._bits].significand
            own_low, own_high = self.limits()
            return own_low <= low and high <= own_high
        if self.is_float():
            return self.rounded(other) == other
        low, high = self.limits()
        return other == int(other) and low <= other <= high

    def rounded(self, value: float) -> float:
        """Return `value` rounded to this floating-point type; infinite if it is too large."""
        return _FACTS[self._code, self._bits].rounded(float(value))

    def wrapped(self, value: int) -> int:
        """Return `value` modulo 2^bits, in the range of this integer type."""
        value &= (1 << self._bits) - 1
        return value - (1 << self._bits) if self.is_int() and value >> (self._bits - 1) else value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self._code, self._bits))

    def _key(self) -> tuple[str, int, int]:
        return self._code, self._bits, self._lanes

    def __str__(self) -> str:
        name = "bool" if self._bits == 1 else f"{self._code}{self._bits}"
        return f"{name}x{self._lanes}" if self._lanes > 1 else name

    def __repr__(self) -> str:
        return f"<halide.Type {self}>"


_TYPES = {key: Type(*key) for key in _FACTS}

_BY_DTYPE = {np.dtype(row.dtype): _TYPES[key] for key, row in _FACTS.items() if row.in_numpy}


def _find(code: str, bits: int, name: str, lanes: int) -> Type:
    try:
        found = _TYPES[code, bits]
        return found if lanes == 1 else found.with_lanes(lanes)
    except KeyError:
        widths = ", ".join(str(b) for c, b in _TYPES if c == code)
        fail(f"there is no {name}({bits}); widths are {widths}")


def Int(bits: int, lanes: int = 1) -> Type:
    """Return a signed integer type of 8, 16, 32 or 64 bits."""
    return _find("int", bits, "Int", lanes)


def UInt(bits: int, lanes: int = 1) -> Type:
    """Return an unsigned integer type of 1 (a bool), 8, 16, 32 or 64 bits."""
    return _find("uint", bits, "UInt", lanes)


def Float(bits: int, lanes: int = 1) -> Type:
    """Return a floating-point type of 16, 32 or 64 bits."""
    return _find("float", bits, "Float", lanes)


def BFloat(bits: int, lanes: int = 1) -> Type:
    """Return the 16-bit brain-float type."""
    return _find("bfloat", bits, "BFloat", lanes)


def Handle() -> Type:
    """Return the type of pointers, which pixels cannot have."""
    return Type("handle", 64)


def Bool(lanes: int = 1) -> Type:
    """Return the type of true and false."""
    return _find("uint", 1, "Bool", lanes)


def type_of_element(element: Attribute) -> Type:
    """Return the pixel type that the img dialect writes as `element`."""
    return next(type for type in _TYPES.values() if type.element == element)


def type_of_dtype(dtype: np.dtype) -> Type:
    """Return the type of a NumPy array's elements; PipelineError for dtypes that pixels cannot have."""
    found = _BY_DTYPE.get(dtype.newbyteorder("="))
    if found is None:
        fail(f"arrays of {dtype} cannot be pixels; use bool, (u)int8 to (u)int64, or float16 to float64")
    return found
