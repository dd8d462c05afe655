"""`memref.prefetch`, which xDSL's memref dialect lacks, as MLIR has it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

INDEX = IndexType()


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """`memref.prefetch %in[%j, %i], read, locality<2>, data : memref<?x?xf32>`

    A hint that the cache line of an element is read soon, or written (`write`). Of the localities, 3 is the first-level
    cache and those below are the second. Prefetches of instructions are left out.
    """

    name = "memref.prefetch"

    memref = operand_def(MemRefType)
    indices = var_operand_def(INDEX)
    locality = prop_def(IntegerAttr, prop_name="localityHint")
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    is_data_cache = prop_def(BoolAttr, prop_name="isDataCache")

    def __init__(self, memref: SSAValue, indices: Sequence[SSAValue], locality: int = 2, *, is_write: bool = False):
        super().__init__(
            operands=[memref, list(indices)],
            properties={
                "localityHint": IntegerAttr(locality, i32),
                "isWrite": BoolAttr.from_bool(is_write),
                "isDataCache": BoolAttr.from_bool(True),
            },
        )

    @property
    def level(self) -> int:
        """The cache that the line is loaded into: 1 or 2."""
        return 1 if self.locality.value.data == 3 else 2

    def verify_(self) -> None:
        type = self.memref.type
        assert isinstance(type, MemRefType)
        if len(self.indices) != type.get_num_dims():
            raise VerifyException(f"memref.prefetch: {type.get_num_dims()} indices, one per dimension")
        if not self.is_data_cache.value.data:
            raise VerifyException("memref.prefetch: of data, not of instructions")
        if not 0 <= self.locality.value.data <= 3:
            raise VerifyException("memref.prefetch: a locality is 0 to 3")

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        memref = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        parser.parse_punctuation(",")
        is_write = parser.parse_optional_keyword("write") is not None
        if not is_write:
            parser.parse_keyword("read")
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        with parser.in_angle_brackets():
            locality = parser.parse_integer()
        parser.parse_punctuation(",")
        parser.parse_keyword("data")
        parser.parse_punctuation(":")
        type = parser.parse_type()
        at = [parser.resolve_operand(i, INDEX) for i in indices]
        return cls(parser.resolve_operand(memref, type), at, locality, is_write=is_write)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        access = "write" if self.is_write.value.data else "read"
        printer.print_string(f", {access}, locality<{self.locality.value.data}>, data : ")
        printer.print_attribute(self.memref.type)
