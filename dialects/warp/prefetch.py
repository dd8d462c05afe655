"""`warp.prefetch`: the prefetch of lines of tiles that will be loaded later."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, IntegerAttr, IntegerType, MemRefType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.warp.box import box_of_property, box_property, check_box, parse_box, print_box
from tilefuse.dialects.warp.ops import INDEX


@irdl_op_definition
class WarpPrefetchOp(IRDLOperation):
    """`warp.prefetch %in[%j, %i] within [-4, 60, -4, 36] by 4 : memref<?x?xf32>`

    A hint that the points with first <= x < end and first <= y < end (relative to the indices; x first) are needed
    soon: the lanes of so many warps ask for the cache lines that every 128th byte of its rows lies in. So boxes side by
    side ask for all lines between them. Rows outside the buffer are left out; columns outside stand for its last.
    """

    name = "warp.prefetch"

    buffer = operand_def(MemRefType)
    indices = var_operand_def(INDEX)
    box = prop_def(DenseArrayBase)
    warps = prop_def(IntegerAttr)

    def __init__(
        self,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        columns: tuple[int, int],
        rows: tuple[int, int],
        warps: int,
    ):
        super().__init__(
            operands=[buffer, list(indices)],
            properties={"box": box_property(columns, rows), "warps": IntegerAttr(warps, i64)},
        )

    @property
    def within(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """(columns, rows), half-open."""
        return box_of_property(self.box)

    def verify_(self) -> None:
        type = self.buffer.type
        assert isinstance(type, MemRefType)
        if type.get_num_dims() < 2 or len(self.indices) != type.get_num_dims():
            raise VerifyException("warp.prefetch: a buffer of two dimensions or more, and as many indices")
        if not isinstance(type.element_type, IntegerType | AnyFloat):
            raise VerifyException(f"warp.prefetch: of integers or floats, not {type.element_type}")
        check_box(self, self.box)
        if any(end <= first for first, end in self.within) or self.warps.value.data < 1:
            raise VerifyException("warp.prefetch: within is empty, or by no warps")

    @classmethod
    def parse(cls, parser: Parser) -> WarpPrefetchOp:
        buffer = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        box = parse_box(parser)
        parser.parse_keyword("by")
        warps = parser.parse_integer()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls(
            parser.resolve_operand(buffer, type),
            [parser.resolve_operand(i, INDEX) for i in indices],
            *box,
            warps,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        print_box(printer, self.within)
        printer.print_string(f" by {self.warps.value.data} : ")
        printer.print_attribute(self.buffer.type)
