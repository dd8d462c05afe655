"""The table of element types: one row each, with the facts that frontend, evaluator, printers and runtime read.

A new float is a row here; if NumPy lacks it, its bits in `evaluator/narrow_floats.py`; if it has less than 32 bits,
its conversions in `lowering/printers/narrow_floats.py`. No other file names it (`tests/test_element_types.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, bf16, f16, f32, f64, i1
from xdsl.ir import Attribute

INTEGER_WIDTHS = (8, 16, 32, 64)
"""Bits of the integer types, signed and unsigned."""

_CODES = {"int": Signedness.SIGNED, "uint": Signedness.UNSIGNED}

Array = np.ndarray


@dataclass(frozen=True)
class ElementType:
    """A pixel type, with the type in which stages compute its values."""

    type: Attribute
    """Pixel type, with signedness: `ui8`, `si16`, `f32`."""
    code: str
    """Halide's kind of type: `int`, `uint` (a bool, too), `float` or `bfloat`."""
    bits: int
    dtype: str
    """Name of the dtype of arrays of it."""
    in_numpy: bool = True
    """Whether NumPy has that dtype; if not, the package ml_dtypes does."""
    significand: int = 0
    """Bits of a float's significand, including the leading one."""
    exponent: int = 0
    """Exponent of a float's largest numbers, which are just below 2^(exponent + 1)."""

    @property
    def name(self) -> str:
        """Return the type's name in IR text."""
        return str(self.type)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.significand > 0

    @property
    def is_narrow_float(self) -> bool:
        """Whether kernels compute it in f32, and round after each operation."""
        return self.is_float and self.bits < 32

    @cached_property
    def storage(self) -> Attribute:
        """The signless type that arith computes in: `i8`, `i16`, `f32`, `i1`."""
        signed = isinstance(self.type, IntegerType) and self.type.signedness.data != Signedness.SIGNLESS
        return IntegerType(self.bits) if signed else self.type

    @property
    def bytes(self) -> int:
        """Bytes of a pixel in memory; a bool takes one."""
        return max(1, self.bits // 8)

    @cached_property
    def limits(self) -> tuple[int, int] | tuple[float, float]:
        """Return the least and the greatest number of the type."""
        if self.is_float:
            greatest = math.ldexp(2 - 2.0 ** (1 - self.significand), self.exponent)
            return -greatest, greatest
        if self.code == "int":
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1

    def rounded(self, value: float) -> float:
        """Round a number to this float, once, to nearest even; infinite where it is too large."""
        if not math.isfinite(value) or value == 0:
            return value
        _, exponent = math.frexp(value)
        last = max(exponent - self.significand, 2 - self.exponent - self.significand)
        near = math.ldexp(round(math.ldexp(value, -last)), last) if exponent <= self.exponent + 1 else math.inf
        return math.copysign(near if abs(near) <= self.limits[1] else math.inf, value)


def _integer(code: str, width: int) -> ElementType:
    return ElementType(IntegerType(width, _CODES[code]), code, width, f"{code}{width}")


_ROWS = (
    *(_integer(code, width) for code in _CODES for width in INTEGER_WIDTHS),
    ElementType(i1, "uint", 1, "bool"),
    ElementType(f16, "float", 16, "float16", significand=11, exponent=15),
    ElementType(bf16, "bfloat", 16, "bfloat16", in_numpy=False, significand=8, exponent=127),
    ElementType(f32, "float", 32, "float32", significand=24, exponent=127),
    ElementType(f64, "float", 64, "float64", significand=53, exponent=1023),
)

ELEMENTS: dict[Attribute, ElementType] = {row.type: row for row in _ROWS}
"""The rows by their types."""

FLOATS: dict[Attribute, ElementType] = {row.type: row for row in _ROWS if row.is_float}
"""The floats among them."""

*_BUT_LAST, _LAST = (row.name for row in FLOATS.values())
_ENDS = tuple(f"{sign}{INTEGER_WIDTHS[0]}..{sign}{INTEGER_WIDTHS[-1]}" for sign in ("ui", "si"))
PIXEL_TYPES = f"i1, {', '.join(_ENDS)}, {', '.join(_BUT_LAST)} or {_LAST}"
"""Names of all types, for errors."""


_OF_ML_DTYPES = {row.dtype for row in _ROWS if not row.in_numpy}


def array_dtype(name: str) -> np.dtype:
    """Return the dtype of this name in the table. ImportError if it needs ml_dtypes, which is missing."""
    if name not in _OF_ML_DTYPES:
        return np.dtype(name)
    import ml_dtypes  # type: ignore[import-not-found, unused-ignore]

    found: np.dtype = np.dtype(getattr(ml_dtypes, name))
    return found
