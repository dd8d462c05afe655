"""`nvgpu.device_async_copy` and the ops on its groups, which xDSL lacks, as MLIR has them.

Copies from global to shared memory that run beside the thread that began them (cp.async, sm_80 and later). Each
thread waits for its own; a barrier then makes them seen by the block. Where a machine has no such copies they are
ordinary ones, done at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType, UnitAttr, i32
from xdsl.ir import Dialect, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

if TYPE_CHECKING:
    from xdsl.parser import Parser
    from xdsl.printer import Printer

COPY_BYTES = (4, 8, 16)
"""Sizes of a copy that the hardware has."""


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """`!nvgpu.device.async.token`: a copy or a group of copies."""

    name = "nvgpu.device.async.token"


@irdl_op_definition
class DeviceAsyncCopyOp(IRDLOperation):
    """Begin to copy `dstElements` adjacent elements; both addresses are multiples of the size of the copy."""

    name = "nvgpu.device_async_copy"

    dst = operand_def(MemRefType)
    dst_indices = var_operand_def(IndexType())
    src = operand_def(MemRefType)
    src_indices = var_operand_def(IndexType())
    src_elements = opt_operand_def(IndexType())
    dst_elements = prop_def(IntegerAttr[IndexType], prop_name="dstElements")
    bypass_l1 = opt_prop_def(UnitAttr, prop_name="bypassL1")
    token = result_def(TokenType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    assembly_format = (
        "$src `[` $src_indices `]` `,` $dst `[` $dst_indices `]` `,` $dstElements (`,` $src_elements^)? attr-dict "
        "`:` type($src) `to` type($dst)"
    )

    def __init__(
        self,
        src: SSAValue,
        src_indices: Sequence[SSAValue],
        dst: SSAValue,
        dst_indices: Sequence[SSAValue],
        elements: int,
        bypass_l1: bool = False,
    ):
        super().__init__(
            operands=[dst, list(dst_indices), src, list(src_indices), None],
            properties={
                "dstElements": IntegerAttr(elements, IndexType()),
                "bypassL1": UnitAttr() if bypass_l1 else None,
            },
            result_types=[TokenType()],
        )

    @property
    def elements(self) -> int:
        """The number of elements copied."""
        return self.dst_elements.value.data

    def verify_(self) -> None:
        src, dst = self.src.type, self.dst.type
        assert isinstance(src, MemRefType)
        assert isinstance(dst, MemRefType)
        space = dst.memory_space
        if not isinstance(space, IntegerAttr) or space.value.data != 3:
            raise VerifyException("a device_async_copy goes to shared memory, which is space 3")
        if src.element_type != dst.element_type:
            raise VerifyException("a device_async_copy does not convert elements")
        if len(self.src_indices) != src.get_num_dims() or len(self.dst_indices) != dst.get_num_dims():
            raise VerifyException("a device_async_copy takes an index per dimension")


@irdl_op_definition
class DeviceAsyncCreateGroupOp(IRDLOperation):
    """Collect the copies that this thread has begun since the last group into a group; also without operands."""

    name = "nvgpu.device_async_create_group"

    copies = var_operand_def(TokenType)
    token = result_def(TokenType)

    def __init__(self) -> None:
        super().__init__(operands=[[]], result_types=[TokenType()])

    @classmethod
    def parse(cls, parser: Parser) -> DeviceAsyncCreateGroupOp:
        """Read `$copies attr-dict`, where results on the next line are no copies."""
        begin, copies = parser.pos, []
        while (copy := parser.parse_optional_unresolved_operand()) is not None:
            copies.append(copy)
            if parser.parse_optional_punctuation(",") is None:
                break
        if copies and (parser.parse_optional_punctuation("=") or parser.parse_optional_punctuation(":")):
            parser._resume_from(begin)
            copies = []
        return cls.create(
            operands=[parser.resolve_operand(copy, TokenType()) for copy in copies],
            result_types=[TokenType()],
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        if self.copies:
            printer.print_string(" ")
            printer.print_list(self.copies, printer.print_ssa_value)
        elif not self.attributes:
            printer.print_string(" {}")  # MLIR's own parser takes the results on the next line for copies
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class DeviceAsyncWaitOp(IRDLOperation):
    """Wait until all groups of this thread but the last `numGroups` are there; `group` is one of them."""

    name = "nvgpu.device_async_wait"

    group = operand_def(TokenType)
    num_groups = opt_prop_def(IntegerAttr[IntegerType], prop_name="numGroups")

    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "$group attr-dict"

    def __init__(self, group: SSAValue | Operation, pending: int = 0):
        super().__init__(operands=[group], properties={"numGroups": IntegerAttr(pending, i32)})

    @property
    def pending(self) -> int:
        """Groups that need not be there."""
        return 0 if self.num_groups is None else self.num_groups.value.data


NVGPU = Dialect("nvgpu", [DeviceAsyncCopyOp, DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp], [TokenType])
