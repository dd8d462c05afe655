"""Integer division as Halide defines it."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    IntegerType,
    UnitAttr,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import (
    HasCanonicalizationPatternsTrait,
    Pure,
)


class _CanonicalizeDivision(HasCanonicalizationPatternsTrait):
    @classmethod
    def get_canonicalization_patterns(cls):  # type: ignore[no-untyped-def]
        from tilefuse.passes.canonicalization.division import DIVISION_PATTERNS

        return DIVISION_PATTERNS


class _DivisionOp(IRDLOperation):
    """Common part of `img.div` and `img.mod`."""

    T: ClassVar = VarConstraint("T", base(IntegerType))

    lhs = operand_def(T)
    rhs = operand_def(T)
    signed = opt_prop_def(UnitAttr)
    result = result_def(T)

    traits = traits_def(Pure(), _CanonicalizeDivision())
    assembly_format = "(`signed` $signed^)? $lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, signed: bool):
        super().__init__(
            operands=[lhs, rhs],
            properties={"signed": UnitAttr() if signed else None},
            result_types=[lhs.type],
        )


@irdl_op_definition
class DivOp(_DivisionOp):
    """Halide's integer division: `a == a / b * b + a % b` with `0 <= a % b < |b|`; by zero it gives 0."""

    name = "img.div"


@irdl_op_definition
class ModOp(_DivisionOp):
    """Halide's integer remainder: never negative; by zero it gives 0."""

    name = "img.mod"
