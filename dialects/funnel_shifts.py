"""`llvm.intr.fshl` and `llvm.intr.fshr`, which xDSL's llvm dialect lacks, as MLIR has them: one instruction on GPUs."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure


class _FunnelShift(IRDLOperation):
    """Shift of two words, `high` and `low`, as one, by `amount` modulo 32."""

    high = operand_def(i32)
    low = operand_def(i32)
    amount = operand_def(i32)
    result = result_def(i32)

    traits = traits_def(Pure())

    def __init__(self, high: SSAValue | Operation, low: SSAValue | Operation, amount: SSAValue | Operation):
        super().__init__(operands=[high, low, amount], result_types=[i32])

    @classmethod
    def parse(cls, parser: Parser) -> _FunnelShift:
        at = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if len(operands) != 3:
            parser.raise_error("expected three operands", at)
        return cls(*parser.resolve_operands(operands, type.inputs.data, at))  # type: ignore[attr-defined]

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(" : (i32, i32, i32) -> i32")


@irdl_op_definition
class FshlOp(_FunnelShift):
    """The upper word after a shift to the left: `llvm.intr.fshl(%high, %low, %amount) : (i32, i32, i32) -> i32`."""

    name = "llvm.intr.fshl"


@irdl_op_definition
class FshrOp(_FunnelShift):
    """The lower word after a shift to the right: `llvm.intr.fshr(%high, %low, %amount) : (i32, i32, i32) -> i32`."""

    name = "llvm.intr.fshr"


FUNNEL_SHIFTS = Dialect("llvm", [FshlOp, FshrOp])
