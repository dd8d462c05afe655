"""`gpu.shuffle`, which xDSL's gpu dialect lacks, as MLIR has it; loaded in place of plain `gpu`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i1, i32
from xdsl.dialects.gpu import GPU
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Dialect, Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
)
from xdsl.utils.str_enum import StrEnum


class ShuffleMode(StrEnum):
    """The lane that a value comes from: `up` is the lane with a smaller index, `down` with a larger."""

    Up = "up"
    Down = "down"
    Xor = "xor"
    Idx = "idx"


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """`#gpu<shuffle_mode up>`"""

    name = "gpu.shuffle_mode"


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """The value of another lane of the warp. All lanes must take part."""

    name = "gpu.shuffle"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    offset = operand_def(i32)
    width = operand_def(i32)
    mode = prop_def(ShuffleModeAttr)
    shuffle_result = result_def(T)
    valid = result_def(i1)

    assembly_format = "$mode $value `,` $offset `,` $width attr-dict `:` type($value)"

    def __init__(
        self,
        value: SSAValue | Operation,
        offset: SSAValue | Operation,
        width: SSAValue | Operation,
        mode: ShuffleMode,
    ):
        super().__init__(
            operands=[value, offset, width],
            properties={"mode": ShuffleModeAttr(mode)},
            result_types=[SSAValue.get(value).type, i1],
        )


GPU_WITH_SHUFFLE = Dialect("gpu", [*GPU.operations, ShuffleOp], [*GPU.attributes, ShuffleModeAttr])
