"""Types of the img dialect: functions over the integer grid, and their elements.

Pixels carry a signedness (`ui8`, `si16`), because arrays do; the arithmetic inside a stage is arith's,
which is signless and says the signedness in the operation. `storage_type` is the bridge.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

MAX_RANK = 8

_INT_WIDTHS = (8, 16, 32, 64)

ui8, ui16, ui32, ui64 = (IntegerType(w, Signedness.UNSIGNED) for w in _INT_WIDTHS)
si8, si16, si32, si64 = (IntegerType(w, Signedness.SIGNED) for w in _INT_WIDTHS)

ELEMENT_DTYPES: dict[Attribute, np.dtype] = {
    i1: np.dtype(np.bool_),
    **{IntegerType(w, Signedness.UNSIGNED): np.dtype(f"u{w // 8}") for w in _INT_WIDTHS},
    **{IntegerType(w, Signedness.SIGNED): np.dtype(f"i{w // 8}") for w in _INT_WIDTHS},
    f16: np.dtype(np.float16),
    f32: np.dtype(np.float32),
    f64: np.dtype(np.float64),
}
"""Element types and the NumPy dtypes that store them (bf16 has no NumPy dtype of its own)."""


def is_element_type(type: Attribute) -> bool:
    """Whether a pixel may have this type: i1, ui8..ui64, si8..si64, f16, bf16, f32, f64."""
    return type in ELEMENT_DTYPES or isinstance(type, BFloat16Type)


def storage_type(element: Attribute) -> Attribute:
    """The type that arith computes in for pixels of type `element`: `ui8` -> `i8`, `f32` -> `f32`."""
    if isinstance(element, IntegerType) and element.signedness.data != Signedness.SIGNLESS:
        return IntegerType(element.width.data)
    return element


def element_bytes(element: Attribute) -> int:
    """Bytes that one pixel of type `element` takes in memory (a bool takes one)."""
    if isinstance(element, IntegerType):
        return max(1, int(element.width.data) // 8)
    assert isinstance(element, BFloat16Type | Float16Type | Float32Type | Float64Type)
    return int(element.bitwidth) // 8


@irdl_attr_definition
class FuncType(ParametrizedAttribute, TypeAttribute):
    """`!img.func<2xf32>`: a pure function from points of a 2-D integer grid to f32.

    Dimension 0 is x, the innermost one, as in Halide. A function has a value at every grid point;
    only inputs and outputs have extents.
    """

    name = "img.func"

    rank: IntAttr
    element: Attribute

    def __init__(self, rank: int | IntAttr, element: Attribute):
        super().__init__(IntAttr(rank) if isinstance(rank, int) else rank, element)

    def verify(self) -> None:
        if not 0 <= self.rank.data <= MAX_RANK:
            raise VerifyException(f"a Func has 0 to {MAX_RANK} dimensions, not {self.rank.data}")
        if not is_element_type(self.element):
            raise VerifyException(
                f"{self.element} is no pixel type; use i1, ui8..ui64, si8..si64, f16, bf16, f32 or f64"
            )

    @property
    def storage(self) -> Attribute:
        """The signless type of a value read from this function."""
        return storage_type(self.element)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            rank = parser.parse_shape_dimension(allow_dynamic=False)
            parser.parse_shape_delimiter()
            return (IntAttr(rank), parser.parse_type())

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rank.data}x")
            printer.print_attribute(self.element)


__all__ = [
    "ELEMENT_DTYPES",
    "MAX_RANK",
    "FuncType",
    "bf16",
    "element_bytes",
    "f16",
    "f32",
    "f64",
    "i1",
    "is_element_type",
    "si8",
    "si16",
    "si32",
    "si64",
    "storage_type",
    "ui8",
    "ui16",
    "ui32",
    "ui64",
]
