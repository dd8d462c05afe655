"""Printing a line where a value is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import Float64Type, StringAttr, f64, i1, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    EqAttrConstraint,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.formats import kinds_of


@irdl_op_definition
class PrintOp(IRDLOperation):
    """Print a line of numbers and text where the op is computed and `condition` holds; the result is its operand.

    `format` holds `%lld`, `%llu` and `%f` for the numbers, which are i64 and f64, and `%%` for a percent sign. To the
    passes it is a pure op: the line comes as often as the value is computed, and never if nothing needs the value.
    """

    name = "img.print"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    condition = operand_def(i1)
    numbers = var_operand_def(AnyOf((EqAttrConstraint(f64), EqAttrConstraint(i64))))
    format = prop_def(StringAttr)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = (
        "$value `when` $condition `,` $format (`(` $numbers^ `:` type($numbers) `)`)? attr-dict `:` type($value)"
    )

    def __init__(self, value: SSAValue, condition: SSAValue, numbers: Sequence[SSAValue], format: str):
        super().__init__(
            operands=[value, condition, list(numbers)],
            properties={"format": StringAttr(format)},
            result_types=[value.type],
        )

    def verify_(self) -> None:
        kinds = kinds_of(self.format.data)
        if kinds is None:
            raise VerifyException(f'the format "{self.format.data}" has a conversion other than %lld, %llu, %f and %%')
        types = ["%f" if isinstance(n.type, Float64Type) else "%lld" for n in self.numbers]
        if [k.replace("u", "d") for k in kinds] != types:
            raise VerifyException(f"the format has {len(kinds)} numbers ({' '.join(kinds) or 'none'}), not {types}")


def prints(op: Operation) -> bool:
    """Whether a stage prints lines: then it is computed once per point, by a kernel that stores it."""
    # not `walk`: bodies are flat, and every stage is visited by several passes
    return any(isinstance(inner, PrintOp) for region in op.regions for block in region.blocks for inner in block.ops)
