"""`within [x first, x end, y first, y end]`: the points of a tile that an operation is about, half-open."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i64
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

Window = tuple[tuple[int, int], tuple[int, int]]
"""(columns, rows), half-open."""


def box_property(columns: tuple[int, int], rows: tuple[int, int]) -> DenseArrayBase[IntegerType]:
    """The property that holds a box."""
    return DenseArrayBase.from_list(i64, [*columns, *rows])


def box_of_property(property: DenseArrayBase[IntegerType]) -> Window:
    """The box that a property holds."""
    x0, x1, y0, y1 = (int(v) for v in property.get_values())
    return (x0, x1), (y0, y1)


def check_box(op: Operation, property: DenseArrayBase[IntegerType]) -> None:
    """Raise VerifyException for a property that holds no box."""
    if len(property) != 4:
        raise VerifyException(f"{op.name}: within is [x first, x end, y first, y end]")


def parse_box(parser: Parser) -> Window:
    """`within [0, 120, 0, 28]`"""
    parser.parse_keyword("within")
    at = parser.pos
    box = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    if len(box) != 4:
        parser.raise_error("expected [x first, x end, y first, y end]", at)
    return (box[0], box[1]), (box[2], box[3])


def print_box(printer: Printer, box: Window) -> None:
    """` within [0, 120, 0, 28]`"""
    (x0, x1), (y0, y1) = box
    printer.print_string(f" within [{x0}, {x1}, {y0}, {y1}]")
