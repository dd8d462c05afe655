"""The property `within [x first, x end, y first, y end]`: a half-open box of a tile's points."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i64
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

ColumnsAndRows = tuple[tuple[int, int], tuple[int, int]]
"""(columns, rows), half-open."""


def box_property(columns: tuple[int, int], rows: tuple[int, int]) -> DenseArrayBase[IntegerType]:
    """Return the property of a box."""
    return DenseArrayBase.from_list(i64, [*columns, *rows])


def box_of_property(property: DenseArrayBase[IntegerType]) -> ColumnsAndRows:
    """Return the box of a property."""
    x0, x1, y0, y1 = (int(v) for v in property.get_values())
    return (x0, x1), (y0, y1)


def check_box(op: Operation, property: DenseArrayBase[IntegerType]) -> None:
    """Raise VerifyException for an invalid box property."""
    if len(property) != 4:
        raise VerifyException(f"{op.name}: within is [x first, x end, y first, y end]")


def parse_box(parser: Parser) -> ColumnsAndRows:
    """Parse `within [0, 120, 0, 28]`."""
    parser.parse_keyword("within")
    at = parser.pos
    box = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    if len(box) != 4:
        parser.raise_error("expected [x first, x end, y first, y end]", at)
    return (box[0], box[1]), (box[2], box[3])


def print_box(printer: Printer, box: ColumnsAndRows) -> None:
    """Print ` within [0, 120, 0, 28]`."""
    (x0, x1), (y0, y1) = box
    printer.print_string(f" within [{x0}, {x1}, {y0}, {y1}]")
