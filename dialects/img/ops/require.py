"""Requirements of a call: conditions on its numbers, or on the values at all computed points."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float64Type, IntegerType, Signedness, StringAttr, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.formats import kinds_of, unescaped
from tilefuse.dialects.img.ops.parents import in_pipeline
from tilefuse.dialects.img.types import FuncType


@irdl_op_definition
class RequireOp(IRDLOperation):
    """Refuse a call, before anything is written, unless `condition` holds.

    ```
    img.require %positive, "the gain is %f" (%gain : f64) : i1
    img.require %f_holds, "%lld is odd" (%f_number : !img.func<2xsi64>) : !img.func<2xi1> for %f : !img.func<2xui8>
    ```

    The condition is a scalar; or it is a function, which holds at every point at which a call computes the stage or
    update that gives `guarded`: in its coordinates, those of an update with its domain behind them. `format` and its
    numbers say what is wrong, as of `img.print`.
    """

    name = "img.require"

    condition = operand_def()
    numbers = var_operand_def()
    guarded = opt_operand_def(FuncType)
    format = prop_def(StringAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    # not Pure: it belongs to the call though nothing needs it
    traits = lazy_traits_def(lambda: (in_pipeline(),))
    assembly_format = (
        "$condition `,` $format (`(` $numbers^ `:` type($numbers) `)`)? `:` type($condition) "
        "(`for` $guarded^ `:` type($guarded))? attr-dict"
    )

    def __init__(self, condition: SSAValue, numbers: Sequence[SSAValue], format: str, guarded: SSAValue | None = None):
        super().__init__(
            operands=[condition, list(numbers), [] if guarded is None else [guarded]],
            properties={"format": StringAttr(format)},
        )

    def verify_(self) -> None:
        kinds = kinds_of(self.format.data)
        if kinds is None:
            raise VerifyException(f'the format "{self.format.data}" has a conversion other than %lld, %llu, %f and %%')
        types = [self._element(value, "a number") for value in self.numbers]
        if self._element(self.condition, "the condition") != i1:
            raise VerifyException(f"the condition must be an i1, not {self.condition.type}")
        if [k if self.guarded is not None else k.replace("u", "d") for k in kinds] != list(map(_kind, types)):
            raise VerifyException(f"the format has {len(kinds)} numbers ({' '.join(kinds) or 'none'}), not {types}")

    def refusal(self, numbers: Sequence[int | float]) -> str:
        """Format the message of a violation; integers may come with or without a sign."""
        shown = [_read(kind, number) for kind, number in zip(kinds_of(self.format.data) or (), numbers, strict=True)]
        format = unescaped(self.format.data).replace("%lld", "%d").replace("%llu", "%d")
        said = f" {format % tuple(shown)}" if format else ""
        return f"Requirement Failed: (false){said}"

    def _element(self, value: SSAValue, what: str) -> Attribute:
        """Return the type of a scalar, or of the values of a function."""
        if isinstance(value.type, FuncType) != (self.guarded is not None):
            form = "a function, as what it is required for" if self.guarded is not None else "a scalar"
            raise VerifyException(f"{what} is {form}, not {value.type}")
        return value.type.element if isinstance(value.type, FuncType) else value.type


def _read(kind: str, number: int | float) -> int | float:
    """Read a number as its format requires."""
    if kind == "%f":
        return number
    bits = int(number) % (1 << 64)
    return bits - (1 << 64) if kind == "%lld" and bits >= 1 << 63 else bits


def _kind(type: Attribute) -> str:
    if isinstance(type, Float64Type):
        return "%f"
    if isinstance(type, IntegerType) and type.width.data == 64:
        return "%llu" if type.signedness.data is Signedness.UNSIGNED else "%lld"
    return str(type)
