"""`memref.atomic_rmw` with MLIR's syntax and its kinds by name; xDSL's has neither."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

INDEX = IndexType()

ATOMIC_KINDS = {"addi": 1, "andi": 2, "assign": 3, "maxs": 6, "maxu": 7, "mins": 10, "minu": 11, "ori": 14, "xori": 15}
"""The ways to change an integer, with MLIR's numbers (`arith::AtomicRMWKind`); sums of floats would have no order."""
_NAMES = {number: name for name, number in ATOMIC_KINDS.items()}
ATOMIC_WIDTHS = (32, 64)
"""Bits of the integers that every GPU changes atomically."""


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """`%old = memref.atomic_rmw addi %v, %h[%i] : (i32, memref<?xi32>) -> i32`

    The element and `%v` are joined and stored as one step that nobody else comes between; gives the element as it was.
    """

    name = "memref.atomic_rmw"

    value = operand_def(IntegerType)
    memref = operand_def(MemRefType)
    indices = var_operand_def(INDEX)
    kind = prop_def(IntegerAttr)
    result = result_def(IntegerType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, kind: str, value: SSAValue, memref: SSAValue, indices: Sequence[SSAValue]):
        super().__init__(
            operands=[value, memref, list(indices)],
            properties={"kind": IntegerAttr(ATOMIC_KINDS[kind], i64)},
            result_types=[value.type],
        )

    @property
    def how(self) -> str:
        """The name of the kind."""
        return _NAMES[self.kind.value.data]

    def verify_(self) -> None:
        type, element = self.memref.type, self.value.type
        assert isinstance(type, MemRefType)
        assert isinstance(element, IntegerType)
        if self.kind.value.data not in _NAMES:
            raise VerifyException(f"memref.atomic_rmw: its kind is one of {', '.join(ATOMIC_KINDS)}")
        if type.element_type != element or self.result.type != element:
            raise VerifyException(f"memref.atomic_rmw: a value of {element} does not change an element of {type}")
        if element.width.data not in ATOMIC_WIDTHS:
            raise VerifyException(
                f"memref.atomic_rmw: integers of {' or '.join(map(str, ATOMIC_WIDTHS))} bits, not {element}"
            )
        if len(self.indices) != type.get_num_dims():
            raise VerifyException(f"memref.atomic_rmw: {type.get_num_dims()} indices, one per dimension")

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        pos = parser.pos
        kind = parser.parse_identifier()
        if kind not in ATOMIC_KINDS:
            parser.raise_error(f"memref.atomic_rmw: its kind is one of {', '.join(ATOMIC_KINDS)}", pos)
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        with parser.in_parens():
            element = parser.parse_type()
            parser.parse_punctuation(",")
            type = parser.parse_type()
        parser.parse_punctuation("->")
        parser.parse_type()
        return cls(
            kind,
            parser.resolve_operand(value, element),
            parser.resolve_operand(memref, type),
            [parser.resolve_operand(i, INDEX) for i in indices],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.how} ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        printer.print_string(" : (")
        printer.print_list((self.value.type, self.memref.type), printer.print_attribute)
        printer.print_string(") -> ")
        printer.print_attribute(self.result.type)
