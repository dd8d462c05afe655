"""Types of the img dialect: functions over the integer grid, and their elements.

Pixels carry a signedness (`ui8`, `si16`), because arrays do; the arithmetic inside a stage is arith's,
which is signless and says the signedness in the operation. `storage_type` is the bridge.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, IntegerType, Signedness, f16, f32, f64, i1
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.elements import ELEMENTS, FLOATS, INTEGER_WIDTHS, PIXEL_TYPES

MAX_RANK = 8

ui8, ui16, ui32, ui64 = (IntegerType(w, Signedness.UNSIGNED) for w in (8, 16, 32, 64))
si8, si16, si32, si64 = (IntegerType(w, Signedness.SIGNED) for w in (8, 16, 32, 64))
_SIGNLESS = {w: IntegerType(w) for w in INTEGER_WIDTHS}  # made once: verification asks at every read


def storage_type(element: Attribute) -> Attribute:
    """Return the type that arith computes in for pixels of type `element`: `ui8` -> `i8`, `f32` -> `f32`."""
    if isinstance(element, IntegerType) and element.signedness.data != Signedness.SIGNLESS:
        width = element.width.data
        return _SIGNLESS[width] if width in _SIGNLESS else IntegerType(width)
    return element


def element_bytes(element: Attribute) -> int:
    """Return bytes that one pixel of type `element` takes in memory (a bool takes one)."""
    if isinstance(element, IntegerType):
        return max(1, int(element.width.data) // 8)
    return FLOATS[element].bytes


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
        if self.element not in ELEMENTS:
            raise VerifyException(f"{self.element} is not a pixel type; use {PIXEL_TYPES}")

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
    "MAX_RANK",
    "FuncType",
    "element_bytes",
    "f16",
    "f32",
    "f64",
    "i1",
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
